"""The generated reference of the JSON outputs, read from the declarations; KFIX_UPDATE_GOLDEN=1 with test_pages.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any, get_args

from kfix.bundle.bundle import ManifestJson
from kfix.canary.report import CanaryJson
from kfix.core.declared import FieldMark
from kfix.core.documents.outputs import is_object, keys_of, marks_of, name_of
from kfix.diagnose.report.group_story import GroupJson
from kfix.diagnose.report.json_findings import DiagnosisJson
from kfix.fleet.report.history_rows import HistoryJson
from kfix.fleet.report.json_audit import AuditJson
from kfix.fleet.report.whatif import FleetForecastJson
from kfix.fleet.store.tables import ALL
from kfix.front.failure import FailureJson
from kfix.incident.report.facts import IncidentJson
from kfix.inspect.json_logdir import LogDirsJson
from kfix.inspect.metadata_report import MetadataLogsJson
from kfix.preflight.report import PreflightJson
from kfix.watch.report.json_turn import TurnJson
from kfix.whatif.json_forecast import ForecastJson
from tests.catalogue.snapshot_page import entries, is_record, value_of

OUTPUTS = (
    *(DiagnosisJson, GroupJson, FailureJson, LogDirsJson, TurnJson, ForecastJson, FleetForecastJson, AuditJson),
    *(HistoryJson, IncidentJson, CanaryJson, PreflightJson, MetadataLogsJson, ManifestJson),
)


def json_page() -> str:
    """Returns docs/json.md."""
    head = [
        "# JSON outputs",
        "",
        "Generated from the declarations of the outputs. `kfix schema diagnosis` prints a JSON Schema; `kfix schema`",
        "lists those that there are. Within a version, keys are added, never renamed or removed. A time is UTC, in ISO",
        "8601: `2026-03-01T07:05:09.120Z`.",
        "",
        *(f"- [{_title(each)}](#{name_of(each).lower()})" for each in OUTPUTS),
    ]
    return "\n".join([*head, *(line for kind in kinds() for line in _section(kind)), ""])


def kinds() -> tuple[Any, ...]:
    """Returns the objects of the outputs, in the order in which they occur, the outputs first."""
    found: dict[Any, None] = dict.fromkeys(OUTPUTS)

    reached: set[Any] = set()

    def collect(hint: Any) -> None:
        if not is_record(hint):
            for each in get_args(hint):
                collect(each)
        elif hint not in reached:
            reached.add(hint)
            found[hint] = None
            for each in keys_of(hint).values():
                collect(each)

    for output in OUTPUTS:
        collect(output)
    return tuple(found)


def _title(kind: Any) -> str:
    return cleandoc(kind.__doc__).partition("\n")[0]


def _section(kind: Any) -> Iterator[str]:
    text = cleandoc(kind.__doc__)
    # That of a dataclass without one is its signature.
    yield from ("", f"## {name_of(kind)}", *(() if text.startswith(f"{kind.__name__}(") else ("", text)), "")
    keys = {name.rstrip("_"): (value_of(hint), _meaning(hint)) for name, hint in keys_of(kind).items()}
    table, columns = _columns(keys)
    if columns:
        yield f"As the columns of [{table}](tables.md#{table}): {', '.join(f'`{name}`' for name in columns)}. Besides:"
        yield ""
    own = {name: both for name, both in keys.items() if name not in columns}
    values, meanings = ({name: both[place] for name, both in own.items()} for place in (0, 1))
    yield from entries(values, meanings, is_object(kind))


def _columns(keys: Mapping[str, tuple[str, str]]) -> tuple[str, list[str]]:
    """Returns the table with most columns of the same names and meanings, and those columns; none below five."""
    found = {
        spec.name: [c.name for c in spec.columns if c.name in keys and keys[c.name][1] == c.comment] for spec in ALL
    }
    table = max(found, key=lambda name: len(found[name]))
    return table, found[table] if len(found[table]) > 4 else []


def _meaning(hint: Any) -> str:
    marks = [mark for mark in marks_of(hint) if isinstance(mark, str)]
    return "; ".join(["may be missing"] * (FieldMark.OPTIONAL in marks_of(hint)) + marks)
