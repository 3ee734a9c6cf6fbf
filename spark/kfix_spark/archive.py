"""An archive of the classes that Spark loads at its start, so that the next start maps them instead of loading them.

Java writes it when the first session ends (some seconds, once for each version of Java and Spark) and takes it when it
fits: a missing or foreign archive makes a start slower and nothing else. Java crashes on one that was cut short, so its
name tells its size, and what still does not start is started once more without. It lies where only its owner writes,
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
    """`options` are Java's. `taken` is the archive that they name, `made` the one that Java will write as it ends."""

    options: str
    taken: Path | None = None
    made: Path | None = None

    def settle(self) -> None:
        """Called when Java has ended. Where it made none, an empty file keeps the next start from trying again."""
        if self.made is None:
            return
        with contextlib.suppress(OSError):
            if not self.made.exists():
                self.made.touch(mode=0o600)
            self.made.replace(self.made.with_name(f"{self.made.stem.partition('.')[0]}-{self.made.stat().st_size}.jsa"))

    def drop(self) -> None:
        if self.taken is not None:
            with contextlib.suppress(OSError):
                self.taken.unlink()


def archive_for(java: Java, spark_home: Path, env: Mapping[str, str] = os.environ) -> Archive:
    """No option at all where there is no folder for it, or `KFIX_SPARK_ARCHIVE=0`."""
    if env.get("KFIX_SPARK_ARCHIVE") == "0":
        return Archive("")
    try:
        folder = _folder(env)
        jars = sorted(entry.name for entry in (spark_home / "jars").iterdir())
        key = hashlib.sha256("\n".join([str(java.home), java.version, str(spark_home), *jars]).encode()).hexdigest()
        # An archive that Java crashes on leaves nothing in the folder that the operator stands in.
        quiet = f"{_QUIET} -XX:-CreateCoredumpOnCrash -XX:ErrorFile={folder}/java-%p.log"
        for there in folder.glob(f"spark-{key[:16]}-*.jsa"):
            if there.name.endswith("-0.jsa"):
                return Archive("")
            if there.name.endswith(f"-{there.stat().st_size}.jsa"):
                return Archive(f"{quiet} -XX:SharedArchiveFile={there}", taken=there)
            there.unlink()
        made = folder / f"spark-{key[:16]}.{os.getpid()}.tmp"
    except (OSError, RuntimeError):
        return Archive("")
    return Archive(f"{quiet} -XX:ArchiveClassesAtExit={made}", made=made)


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
