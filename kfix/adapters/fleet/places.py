"""Where the store lies: a local folder, or any URL that pyarrow reads (s3://, gs://, abfs://, hdfs://, file://).

    <root>/v1/date=YYYY-MM-DD/run=<id>/partitions/<cluster>.parquet
    <root>/v1/date=YYYY-MM-DD/run=<id>/clusters/<cluster>.json.gz
    <root>/v1/date=YYYY-MM-DD/run=<id>/begun.json
    <root>/v1/date=YYYY-MM-DD/run=<id>/manifest.json

A file is written beside and renamed on a local disk, and put in one piece on an object store: no reader sees half.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

import pyarrow as pa
from pyarrow import fs

from kfix.adapters.fleet.schema import VERSION
from kfix.documents.opening import LARGEST, read_file
from kfix.errors import UnreachableError, UsageError
from kfix.private import make_folders, new_private

PARTITIONS: Final = "partitions"
CLUSTERS: Final = "clusters"
MANIFEST: Final = "manifest.json"
BEGUN: Final = "begun.json"
TABLE: Final = ".parquet"
DOCUMENT: Final = ".json.gz"
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SECRET: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[^/?]*:[^/?]*@|.*[?&](secret_key|access_key|session_token)=")
_RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: What a file system takes for one name, less the ending and the mark of a file that is being written.
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """One file or folder. As text it is what people and other processes are told: a path, or a URL.

    `base` is that without the options of a URL (`?endpoint_override=...`), which are `options`.
    """

    base: str
    path: str
    system: Any
    options: str = ""

    def __str__(self) -> str:
        return f"{self.base}?{self.options}" if self.options else self.base

    def __truediv__(self, name: str) -> StoreLocation:
        return StoreLocation(
            f"{self.base.rstrip('/')}/{name}", f"{self.path.rstrip('/')}/{name}", self.system, self.options
        )

    @property
    def local(self) -> bool:
        return isinstance(self.system, fs.LocalFileSystem)

    @property
    def parent(self) -> StoreLocation:
        return StoreLocation(self.base.rpartition("/")[0], self.path.rpartition("/")[0], self.system, self.options)


def place_of(text: str | os.PathLike[str]) -> StoreLocation:
    """UsageError where the URL is none that pyarrow knows."""
    said = os.fspath(text)
    if not said:
        raise UsageError("a fleet store needs a folder or a URL")
    base, options = said, ""
    try:
        if _URL.match(said):
            if _SECRET.match(said):
                raise UsageError(
                    "a store's URL must not hold a key or a password: manifests and process lists would show it",
                    hint="give them as the store's own tools take them, such as AWS_ACCESS_KEY_ID, or by a role",
                )
            system, path = fs.FileSystem.from_uri(said)
            base, _, options = said.partition("?")
        else:
            system, path = fs.LocalFileSystem(), str(Path(said).absolute())
    except (pa.ArrowException, ValueError, OSError) as error:
        raise UsageError(f"{said}: is no place for a fleet store: {_first_line(error)}") from None
    return StoreLocation(base, path, system, options)


def run_place(root: StoreLocation, day: date, run: str) -> StoreLocation:
    return root / f"v{VERSION}" / f"date={day.isoformat()}" / f"run={run_name(run)}"


def run_name(run: str) -> str:
    """As it is. UsageError where it is none."""
    if not _RUN.fullmatch(run):
        raise UsageError(f"{run!r} is no name of a run: up to 64 letters, digits, dots, dashes and underscores")
    return run


def file_name(cluster: str) -> str:
    """A cluster's name as a file's, without what hides files from Spark. UsageError where it is empty or too long."""
    name = quote(cluster, safe=" ")
    if name[:1] in {".", "_"}:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if not cluster or len(name) > _LONGEST:
        raise UsageError(
            f"{cluster[:40]!r} is no name of a cluster: 1 to {_LONGEST} letters, as a file name takes them"
        )
    return name


def is_day(text: str) -> bool:
    """Folders that somebody put beside ours are left alone."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def cluster_name(file: str) -> str:
    return unquote(file)


def document_place(table: StoreLocation) -> StoreLocation:
    """Of the cluster whose partitions lie in `table`."""

    def beside(path: str) -> str:
        folder, _, name = path.rpartition("/")
        above, _, kind = folder.rpartition("/")
        if kind != PARTITIONS or not name.endswith(TABLE):
            raise UsageError(f"{table}: is no file of a fleet store: .../{PARTITIONS}/<cluster>{TABLE} is one")
        return f"{above}/{CLUSTERS}/{name.removesuffix(TABLE)}{DOCUMENT}"

    return StoreLocation(beside(table.base), beside(table.path), table.system, table.options)


def read_bytes(place: StoreLocation) -> bytes:
    with telling(place):
        if place.local:
            return read_file(Path(place.path))
        with place.system.open_input_file(place.path) as file:
            found: bytes = file.read(LARGEST + 1)
        if len(found) > LARGEST:
            raise UsageError(f"{place}: is larger than {LARGEST >> 20} MiB, and is not read")
        return found


def write_bytes(place: StoreLocation, raw: bytes) -> None:
    with writing(place) as out:
        out.write(raw)


@contextlib.contextmanager
def writing(place: StoreLocation) -> Iterator[Any]:
    """An open file that becomes `place` when all of it is written, and nothing at all where that fails."""
    path = f"{place.path}.{secrets.token_hex(4)}.tmp" if place.local else place.path
    with telling(place):
        if place.local:
            make_folders(Path(place.path).parent)
            # pyarrow knows no modes: it fills a file that nobody else may read, since it may name hosts and clients.
            os.close(new_private(Path(path)))
        else:
            place.system.create_dir(place.path.rpartition("/")[0], recursive=True)
        try:
            # By itself pyarrow would pack what ends in .gz once more.
            with place.system.open_output_stream(path, compression=None) as out:
                yield out
            if place.local:
                Path(path).replace(place.path)
        except BaseException:
            if place.local:
                with contextlib.suppress(OSError):
                    Path(path).unlink()
            raise


def folders(place: StoreLocation, prefix: str) -> list[str]:
    """What follows `prefix` in the names of the folders there, sorted; none where the place does not exist."""
    with telling(place):
        found = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    names = [i.base_name for i in found if i.type == fs.FileType.Directory]
    return sorted(n.removeprefix(prefix) for n in names if n.startswith(prefix))


def run_folders(
    top: StoreLocation, wanted: Callable[[date], bool] = lambda _: True
) -> Iterator[tuple[date, str, StoreLocation]]:
    """(day, run, folder) of every date=.../run=... there, by day and name; only days that are `wanted` are looked into.
    What somebody put beside ours is left alone.
    """
    for day in map(date.fromisoformat, filter(is_day, folders(top, "date="))):
        for run in folders(top / f"date={day}", "run=") if wanted(day) else ():
            yield day, run, top / f"date={day}" / f"run={run}"


def files(place: StoreLocation, ending: str) -> list[str]:
    with telling(place):
        found = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    names = [i.base_name for i in found if i.type == fs.FileType.File]
    return sorted(n.removesuffix(ending) for n in names if n.endswith(ending))


def remove(place: StoreLocation) -> None:
    """A file. One that is gone already is no mistake: another process may tidy up too."""
    with contextlib.suppress(FileNotFoundError), _denied(place):
        place.system.delete_file(place.path)


def remove_folder(place: StoreLocation) -> None:
    with contextlib.suppress(FileNotFoundError), _denied(place):
        place.system.delete_dir(place.path)


def size_of(place: StoreLocation) -> int:
    """Bytes of all files of a folder."""
    with telling(place):
        found = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True, recursive=True))
    return sum(i.size or 0 for i in found if i.type == fs.FileType.File)


def exists(place: StoreLocation) -> bool:
    with telling(place):
        return bool(place.system.get_file_info(place.path).type == fs.FileType.File)


@contextlib.contextmanager
def telling(place: StoreLocation, hint: str = "collect the cluster again") -> Iterator[None]:
    """What pyarrow and the file system say of a file becomes one line that names it."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError(f"{place}: does not exist", hint=hint) from None
    except (pa.ArrowException, OSError) as error:
        # pyarrow tells a page that cannot be unpacked as an OSError too, without a number of the system.
        if isinstance(error, pa.ArrowException) or (place.local and error.errno is None):
            raise UsageError(
                f"{place}: is damaged, or no file of a fleet store: {_first_line(error)}",
                hint=hint,
            ) from None
        raise UnreachableError(f"{place}: cannot be reached: {error.strerror or _first_line(error)}") from None


@contextlib.contextmanager
def left_out(damaged: list[str] | None) -> Iterator[None]:
    """What is damaged is told in `damaged` and costs no more than itself; without such a list it is an error."""
    try:
        yield
    except UsageError as error:
        if damaged is None:
            raise
        damaged.append(str(error))


@contextlib.contextmanager
def _denied(place: StoreLocation) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise UnreachableError(f"{place}: cannot be removed: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
