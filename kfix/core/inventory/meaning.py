"""Checks the fields of `fleet.yaml` against each other, on the plain data, so that a wrong type hides no mistake."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path as FilePath
from typing import Any, Final
from urllib.parse import quote

from kfix.core.args import parse_duration
from kfix.core.criteria import EXPECTED
from kfix.core.documents.problems import Path, Problem
from kfix.core.endpoint import parse_endpoints
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.properties.load import ClientProperties, load_client_properties
from kfix.core.zookeeper.connect import chroot_fault

# Parses the small texts of an inventory: servers, days, times, names. A ValueError describes the mistake.

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


_WEEKLY: Final = ("weekdays", "at", "for")
_ONCE: Final = ("start", "end")
_LONGEST_WINDOW: Final = 24 * 60


class PropertiesFiles:
    """The client properties files that an inventory names, each read once. Paths are relative to its folder.

    `trusted` is whether they may read other secrets.
    """

    def __init__(self, folder: FilePath, *, trusted: bool = False) -> None:
        self._folder = folder
        self.trusted = trusted
        self._found: dict[str, ClientProperties | tuple[str, ...]] = {}

    def path(self, name: str) -> FilePath:
        return self._folder / name

    def problems(self, path: str) -> tuple[str, ...]:
        found = self._read(path)
        return found if isinstance(found, tuple) else ()

    def servers(self, path: str) -> str:
        """Returns the file's `bootstrap.servers`, "" if it has none or cannot be read."""
        found = self._read(path)
        return "" if isinstance(found, tuple) else found.bootstrap

    @property
    def notes(self) -> tuple[str, ...]:
        """Returns the keys in the files that kfix does not use."""
        return tuple(note for each in self._found.values() if not isinstance(each, tuple) for note in each.notes)

    def _read(self, given: str) -> ClientProperties | tuple[str, ...]:
        if given not in self._found:
            self._found[given] = properties_of(self.path(given), trusted=self.trusted)
        return self._found[given]


def properties_of(path: FilePath, *, trusted: bool) -> ClientProperties | tuple[str, ...]:
    """Returns the content of a client properties file, or its mistakes."""
    if not str(path).isprintable():
        return (f"{str(path)!r} is not a valid path",)
    try:
        if not path.exists():
            return (f"{path}: the file does not exist",)
        return load_client_properties(path, trusted=trusted)
    except InvalidFileError as error:
        return error.problems
    except OSError as error:
        return (f"{str(path)[:80]}: cannot be read: {(error.strerror or '').lower()}",)
    except UsageError as error:
        return (str(error),)


def problems_of(data: Any, properties: PropertiesFiles) -> Iterator[Problem]:
    """Yields the mistakes of an inventory, given as plain YAML data."""
    if not isinstance(data, dict):
        return
    defaults = _mapping(data.get("defaults"))
    yield from _settings(("defaults",), defaults, properties)
    yield from _expected(("defaults",), defaults, {})
    clusters = data.get("clusters")
    if "clusters" in data and (clusters is None or clusters == {}):
        yield Problem(("clusters",), "the fleet has no cluster: add one, such as  orders: {bootstrap: broker1:9092}")
    for name, cluster in _mapping(clusters).items():
        path: Path = ("clusters", name)
        if problem := name_problem(name):
            yield Problem(path, problem, at_key=True)
        if isinstance(cluster, dict):
            yield from _settings(path, cluster, properties)
            yield from _expected(path, cluster, defaults)
            yield from _reached(path, cluster, properties)
            for rack in _mapping(cluster.get("zones")):
                if not str(rack).isprintable() or not str(rack).strip():
                    yield Problem((*path, "zones", rack), f"zones: {rack!r} is not the rack of a broker", at_key=True)
        elif cluster is None:
            yield Problem(path, _nowhere(name), at_key=True)
    for i, mute in enumerate(_list(data.get("mutes"))):
        yield from _mute(("mutes", i), _mapping(mute))


def _settings(path: Path, fields: dict[str, Any], properties: PropertiesFiles) -> Iterator[Problem]:
    config = fields.get("command_config")
    if isinstance(config, str) and config:
        for text in properties.problems(config):
            yield Problem((*path, "command_config"), f"command_config: {text}")
    for i, window in enumerate(_list(fields.get("windows"))):
        if isinstance(window, dict):
            yield from _window((*path, "windows", i), window)


def _reached(path: Path, fields: dict[str, Any], properties: PropertiesFiles) -> Iterator[Problem]:
    for what in ("bootstrap", "zookeeper", "bootstrap_controller"):
        value = fields.get(what)
        for at, text in enumerate(value if isinstance(value, list) else [value]):
            where = (*path, what, at) if isinstance(value, list) else (*path, what)
            if isinstance(text, str):
                yield from (Problem(where, problem) for problem in server_problems(text, what))
    if (
        not fields.get("bootstrap")
        and not fields.get("zookeeper")
        and "bootstrap" not in fields
        and "zookeeper" not in fields
    ):
        config = fields.get("command_config")
        if not (isinstance(config, str) and config):
            yield Problem(path, _nowhere(str(path[-1])), at_key=True)
        elif not properties.problems(config):
            servers = properties.servers(config)
            if not servers:
                yield Problem(path, _nowhere(str(path[-1])), at_key=True)
            for problem in server_problems(servers, "bootstrap.servers") if servers else ():
                yield Problem((*path, "command_config"), f"{properties.path(config)}: {problem}")


def _nowhere(name: str) -> str:
    return f"{name}: has no address: set bootstrap or zookeeper, or bootstrap.servers in its own command_config"


def _expected(path: Path, fields: dict[str, Any], defaults: dict[str, Any]) -> Iterator[Problem]:
    own, other = _mapping(fields.get("expected")), _mapping(defaults.get("expected"))
    rf = own.get("rf", other.get("rf", EXPECTED.rf))
    min_isr = own.get("min_isr", other.get("min_isr", EXPECTED.min_isr))
    if own and isinstance(rf, int) and isinstance(min_isr, int) and min_isr > rf > 0:
        field = "min_isr" if "min_isr" in own else "rf"
        yield Problem(
            (*path, "expected", field),
            f"min_isr {min_isr} is more than rf {rf}: no partition could accept writes with acks=all",
        )


def _window(path: Path, fields: dict[str, Any]) -> Iterator[Problem]:
    once, weekly = [f for f in _ONCE if f in fields], [f for f in _WEEKLY if f in fields]
    if bool(once) == bool(weekly):
        yield Problem(path, "a window is either a single one (start, end) or weekly (weekdays, at, for)")
        return
    for field in _ONCE if once else _WEEKLY:
        if fields.get(field) is None:
            yield Problem(path, f"the window lacks {field!r}")
    times: list[Any] = []
    for field, read in (("start", moment), ("end", moment), ("at", clock)):
        yield from _readable((*path, field), fields.get(field), read, times)
    if once and len(times) == len(_ONCE) and times[0] >= times[1]:
        yield Problem((*path, "end"), f"the window ends at {fields['end']}, before it starts")
    if "weekdays" in fields and fields["weekdays"] == []:
        yield Problem((*path, "weekdays"), "the window has no day")
    length = fields.get("for")
    try:
        minutes = parse_duration(length) / 60
    except ValueError:
        return  # The schema reports it.
    if minutes != int(minutes) or not 0 < minutes <= _LONGEST_WINDOW:
        yield Problem((*path, "for"), f"for: {length} is not a number of whole minutes up to 24h")


def _mute(path: Path, fields: dict[str, Any]) -> Iterator[Problem]:
    yield from _readable((*path, "until"), fields.get("until"), day, [])
    findings = fields.get("findings")
    several = isinstance(findings, list)
    for i, pattern in enumerate(findings if isinstance(findings, list) else [findings]):
        # A mistyped code would mute nothing and go unnoticed.
        if isinstance(pattern, str) and pattern and not pattern.startswith(("KFX", "*", "?", "[")):
            where = (*path, "findings", i) if several else (*path, "findings")
            yield Problem(
                where, f"{pattern!r} matches no finding: expected a code or a key, such as KFX601 or KFX601:*"
            )


def _readable(path: Path, value: Any, read: Callable[[str], Any], found: list[Any]) -> Iterator[Problem]:
    """Appends the parsed value to `found`, or yields the mistake."""
    if isinstance(value, str):
        try:
            found.append(read(value))
        except ValueError as error:
            yield Problem(path, f"{path[-1]}: {error}")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
