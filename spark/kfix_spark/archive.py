"""A class data archive for Java, so that the next Spark session maps its classes instead of loading them.

Java writes it when the first session ends (some seconds, once for each version of Java and Spark) and uses it if it
matches: a missing or foreign archive only makes the start slower. Java crashes on a truncated archive, so the file name
contains its size, and a session that still does not start is started again without it. Only the owner can write its
folder, since an archive decides which code runs.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kfix_spark.java import Java

#: Silences Java's messages about an archive that it does not use.
_QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"


@dataclass(frozen=True, slots=True)
class Archive:
    """The Java `options` for the archive. `taken` is the archive to use, `made` the one that Java writes at its end."""

    options: str
    taken: Path | None = None
    made: Path | None = None

    def settle(self) -> None:
        """Keeps the new archive; call it after Java has ended. Without one, an empty file prevents another attempt."""
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
    """Returns the archive; without options if there is no folder for it or `KFIX_SPARK_ARCHIVE=0` is set."""
    if env.get("KFIX_SPARK_ARCHIVE") == "0":
        return Archive("")
    try:
        folder = _folder(env)
        jars = sorted(entry.name for entry in (spark_home / "jars").iterdir())
        key = hashlib.sha256("\n".join([str(java.home), java.version, str(spark_home), *jars]).encode()).hexdigest()
        # If Java crashes on an archive, it must not leave files in the current directory.
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
        # Java options are split at spaces.
        raise OSError(f"{folder}: cannot be passed in Java options")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o022:
        raise PermissionError(f"{folder}: others may write there")
    return folder
