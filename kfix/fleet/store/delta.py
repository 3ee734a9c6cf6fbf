"""The tables of a fleet store in the Delta format, which Spark, DuckDB, pyarrow and others read without kfix.

kfix writes the Parquet files itself, one row group for each cluster, and commits them with `deltalake`. A commit
replaces one run (`day`, `run`) as a whole: a reader sees the run before it or after it, never twice and never half
of it. A file that was written, but never committed, is in no table; `clean` deletes it.
"""

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from kfix.core.errors import HeldError, UnreachableError, UsageError
from kfix.core.private import make_folders
from kfix.fleet.store.places import StoreLocation
from kfix.fleet.store.spec import RUN_KEY, TableSpec

TABLES: Final = "tables"
_CONFIGURATION: Final = {
    # One listing and one file open a table, however many runs it has.
    "delta.checkpointInterval": "10",
    "delta.logRetentionDuration": "interval 30 days",
    "delta.setTransactionRetentionDuration": "interval 30 days",
}
_RETRIES: Final = 10
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
#: The sentence in an answer of S3 or Azure.
_SAID: Final = re.compile(r"<Message>([^<\n]+)")
#: Features that change nothing in how files of these tables are read.
_READABLE: Final = frozenset({"timestampNtz", "vacuumProtocolCheck"})


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that was written for a table; `name` is relative to the run's folder, `clusters` are first and last."""

    name: str
    size: int
    rows: int
    clusters: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TableFile:
    """A committed file of a table. `clusters` are its first and last cluster, None where the table has no clusters."""

    place: StoreLocation
    day: date
    run: str
    rows: int
    size: int
    clusters: tuple[str, str] | None

    @property
    def name(self) -> str:
        return self.place.name


class StoreTable:
    """One table of the store at `root`; it is created by the first commit."""

    def __init__(self, root: StoreLocation, spec: TableSpec) -> None:
        self.spec = spec
        self.place = root / TABLES / spec.name

    def folder(self, day: date, run: str) -> StoreLocation:
        """Returns the folder for the files of a run."""
        return self.place / f"day={day.isoformat()}" / f"run={run}"

    def replace(self, day: date, run: str, files: Sequence[NewFile | TableFile]) -> None:
        """Commits: the rows of this run are those of `files`, whatever they were before.

        Raises HeldError if another commit changed the same run meanwhile, UnreachableError if the store cannot be
        written.
        """
        keys = {"day": day.isoformat(), "run": run}
        now = int(time.time() * 1000)
        folder = f"day={day.isoformat()}/run={run}"
        added: list[AddAction | RemoveAction] = [
            AddAction(f"{folder}/{f.name}", f.size, keys, now, True, _stats(f)) for f in files
        ]
        with self._errors():
            try:
                self._commit(added, keys, Transaction(folder, now))
            except CommitFailedError:
                # Another process may have created the table at that moment: then this run is not in it yet.
                if any((f.day, f.run) == (day, run) for f in self.files()):
                    raise
                self._commit(added, keys, Transaction(folder, now))

    def _commit(self, added: list[AddAction | RemoveAction], keys: Mapping[str, str], mark: Transaction) -> None:
        table = self._opened() or self._created()
        table.create_write_transaction(
            added,
            "overwrite",
            self.spec.schema,
            [*RUN_KEY],
            [(key, "=", value) for key, value in keys.items()],
            commit_properties=CommitProperties(
                max_commit_retries=_RETRIES,
                # Without it two commits of a run that has no files yet would both succeed.
                app_transactions=[mark],
            ),
        )

    def remove(self, day: date, run: str) -> None:
        """Commits that the table has no rows of this run."""
        if any((f.day, f.run) == (day, run) for f in self.files()):
            self.replace(day, run, ())

    def files(self, wanted: Callable[[date, str], bool] = lambda _day, _run: True) -> list[TableFile]:
        """Returns the committed files of the wanted runs, by day, run and path; [] if there is no table yet."""
        with self._errors():
            table = self._opened()
            actions = [] if table is None else pa.table(table.get_add_actions(flatten=True)).to_pylist()
        found = [self._file(a) for a in actions if wanted(a["partition.day"], a["partition.run"])]
        return sorted(found, key=lambda f: (f.day, f.run, f.place.path))

    @property
    def is_there(self) -> bool:
        """Returns whether the table has been created."""
        with self._errors():
            return self._opened() is not None

    def runs(self) -> list[tuple[date, str]]:
        """Returns (day, run) of all runs, sorted."""
        return sorted({(f.day, f.run) for f in self.files()})

    def clean(self, hours: int) -> int:
        """Deletes files that no commit of the last `hours` hours names. Returns how many there were."""
        with self._errors():
            table = self._opened()
            if table is None:
                return 0
            gone = table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
            table.cleanup_metadata()
            return len(gone)

    def _file(self, action: Mapping[str, Any]) -> TableFile:
        first, last = action.get("min.cluster"), action.get("max.cluster")
        path = unquote(action["path"])
        if path.startswith("/") or "://" in path or ".." in path.split("/"):
            raise UsageError(f"{self.place}: a commit names a file outside of the table: {path[:200]!r}")
        return TableFile(
            self.place / path,
            action["partition.day"],
            action["partition.run"],
            action["num_records"],
            action["size_bytes"],
            None if first is None or last is None else (first, last),
        )

    def _opened(self) -> DeltaTable | None:
        try:
            table = DeltaTable(storage_uri(self.place), storage_options=storage_options(self.place))
        except TableNotFoundError:
            return None
        # With a feature such as column mapping the files would be read wrongly, and without an error.
        if odd := {*(table.protocol().reader_features or ())} - _READABLE:
            raise UsageError(
                f"{self.place}: the table has a feature that kfix cannot read: {', '.join(sorted(odd))}",
                hint="restore the table to an earlier version, or begin a new store",
            )
        return table

    def _created(self) -> DeltaTable:
        if self.place.local:
            # Folders that only the owner can open: deltalake writes its log with the permissions of the umask.
            make_folders(Path(self.place.path) / "_delta_log")
        return DeltaTable.create(
            storage_uri(self.place),
            self.spec.schema,
            mode="ignore",
            partition_by=[*RUN_KEY],
            name=self.spec.name,
            description=self.spec.row,
            configuration=_CONFIGURATION,
            storage_options=storage_options(self.place),
        )

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except CommitFailedError as error:
            raise HeldError(
                f"{self.place}: another process changed the same run: {_line(error)}",
                hint="repeat the command once the other has ended",
            ) from None
        except DeltaError as error:
            raise UsageError(f"{self.place}: is damaged, or not a table of a fleet store: {_line(error)}") from None
        except OSError as error:
            raise UnreachableError(f"{self.place}: cannot be reached: {_line(error)}") from None


def _stats(file: NewFile | TableFile) -> str:
    known: dict[str, Any] = {"numRecords": file.rows}
    if file.clusters is not None:
        first, last = file.clusters
        known |= {"minValues": {"cluster": first}, "maxValues": {"cluster": last}, "nullCount": {"cluster": 0}}
    return json.dumps(known)


def storage_uri(place: StoreLocation) -> str:
    """Returns the path or URL by which deltalake opens a table."""
    return place.path if place.local else place.base


def storage_options(place: StoreLocation) -> dict[str, str]:
    """Returns the options of a URL by the names that deltalake knows; credentials come from the environment."""
    given = {key: values[-1] for key, values in parse_qs(place.options).items()}
    found = {}
    if endpoint := given.get("endpoint_override"):
        scheme = given.get("scheme", "https")
        found["AWS_ENDPOINT_URL"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    if (found.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT_URL", "")).startswith("http://"):
        found["AWS_ALLOW_HTTP"] = "true"
    if region := given.get("region"):
        found["AWS_REGION"] = region
    return found


def _line(error: BaseException) -> str:
    """Returns the last cause of an error; deltalake lists the causes one below the other, the general ones first."""
    last = _COLOUR.sub("", str(error)).rpartition("↳")[2].strip() or type(error).__name__
    said = _SAID.search(last)
    return (said[1] if said else last.splitlines()[0])[:200]
