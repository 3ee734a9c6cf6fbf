"""Parses the small texts of an inventory: servers, days, times, names. A ValueError describes the mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Final
from urllib.parse import quote

from kfix.core.endpoint import parse_endpoints
from kfix.core.zookeeper.connect import chroot_fault

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?")
_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
#: The longest name that the fleet store accepts as a file name, percent-encoded.
_LONGEST_NAME: Final = 200


def name_problem(name: str) -> str:
    """Returns what is wrong with a cluster name, "" if it is valid as a file name, in tables and in patterns."""
    if not name or not name.isprintable() or name != name.strip():
        return f"{name!r} is not a valid cluster name: use plain text without spaces at the ends"
    if name in {".", ".."}:
        return f"{name!r} is not a valid cluster name: it is a folder"
    if any(c in "*?[]" for c in name):
        return f"{name!r} is not a valid cluster name: * ? [ ] are reserved for patterns"
    if len(quote(name, safe=" ")) > _LONGEST_NAME:
        return f"{name[:40]!r}... is not a valid cluster name: longer than {_LONGEST_NAME} characters"
    return ""


def server_problems(text: str, what: str) -> Iterator[str]:
    """Yields the mistakes in a comma-separated list of servers. `what` is the field; `zookeeper` may have a chroot."""
    hosts, slash, chroot = text.partition("/") if what == "zookeeper" and "://" not in text else (text, "", "")
    if not hosts.strip(", "):
        yield f"{what}: names no server, expected HOST:PORT[,HOST:PORT...]"
        return
    for fault in parse_endpoints(hosts)[1]:
        is_url = "://" in fault.part
        yield (
            f"{what}: {fault.part!r} is a URL, expected HOST:PORT without a protocol" if is_url else f"{what}: {fault}"
        )
    if fault_of_chroot := chroot_fault(slash + chroot):
        yield f"{what}: {fault_of_chroot}"


def day(text: str) -> date:
    """Returns the date of a text such as 2026-06-30. Raises ValueError for any other text."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r} is not a date such as 2026-06-30")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a day of the calendar") from None


def moment(text: str) -> datetime:
    """Returns the time of a text such as 2026-06-30T22:00Z, in UTC. Raises ValueError for any other text."""
    match = _MOMENT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a time such as 2026-06-30T22:00Z")
    if not match[2]:
        raise ValueError(f"{text!r} has no time zone: add Z for UTC, or an offset such as +02:00")
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time of the calendar") from None


def clock(text: str) -> int:
    """Returns the minutes after midnight. Raises ValueError unless the text is a time such as 22:30."""
    match = _CLOCK.fullmatch(text)
    if not match:
        raise ValueError(f'{text!r} is not a time of day such as "22:30"')
    return int(match[1]) * 60 + int(match[2])
