"""Finds a Java that Spark supports, so that a missing one is one line and not a stack trace."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kfix.core.errors import UsageError

OLDEST: Final = 17
INSTEAD: Final = (
    "install Java 17 or 21 (Debian: openjdk-17-jre-headless) and set JAVA_HOME to it, or omit --spark: "
    "the embedded engine needs no Java"
)


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    version: str
    major: int


def find_java(env: Mapping[str, str] = os.environ, newest: int | None = None) -> Java:
    """Returns the Java that Spark's scripts use: JAVA_HOME, else PATH. Raises UsageError if none is supported."""
    if said := env.get("JAVA_HOME"):
        program = Path(said) / "bin" / "java"
        if not os.access(program, os.X_OK):
            raise UsageError(f"JAVA_HOME={said}: there is no bin/java", hint=INSTEAD)
    else:
        found = shutil.which("java", path=env.get("PATH"))
        if found is None:
            raise UsageError("Spark needs Java, which is not installed", hint=INSTEAD)
        program = Path(found)
    home = program.resolve().parent.parent
    version = _written(home / "release") or _asked(program)
    major = _major(version)
    if major < OLDEST:
        raise UsageError(f"{program}: is Java {version or 'unknown'}, Spark needs {OLDEST} or newer", hint=INSTEAD)
    if newest is not None and major > newest:
        raise UsageError(f"{program}: is Java {version}, this Spark runs on {OLDEST} to {newest}", hint=INSTEAD)
    return Java(home, version, major)


def _written(release: Path) -> str:
    """Returns the version from Java's `release` file, since running the program takes a tenth of a second."""
    try:
        found = re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""


def _asked(program: Path) -> str:
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r'version "([^"]+)"', done.stderr + done.stdout)
    return found[1] if found else ""


def _major(version: str) -> int:
    """Returns the major version: 17 for 17.0.15, 8 for 1.8.0."""
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
