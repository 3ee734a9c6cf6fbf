"""Locations in the store: a local folder, or any URL that pyarrow reads (s3://, gs://, abfs://, hdfs://, file://).

    <root>/tables/<table>/...                       the tables (`delta`)
    <root>/staging/date=YYYY-MM-DD/run=<id>/...     runs that are not complete (`runs`)

On a local disk and on HDFS a file is written under a temporary name and renamed; on an object store it is uploaded in
one piece. No reader ever sees a partial file.
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

from kfix.core.documents.opening import LARGEST, read_file
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.private import make_folders, new_private
from kfix.fleet.store.hdfs import SCHEME, hdfs_of

STAGING: Final = "staging"
CLUSTERS: Final = "clusters"
BEGUN: Final = "begun.json"
TABLE: Final = ".parquet"
DOCUMENT: Final = ".json.gz"
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SECRET: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[^/?]*:[^/?]*@|.*[?&](secret_key|access_key|session_token)=")
_RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: The longest file name, less the ending and the suffix of a temporary file.
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """One file or folder. `str()` gives its path or URL.

    `options` are the options of a URL (`endpoint_override=...`); `base` is the path or URL without them.
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
    def renames(self) -> bool:
        """Returns whether a file grows where its readers see it, so that it needs a temporary name meanwhile."""
        return self.local or self.base.startswith(SCHEME)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> StoreLocation:
        return StoreLocation(self.base.rpartition("/")[0], self.path.rpartition("/")[0], self.system, self.options)


def place_of(text: str | os.PathLike[str]) -> StoreLocation:
    """Returns the location of a path or URL. Raises UsageError for an unknown kind of URL, or one with a secret."""
    given = os.fspath(text)
    if not given:
        raise UsageError("a fleet store needs a folder or a URL")
    base, options = given, ""
    try:
        if _URL.match(given):
            if _SECRET.match(given):
                raise UsageError(
                    "a store's URL must not hold a key or a password: manifests and process lists would show it",
                    hint="pass credentials as the store's own tools take them: AWS_ACCESS_KEY_ID and so on, or a role",
                )
            system, path = hdfs_of(given) if given.startswith(SCHEME) else fs.FileSystem.from_uri(given)
            base, _, options = given.partition("?")
        else:
            system, path = fs.LocalFileSystem(), str(Path(given).absolute())
    except (pa.ArrowException, ValueError, OSError) as error:
        raise UsageError(f"{given}: is not a valid location for a fleet store: {_first_line(error)}") from None
    return StoreLocation(base, path, system, options)


def run_place(root: StoreLocation, day: date, run: str) -> StoreLocation:
    """Returns the staging folder of a run. Raises UsageError if the name of the run is not valid."""
    return root / STAGING / f"date={day.isoformat()}" / f"run={run_name(run)}"


def run_name(run: str) -> str:
    """Returns the name unchanged. Raises UsageError if it is not valid."""
    if not _RUN.fullmatch(run):
        raise UsageError(f"{run!r} is not a valid run name: up to 64 letters, digits, dots, dashes and underscores")
    return run


def file_name(cluster: str) -> str:
    """Returns the file name of a cluster, percent-encoded, without a leading character that hides it from Spark.

    Raises UsageError if the name is empty or too long.
    """
    name = quote(cluster, safe=" ")
    if name[:1] in {".", "_"}:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if not cluster or len(name) > _LONGEST:
        raise UsageError(
            f"{cluster[:40]!r} is not a valid cluster name: 1 to {_LONGEST} characters once percent-encoded"
        )
    return name


def is_day(text: str) -> bool:
    """Returns whether the text is an ISO date; other folders in the store are ignored."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def cluster_name(file: str) -> str:
    return unquote(file)


def read_bytes(place: StoreLocation) -> bytes:
    with readable_errors(place):
        if place.local:
            return read_file(Path(place.path))
        with place.system.open_input_file(place.path) as file:
            found: bytes = file.read(LARGEST + 1)
        if len(found) > LARGEST:
            raise UsageError(f"{place}: is larger than {LARGEST >> 20} MiB; not read")
        return found


def write_bytes(place: StoreLocation, raw: bytes) -> None:
    with writing(place) as out:
        out.write(raw)


@contextlib.contextmanager
def writing(place: StoreLocation) -> Iterator[Any]:
    """Opens a file that appears at `place` once it is complete; on an error nothing is left behind."""
    path = f"{place.path}.{secrets.token_hex(4)}.tmp" if place.renames else place.path
    with readable_errors(place):
        if place.local:
            make_folders(Path(place.path).parent)
            # pyarrow cannot set a mode: it fills a file that only the owner can read, since it names hosts and clients.
            os.close(new_private(Path(path)))
        else:
            place.system.create_dir(place.path.rpartition("/")[0], recursive=True)
        try:
            # Without this pyarrow would compress a file that ends in .gz a second time.
            with place.system.open_output_stream(path, compression=None) as out:
                yield out
            if place.local:
                Path(path).replace(place.path)
            elif place.renames:
                place.system.move(path, place.path)
        except BaseException:
            if place.renames:
                with contextlib.suppress(pa.ArrowException, OSError):
                    place.system.delete_file(path)
            raise


def folders(place: StoreLocation, prefix: str) -> list[str]:
    """Returns the folder names at `place` that begin with `prefix`, without it, sorted; [] if it does not exist."""
    with readable_errors(place):
        found = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    names = [i.base_name for i in found if i.type == fs.FileType.Directory]
    return sorted(n.removeprefix(prefix) for n in names if n.startswith(prefix))


def run_folders(
    top: StoreLocation, wanted: Callable[[date], bool] = lambda _: True
) -> Iterator[tuple[date, str, StoreLocation]]:
    """Yields (day, run, folder) of every date=.../run=... folder, by day and name; reads only the `wanted` days.

    Other folders are ignored.
    """
    for day in map(date.fromisoformat, filter(is_day, folders(top, "date="))):
        for run in folders(top / f"date={day}", "run=") if wanted(day) else ():
            yield day, run, top / f"date={day}" / f"run={run}"


def files(place: StoreLocation, ending: str) -> list[str]:
    with readable_errors(place):
        found = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    names = [i.base_name for i in found if i.type == fs.FileType.File]
    return sorted(n.removesuffix(ending) for n in names if n.endswith(ending))


def remove(place: StoreLocation) -> None:
    """Deletes a file. A missing file is not an error, since another process may prune the store as well."""
    with contextlib.suppress(FileNotFoundError), _denied(place):
        place.system.delete_file(place.path)


def remove_folder(place: StoreLocation) -> None:
    with contextlib.suppress(FileNotFoundError), _denied(place):
        place.system.delete_dir(place.path)


def size_of(place: StoreLocation) -> int:
    """Returns the bytes of all files in a folder."""
    with readable_errors(place):
        found = place.system.get_file_info(fs.FileSelector(place.path, allow_not_found=True, recursive=True))
    return sum(i.size or 0 for i in found if i.type == fs.FileType.File)


def exists(place: StoreLocation) -> bool:
    with readable_errors(place):
        return bool(place.system.get_file_info(place.path).type == fs.FileType.File)


def is_folder(place: StoreLocation) -> bool:
    with readable_errors(place):
        return bool(place.system.get_file_info(place.path).type == fs.FileType.Directory)


@contextlib.contextmanager
def readable_errors(place: StoreLocation, hint: str = "collect the cluster again") -> Iterator[None]:
    """Turns errors of pyarrow and the file system into one line that names the file.

    Raises UsageError for a missing or damaged file, UnreachableError if the store cannot be reached.
    """
    try:
        yield
    except FileNotFoundError:
        raise UsageError(f"{place}: does not exist", hint=hint) from None
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        # pyarrow raises OSError without an errno for a page that cannot be decompressed.
        if not isinstance(error, OSError) or (place.local and error.errno is None):
            raise UsageError(
                f"{place}: is damaged, or not a file of a fleet store: {_first_line(error)}",
                hint=hint,
            ) from None
        raise UnreachableError(f"{place}: cannot be reached: {error.strerror or _first_line(error)}") from None


@contextlib.contextmanager
def left_out(damaged: list[str] | None) -> Iterator[None]:
    """Adds a UsageError to `damaged` and continues; without such a list the error is raised."""
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
