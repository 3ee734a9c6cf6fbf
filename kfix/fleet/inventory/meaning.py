"""What the fields of `fleet.yaml` mean together, judged on the plain data: a mistake in the shape hides none here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import Any, Final

from kfix.adapters.kafka.security import load_security, read_properties
from kfix.documents.problems import Path, Problem
from kfix.errors import InvalidFileError, UsageError
from kfix.fleet.inventory.words import clock, day, moment, name_problem, server_problems
from kfix.model.expected import EXPECTED
from kfix.model.plan.args import parse_duration

_WEEKLY: Final = ("weekdays", "at", "for")
_ONCE: Final = ("start", "end")
_LONGEST_WINDOW: Final = 24 * 60


class Papers:
    """The clients' properties files that an inventory names, each read once. Paths are relative to its folder."""

    def __init__(self, folder: FilePath) -> None:
        self._folder = folder
        self._problems: dict[str, tuple[str, ...]] = {}
        self._servers: dict[str, str] = {}

    def path(self, said: str) -> FilePath:
        return self._folder / said

    def problems(self, said: str) -> tuple[str, ...]:
        if said not in self._problems:
            self._problems[said] = properties_problems(self.path(said))
        return self._problems[said]

    def servers(self, said: str) -> str:
        """Its `bootstrap.servers`; empty where it names none, or cannot be read."""
        if said not in self._servers:
            self._servers[said] = "" if self.problems(said) else bootstrap_of(self.path(said))
        return self._servers[said]


def properties_problems(path: FilePath) -> tuple[str, ...]:
    if not str(path).isprintable():
        return (f"{str(path)!r} is no path",)
    try:
        if not path.exists():
            return (f"{path}: there is no such file",)
        load_security(path)
    except InvalidFileError as error:
        return error.problems
    except OSError as error:
        return (f"{str(path)[:80]}: cannot be read: {(error.strerror or '').lower()}",)
    except UsageError as error:
        return (str(error),)
    return ()


def bootstrap_of(path: FilePath) -> str:
    return read_properties(path).get("bootstrap.servers", ("", 0))[0]


def problems_of(data: Any, papers: Papers) -> Iterator[Problem]:
    if not isinstance(data, dict):
        return
    defaults = _mapping(data.get("defaults"))
    yield from _settings(("defaults",), defaults, papers)
    yield from _expected(("defaults",), defaults, {})
    clusters = data.get("clusters")
    if "clusters" in data and (clusters is None or clusters == {}):
        yield Problem(("clusters",), "a fleet of no cluster: name one, such as  orders: {bootstrap: broker1:9092}")
    for name, cluster in _mapping(clusters).items():
        path: Path = ("clusters", name)
        if problem := name_problem(name):
            yield Problem(path, problem, at_key=True)
        if isinstance(cluster, dict):
            yield from _settings(path, cluster, papers)
            yield from _expected(path, cluster, defaults)
            yield from _reached(path, cluster, papers)
        elif cluster is None:
            yield Problem(path, _nowhere(name), at_key=True)
    for i, mute in enumerate(_list(data.get("mutes"))):
        yield from _mute(("mutes", i), _mapping(mute))


def _settings(path: Path, said: dict[str, Any], papers: Papers) -> Iterator[Problem]:
    config = said.get("command_config")
    if isinstance(config, str) and config:
        for text in papers.problems(config):
            yield Problem((*path, "command_config"), f"command_config: {text}")
    for i, window in enumerate(_list(said.get("windows"))):
        if isinstance(window, dict):
            yield from _window((*path, "windows", i), window)


def _reached(path: Path, said: dict[str, Any], papers: Papers) -> Iterator[Problem]:
    for what in ("bootstrap", "zookeeper"):
        value = said.get(what)
        for at, text in enumerate(value if isinstance(value, list) else [value]):
            where = (*path, what, at) if isinstance(value, list) else (*path, what)
            if isinstance(text, str):
                yield from (Problem(where, problem) for problem in server_problems(text, what))
    if not said.get("bootstrap") and not said.get("zookeeper") and "bootstrap" not in said and "zookeeper" not in said:
        config = said.get("command_config")
        if not (isinstance(config, str) and config):
            yield Problem(path, _nowhere(str(path[-1])), at_key=True)
        elif not papers.problems(config):
            servers = papers.servers(config)
            if not servers:
                yield Problem(path, _nowhere(str(path[-1])), at_key=True)
            for problem in server_problems(servers, "bootstrap.servers") if servers else ():
                yield Problem((*path, "command_config"), f"{papers.path(config)}: {problem}")


def _nowhere(name: str) -> str:
    return (
        f"{name}: neither bootstrap nor zookeeper says where it is, nor bootstrap.servers of its own command_config; "
        "one of them is enough"
    )


def _expected(path: Path, said: dict[str, Any], defaults: dict[str, Any]) -> Iterator[Problem]:
    own, other = _mapping(said.get("expected")), _mapping(defaults.get("expected"))
    rf = own.get("rf", other.get("rf", EXPECTED.rf))
    min_isr = own.get("min_isr", other.get("min_isr", EXPECTED.min_isr))
    if own and isinstance(rf, int) and isinstance(min_isr, int) and min_isr > rf > 0:
        field = "min_isr" if "min_isr" in own else "rf"
        yield Problem(
            (*path, "expected", field), f"min_isr {min_isr} is more than rf {rf}: no partition could ever be written to"
        )


def _window(path: Path, said: dict[str, Any]) -> Iterator[Problem]:
    once, weekly = [f for f in _ONCE if f in said], [f for f in _WEEKLY if f in said]
    if bool(once) == bool(weekly):
        yield Problem(path, "a window is either once (start, end) or every week (weekdays, at, for)")
        return
    for field in _ONCE if once else _WEEKLY:
        if said.get(field) is None:
            yield Problem(path, f"the window lacks {field!r}")
    times: list[Any] = []
    for field, read in (("start", moment), ("end", moment), ("at", clock)):
        yield from _readable((*path, field), said.get(field), read, times)
    if once and len(times) == len(_ONCE) and times[0] >= times[1]:
        yield Problem((*path, "end"), f"the window ends at {said['end']}, before it begins")
    if "weekdays" in said and said["weekdays"] == []:
        yield Problem((*path, "weekdays"), "the window is on no day")
    length = said.get("for")
    try:
        minutes = parse_duration(length) / 60
    except ValueError:
        return  # The shape says so already.
    if minutes != int(minutes) or not 0 < minutes <= _LONGEST_WINDOW:
        yield Problem((*path, "for"), f"for: {length} is not a number of whole minutes up to 24h")


def _mute(path: Path, said: dict[str, Any]) -> Iterator[Problem]:
    yield from _readable((*path, "until"), said.get("until"), day, [])
    findings = said.get("findings")
    several = isinstance(findings, list)
    for i, pattern in enumerate(findings if isinstance(findings, list) else [findings]):
        # A code typed wrong would mute nothing, and nobody would be told.
        if isinstance(pattern, str) and pattern and not pattern.startswith(("KFX", "*", "?", "[")):
            where = (*path, "findings", i) if several else (*path, "findings")
            yield Problem(where, f"{pattern!r} matches no finding: wanted a code or a key, such as KFX601 or KFX601:*")


def _readable(path: Path, value: Any, read: Callable[[str], Any], found: list[Any]) -> Iterator[Problem]:
    """`found` gets what was read."""
    if isinstance(value, str):
        try:
            found.append(read(value))
        except ValueError as error:
            yield Problem(path, f"{path[-1]}: {error}")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
