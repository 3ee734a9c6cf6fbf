"""Small texts of an inventory, read: servers, days, times, names. A ValueError says what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Final
from urllib.parse import quote

from kfix.adapters.endpoint import parse_endpoints
from kfix.adapters.zookeeper.connect import chroot_fault

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})?")
_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
#: As the fleet store takes it for the name of a file, percent-encoded.
_LONGEST_NAME: Final = 200


def name_problem(name: str) -> str:
    """Empty where the name will do: for a file, for a table, and for the patterns of mutes and of `--cluster`."""
    if not name or not name.isprintable() or name != name.strip():
        return f"{name!r} is no name of a cluster: plain text, not empty, no space at its ends"
    if any(c in "*?[]" for c in name):
        return f"{name!r} is no name of a cluster: * ? [ ] are for patterns"
    if len(quote(name, safe=" ")) > _LONGEST_NAME:
        return f"{name[:40]!r}... is no name of a cluster: longer than {_LONGEST_NAME} letters"
    return ""


def server_problems(text: str, what: str) -> Iterator[str]:
    """Of a list with commas. `what` is the field; a `zookeeper` may end in one chroot."""
    hosts, slash, chroot = text.partition("/") if what == "zookeeper" and "://" not in text else (text, "", "")
    if not hosts.strip(", "):
        yield f"{what}: names no server, wanted HOST:PORT, with commas between several"
        return
    for fault in parse_endpoints(hosts)[1]:
        is_url = "://" in fault.part
        yield f"{what}: {fault.part!r} is a URL, wanted HOST:PORT without a protocol" if is_url else f"{what}: {fault}"
    if fault_of_chroot := chroot_fault(slash + chroot):
        yield f"{what}: {fault_of_chroot}"


def day(text: str) -> date:
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r} is no date such as 2026-06-30")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no day of the calendar") from None


def moment(text: str) -> datetime:
    """Aware, in UTC."""
    match = _MOMENT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no time such as 2026-06-30T22:00Z")
    if not match[2]:
        raise ValueError(f"{text!r} names no time zone: add Z for UTC, or an offset such as +02:00")
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no time of the calendar") from None


def clock(text: str) -> int:
    """Minutes after midnight."""
    match = _CLOCK.fullmatch(text)
    if not match:
        raise ValueError(f'{text!r} is no time of day such as "22:30"')
    return int(match[1]) * 60 + int(match[2])
