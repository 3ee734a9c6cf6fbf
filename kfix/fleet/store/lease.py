"""A lease in an object store, where files cannot be locked: who has it, and until when.

    <root>/lease/_delta_log/...    one commit each time it is taken, renewed or released; the last one counts

Delta's log is the only operation of an object store here that fails if another process was faster: a commit is a new
file that must not exist yet. All commits carry the same transaction name, so that two of them never both succeed. The
table has no rows.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from kfix.core.errors import HeldError, KfixError, UnreachableError
from kfix.fleet.store.delta import storage_options, storage_uri
from kfix.fleet.store.places import StoreLocation, read_bytes
from kfix.fleet.store.whoami import Holder, this_process

LEASE: Final = "lease"
#: Seconds that a lease holds without renewal, and between renewals.
HOLDS: Final = 300.0
RENEWED: Final = 60.0
#: Seconds by which the clocks of two hosts may differ.
SKEW: Final = 60.0
_ENTRY: Final = "kfix.lease"
_NO_ROWS: Final = pa.schema([pa.field("unused", pa.string())])


@dataclass(frozen=True, slots=True)
class _Lease:
    """The last commit: `until` is when the lease ends, in seconds since the epoch, 0.0 once it was released."""

    holder: Holder
    until: float

    @property
    def holds(self) -> bool:
        return time.time() < self.until + SKEW and not self.holder.is_gone


@contextmanager
def held_lease(store: StoreLocation) -> Iterator[None]:
    """Holds the lease of the store and renews it.

    Raises HeldError if another process has it, UnreachableError if the store cannot be written.
    """
    me, place = this_process(), store / LEASE
    with _errors(store):
        table = _opened(place)
        found = _last(place, table)
        if found is not None and found.holds:
            raise _held(store, found.holder)
        _commit(table, me, time.time() + HOLDS)
    ended = threading.Event()
    renewal = threading.Thread(target=_renew, args=(place, me, ended), name="kfix-lease", daemon=True)
    renewal.start()
    try:
        yield
    finally:
        ended.set()
        renewal.join(RENEWED)
        # A lease that cannot be released expires.
        with suppress(KfixError, DeltaError, OSError):
            _commit_mine(place, me, 0.0)


def _renew(place: StoreLocation, me: Holder, ended: threading.Event) -> None:
    while not ended.wait(RENEWED):
        # The next renewal may succeed: the lease holds for several of them.
        with suppress(KfixError, DeltaError, OSError):
            _commit_mine(place, me, time.time() + HOLDS)


def _commit_mine(place: StoreLocation, me: Holder, until: float) -> None:
    """Commits unless another process has taken the lease over."""
    table = _opened(place)
    found = _last(place, table)
    if found is not None and found.holder == me:
        _commit(table, me, until)


def _opened(place: StoreLocation) -> DeltaTable:
    uri, options = storage_uri(place), storage_options(place)
    try:
        return DeltaTable(uri, storage_options=options)
    except TableNotFoundError:
        return DeltaTable.create(uri, _NO_ROWS, mode="ignore", name=LEASE, storage_options=options)


def _last(place: StoreLocation, table: DeltaTable) -> _Lease | None:
    """Returns the lease of the last commit, None if it was never taken."""
    # deltalake's own history holds Python's lock while it reads.
    log = read_bytes(place / "_delta_log" / f"{table.version():020d}.json")
    try:
        [commit] = [each["commitInfo"] for line in log.splitlines() if "commitInfo" in (each := json.loads(line))]
        body: dict[str, Any] = json.loads(commit[_ENTRY])
        return _Lease(Holder(**body["holder"]), float(body["until"]))
    except (KeyError, TypeError, ValueError):
        return None


def _commit(table: DeltaTable, holder: Holder, until: float) -> None:
    body = json.dumps({"holder": asdict(holder), "until": until})
    table.create_write_transaction(
        [],
        "append",
        _NO_ROWS,
        commit_properties=CommitProperties(
            custom_metadata={_ENTRY: body},
            max_commit_retries=0,
            app_transactions=[Transaction(LEASE, int(time.time() * 1000))],
        ),
    )


def _held(store: StoreLocation, holder: Holder) -> HeldError:
    return HeldError(
        f"{store}: another audit is running: {holder.words}",
        hint=f"wait for it to end; if it was killed, its lease expires after {round((HOLDS + SKEW) / 60)} minutes",
    )


@contextmanager
def _errors(store: StoreLocation) -> Iterator[None]:
    try:
        yield
    except CommitFailedError:
        last = None
        with suppress(DeltaError, OSError):
            last = _last(store / LEASE, _opened(store / LEASE))
        raise _held(store, last.holder if last else this_process()) from None
    except (DeltaError, OSError) as error:
        said = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise UnreachableError(f"{store}: cannot take the lease: {said}") from None
