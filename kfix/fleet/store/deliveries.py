"""The state of the channels in the store: what each one has reported, one small file for each delivered audit.

    <root>/channels/<channel>/<day>_<began>_<run>.json.gz    after the delivery of an audit; `began` in milliseconds
    <root>/channels/<channel>/opened.json.gz                 before the first delivery of the channel

A file is written only after the output was, and replaces nothing but the file of the same audit: if kfix is killed in
between, the next audit reports the same news again. A channel keeps its last deliveries.
"""

import gzip
import json
import re
import zlib
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from kfix.core.documents.opening import unpacked
from kfix.core.errors import UsageError
from kfix.fleet.model.delivery import Delivery, Reported
from kfix.fleet.store.places import StoreLocation, files, left_out, read_bytes, remove, run_name, write_bytes

CHANNELS: Final = "channels"
#: Deliveries that a channel keeps, so that `kfix audit show` repeats what it reported.
KEPT: Final = 60
_ENDING: Final = ".json.gz"
_OPENED: Final = "opened"
_FILE: Final = re.compile(r"(\d{4}-\d\d-\d\d)_(\d{15})_(.+)")
_HINT: Final = "delete it: the channel then reports all open findings again"
Order = tuple[date, float, str]


def channel_name(name: str) -> str:
    """Returns the name unchanged. Raises UsageError if it is not valid."""
    try:
        return run_name(name)
    except UsageError:
        raise UsageError(
            f"--channel: {name!r} is not a valid name: up to 64 letters, digits, dots, dashes and underscores"
        ) from None


class Channel:
    """The deliveries of one channel in the store at `root`."""

    def __init__(self, root: StoreLocation, name: str) -> None:
        self._place = root / CHANNELS / channel_name(name)

    def before(self, order: Order, damaged: list[str]) -> Delivery | None:
        """Returns the last delivery of an audit before `order` (day, began, run); None if the channel is unused.

        A damaged file is described in `damaged` and skipped. If no other is left, the result names no finding, so
        that everything open is news.
        """
        names = files(self._place, _ENDING)
        earlier = [name for name in names if (at := _order(name)) is not None and at < order]
        for name in (*reversed(earlier), *([_OPENED] if _OPENED in names else ())):
            with left_out(damaged):
                found = _read(self._place / f"{name}{_ENDING}")
                if found.order < order:
                    return found
        return Delivery((date.min, 0.0, ""), {}) if damaged else None

    def open(self, known: Delivery) -> None:
        """Records what the readers know before the first delivery, so that a failed one loses nothing."""
        _write(self._place / f"{_OPENED}{_ENDING}", known)

    def record(self, delivery: Delivery) -> None:
        """Records a delivery; the oldest ones are deleted."""
        day, began, run = delivery.order
        _write(self._place / f"{day.isoformat()}_{round(began * 1000):015d}_{run}{_ENDING}", delivery)
        old = [each for each in files(self._place, _ENDING) if _order(each) is not None][:-KEPT]
        for each in (*old, *([_OPENED] if old else ())):
            remove(self._place / f"{each}{_ENDING}")


def _order(name: str) -> Order | None:
    found = _FILE.fullmatch(name)
    try:
        return (date.fromisoformat(found[1]), int(found[2]) / 1000, found[3]) if found else None
    except ValueError:
        return None


def _write(place: StoreLocation, delivery: Delivery) -> None:
    day, began, run = delivery.order
    rows = [
        [cluster, key, each.since.isoformat(), each.rank, each.n_partitions, each.head]
        for (cluster, key), each in sorted(delivery.findings.items())
    ]
    body = {
        "order": [day.isoformat(), began, run],
        "day": delivery.day.isoformat() if delivery.day else None,
        "run": delivery.run,
        "findings": rows,
    }
    text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    write_bytes(place, gzip.compress(text.encode(), mtime=0))


def _read(place: StoreLocation) -> Delivery:
    try:
        body: Mapping[str, Any] = json.loads(unpacked(read_bytes(place), str(place)))
        known = {
            (str(cluster), str(key)): Reported(date.fromisoformat(since), int(rank), int(n), bool(head))
            for cluster, key, since, rank, n, head in body["findings"]
        }
        day, began, run = body["order"]
        order = (date.fromisoformat(day), float(began), str(run))
        return Delivery(order, known, date.fromisoformat(body["day"]) if body["day"] else None, str(body["run"]))
    except (ValueError, KeyError, TypeError, EOFError, zlib.error, RecursionError) as error:
        raise UsageError(f"{place}: is damaged: {type(error).__name__} at {error}", hint=_HINT) from None
