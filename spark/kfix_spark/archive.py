"""An archive of the classes that Spark loads at its start, so that the next start maps them instead of loading them.

Java writes it when the first session ends (some seconds, once for each version of Java and Spark) and takes it when it
fits: a missing, damaged or foreign archive makes a start slower and nothing else. It lies where only its owner writes,
since whoever writes it decides what runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kfix_spark.java import Java

#: What Java says of an archive that it does not take is of no use to anybody.
_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"


@dataclass(frozen=True, slots=True)
class Archive:
    """`options` are Java's. `settle` is called when that Java has ended."""

    options: str
    made: Path | None = None
    wanted: Path | None = None

    def settle(self) -> None:
        """A new archive takes its name; where Java made none, an empty file keeps the next start from trying again."""
        if self.made is None or self.wanted is None:
            return
        with contextlib.suppress(OSError):
            if not self.made.exists():
                self.made.touch(mode=0o600)
            self.made.replace(self.wanted)


def archive_for(java: Java, spark_home: Path, env: Mapping[str, str] = os.environ) -> Archive:
    """No option at all where there is no folder for it, or `KFIX_SPARK_ARCHIVE=0`."""
    if env.get("KFIX_SPARK_ARCHIVE") == "0":
        return Archive("")
    try:
        folder = _folder(env)
        jars = sorted(entry.name for entry in (spark_home / "jars").iterdir())
        key = hashlib.sha256("\n".join([str(java.home), java.version, str(spark_home), *jars]).encode()).hexdigest()
        there = folder / f"spark-{key[:16]}.jsa"
        if there.exists():
            return Archive(f"{_QUIET} -XX:SharedArchiveFile={there}" if there.stat().st_size else "")
        made = there.with_suffix(f".{os.getpid()}.tmp")
    except (OSError, RuntimeError):
        return Archive("")
    return Archive(f"{_QUIET} -XX:ArchiveClassesAtExit={made}", made, there)


def _folder(env: Mapping[str, str]) -> Path:
    base = Path(env.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = base / "kfix"
    if " " in str(folder) or not base.is_absolute():
        # Java's options are split at spaces.
        raise OSError(f"{folder}: is no name for Java's options")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o022:
        raise PermissionError(f"{folder}: others may write there")
    return folder
