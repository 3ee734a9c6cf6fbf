"""A class data archive for the Java processes of a lab: they map their classes instead of loading and verifying them,
which is about half of the CPU time of a broker's start (docs/facts/running-brokers.md).

The first processes of a Kafka version write down which classes they load; once the lab is up, a process of low priority
makes the archive from these lists, while the lab is in use. Java uses it if it matches, and ignores a foreign one. It
crashes on a truncated one, so the file name contains the size. An archive decides which code runs: its folder must be
writable only for its owner.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kfix.core.errors import LabError
from kfix.core.private import private_folder
from kfix.lab.nodes.classpath import cache_home
from kfix.lab.process.host import LOOPBACK

#: "0": no archive is used or made.
VARIABLE = "KFIX_LAB_ARCHIVE"
#: Silences Java's messages about an archive that it does not use, and about classes that it cannot put into one.
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
_LIST = ".classes"
_MAKER = "kfix.lab.nodes.archive_maker"


@dataclass(frozen=True)
class ClassArchive:
    """The archive of one class path and one Java. `stem` is its path without size and suffix; None: there is none."""

    java: str
    jars: str
    stem: Path | None

    def flags(self, lists: Path | None) -> tuple[str, ...]:
        """Returns Java's flags: to use the archive, or, without one, to write the loaded classes to `lists`."""
        found = find(self.stem) if self.stem is not None else None
        if found is not None:
            return (*_QUIET, f"-XX:SharedArchiveFile={found}")
        return (*_QUIET, f"-XX:DumpLoadedClassList={lists}") if self.stem is not None and lists is not None else ()

    def make(self, folder: Path, lab_id: str, log: Path) -> None:
        """Starts to make it from the lists in `folder`, if it is missing. Does not wait for it; `down` ends it with
        everything else that has the lab's id. A lab that is up does not fail if it cannot be made: on a full disk, say.
        """
        lists = sorted(folder.glob(f"*{_LIST}"))
        if self.stem is None or find(self.stem) is not None or not lists:
            return
        classes = folder / "classes"
        # The tag is an -X option: Python keeps it on the command line and ignores it otherwise.
        maker = [sys.executable, "-X", f"kfix.lab.id={lab_id}", "-m", _MAKER, str(self.stem)]
        # The same collector as the lab's processes have.
        dump = [self.java, "-XX:+UseSerialGC", "-Xshare:dump", *_QUIET, f"-Dkfix.lab.id={lab_id}"]
        with contextlib.suppress(OSError, LabError):
            classes.write_text("".join(_merged(lists)), encoding="utf-8")
            LOOPBACK.spawn([*maker, *dump, f"-XX:SharedClassListFile={classes}", "-cp", self.jars], log)


def class_archive(java: str, jars: str) -> ClassArchive:
    """Returns the archive of these jars and this Java, which may not exist yet."""
    if os.environ.get(VARIABLE) == "0":
        return ClassArchive(java, jars, None)
    home = Path(java).resolve().parent.parent
    try:
        folder = cache_home()
        private_folder(folder, variable="XDG_CACHE_HOME")
        release = home / "release"  # names the version and the build
        version = release.read_text(encoding="utf-8", errors="replace") if release.is_file() else ""
    except OSError:
        return ClassArchive(java, jars, None)
    key = hashlib.sha256("\n".join((str(home), version, jars)).encode()).hexdigest()[:16]
    return ClassArchive(java, jars, folder / f"kafka-{key}")


def list_file(folder: Path, role: str) -> Path:
    """Where the first process of a role writes which classes it loads."""
    return folder / f"{role}{_LIST}"


def find(stem: Path) -> Path | None:
    """Returns the whole archive of this name; None: there is none."""
    for found in stem.parent.glob(f"{stem.name}-*.jsa"):
        with contextlib.suppress(OSError):
            if found == with_size(stem, found.stat().st_size):
                return found
    return None


def with_size(stem: Path, size: int) -> Path:
    """Returns the path of an archive of `size` bytes."""
    return stem.with_name(f"{stem.name}-{size}.jsa")


def _merged(lists: Iterable[Path]) -> list[str]:
    """Returns the lines of all lists, each once. Java still writes them: a last line without its end is left out."""
    texts = (each.read_text(encoding="utf-8", errors="replace") for each in lists)
    lines = (line for text in texts for line in text[: text.rfind("\n") + 1].splitlines(keepends=True))
    return list(dict.fromkeys(line for line in lines if not line.startswith("#")))
