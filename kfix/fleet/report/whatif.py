"""What a failure would do to a fleet, for people and as JSON, with the exit code of `kfix whatif`."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, Literal

from rich.console import Console

from kfix.core.declared import FieldMark
from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.core.wording import brokers_named, several, some
from kfix.fleet.model.scenarios import KINDS, ClusterScenarios, FleetForecast, ScenarioRow, matrix_of
from kfix.front.lines import Line, print_lines

_STEP: Final = 2
_STYLES: Final = {HEALTHY: "bold green", WARNINGS: "bold yellow", CRITICAL: "bold red", CANNOT_TELL: "bold yellow"}
_HEADS: Final = ("topics", "stops", "unclean", "under min ISR", "last in-sync", "groups", "unknown")


class ScenarioRowJson(ScenarioRow):
    """A failure of a cluster, as in the table `scenarios` (docs/tables.md)."""

    owner: str


class ScenarioTotalsJson:
    """What stops or loses records."""

    topics: int
    partitions: int
    groups: int
    clusters: int
    owners: int


class FleetForecastJson:
    """What a failure would do to a fleet: kfix fleet whatif --json"""

    schema: Literal["kfix.fleet-whatif/v1"]
    date: str
    run: Annotated[str, "the run that was asked"]
    down: Annotated[str, 'as in --down, such as "rack=b"; "" if every failure was judged']
    exit_code: Annotated[Literal[0, 20, 21, 22], "exit code of the command"]
    scenarios: Annotated[tuple[ScenarioRowJson, ...], "worst first"]
    absent: Annotated[tuple[str, ...], "clusters that have no such rack or live broker"]
    unjudged: Annotated[Mapping[str, str], "by cluster: why nothing, or not everything, is known of it"]
    totals: Annotated[ScenarioTotalsJson, FieldMark.OPTIONAL, "with `down`"]


def exit_code(found: FleetForecast) -> int:
    """Returns 21 if something stops, whatever is unknown; otherwise what is unknown decides."""
    if found.losing:
        return CRITICAL
    if found.uncertain or not found.rows:
        return CANNOT_TELL
    return WARNINGS if any(row.something_degrades for row in found.rows) else HEALTHY


def fleet_whatif_json(found: FleetForecast) -> str:
    document = written(
        FleetForecastJson,
        found,
        date=found.day,
        exit_code=exit_code(found),
        scenarios=[written(ScenarioRowJson, row, owner=found.owners.get(row.cluster, "")) for row in found.rows],
        **({"totals": _totals(found)} if found.down else {}),
    )
    return for_json(document, indent=2)


def _totals(found: FleetForecast) -> dict[str, int]:
    losing = found.losing
    return {
        "topics": sum(row.topics for row in losing),
        "partitions": sum(row.stops + row.unclean for row in losing),
        "groups": sum(row.groups for row in losing),
        "clusters": len(losing),
        "owners": len(_owners(found, losing)),
    }


def _owners(found: FleetForecast, rows: Sequence[ScenarioRow]) -> list[str]:
    return sorted({found.owners.get(row.cluster, "") for row in rows} - {""})


def print_fleet_whatif(found: FleetForecast, console: Console, limit: int) -> None:
    print_lines(fleet_whatif_lines(found, limit), console)


def fleet_whatif_lines(found: FleetForecast, limit: int) -> Iterator[Line]:
    """Yields the report; at most `limit` clusters are listed."""
    yield from _one_failure(found, limit) if found.down else _every_failure(found, limit)
    yield from _unknown(found)
    yield from _next(found)


def _source(found: FleetForecast) -> str:
    return f"(run {found.run} of {found.day})"


# --- one failure ---------------------------------------------------------------------------------------------------


def _one_failure(found: FleetForecast, limit: int) -> Iterator[Line]:
    yield Line(f"if {_named(found.down)} went down, {_verdict(found)} {_source(found)}", 0, _style(found), hang=_STEP)
    yield Line(_judged(found), style="dim", hang=_STEP)
    shown = [row for row in found.rows if row.something_stops or row.something_degrades or row.uncertain]
    if shown:
        yield Line("")
        yield from _columns(
            (*_HEADS, "cluster"),
            [(*_numbers(row), _whose(found, row.cluster)) for row in shown[:limit]],
            [_row_style(row) for row in shown[:limit]],
        )
    if len(shown) > limit:
        yield Line(f"and {several(len(shown) - limit, 'more cluster')}: --limit {len(shown)}", style="dim", hang=_STEP)
    if worst := [row for row in shown[:limit] if row.worst]:
        yield Line("")
        yield Line("topics with most partitions that stop or lose records:", style="bold")
        for row in worst:
            more = f" and {several(row.topics - len(row.worst), 'more topic')}" if row.topics > len(row.worst) else ""
            yield Line(f"{row.cluster}: {', '.join(row.worst)}{more}", _STEP, hang=_STEP)
    if owners := _owners(found, found.losing):
        yield Line("")
        yield Line(f"owners: {some(owners, limit)}", hang=_STEP)


def _verdict(found: FleetForecast) -> str:
    totals = _totals(found)
    if not totals["clusters"]:
        certain = "nothing would stop" if not found.uncertain else "nothing would stop, as far as is known"
        degraded = sum(row.something_degrades for row in found.rows)
        return f"{certain}; {several(degraded, 'cluster')} would degrade" if degraded else certain
    what = f"{several(totals['topics'], 'topic')} of {several(totals['clusters'], 'cluster')} would stop"
    if any(row.unclean for row in found.losing):
        what += " or lose records"
    groups = f", and {several(totals['groups'], 'known group')}" if totals["groups"] else ""
    return f"{what}{groups}; {several(totals['owners'], 'owner')}"


def _judged(found: FleetForecast) -> str:
    text = f"judged {several(len(found.rows), 'cluster')}"
    if found.absent:
        have = "has" if len(found.absent) == 1 else "have"
        text += f"; {several(len(found.absent), 'cluster')} {have} no live {_named(found.down)}"
    return text


def _named(down: str) -> str:
    """Returns `broker 3`, `brokers 3, 4`, `rack b` or `racks a, b`."""
    kind, _, names = down.partition("=")
    if kind == "broker":
        return brokers_named(sorted(map(int, names.split(","))))
    return f"rack{'s' if ',' in names else ''} {', '.join(name.strip() for name in names.split(','))}"


def _numbers(row: ScenarioRow) -> tuple[str, ...]:
    unknown = str(row.unknown) if row.complete else f"{row.unknown}+"
    counts = (row.topics, row.stops, row.unclean, row.under_min_isr, row.last_in_sync, row.groups)
    return (*map(str, counts), unknown)


def _whose(found: FleetForecast, cluster: str) -> str:
    owner = found.owners.get(cluster, "")
    return f"{cluster} ({owner})" if owner else cluster


# --- every failure -------------------------------------------------------------------------------------------------


def _every_failure(found: FleetForecast, limit: int) -> Iterator[Line]:
    matrix = matrix_of(found.clusters, found.rows)
    text = "; ".join(
        f"the loss of {each} would stop something in {several(count, 'cluster')}"
        for kind, each in zip(KINDS, ("one broker", "two brokers", "a rack"), strict=True)
        if (count := sum(kind in one.worst and one.worst[kind].something_stops for one in matrix))
    )
    nothing = "no failure would stop anything" + (", as far as is known" if found.uncertain else "")
    yield Line(f"{text or nothing} {_source(found)}", 0, _style(found), hang=_STEP)
    yield Line(f"judged {several(len(found.rows), 'failure')} of {several(_clusters(found), 'cluster')}", style="dim")
    rows = sorted((one for one in matrix if one.judged), key=_worst, reverse=True)
    if not rows:
        return
    yield Line("")
    yield Line("topics that stop or lose records in the worst failure of each kind:", style="bold", hang=_STEP)
    cells = [(*(_cell(one, kind) for kind in KINDS), _whose(found, one.cluster)) for one in rows[:limit]]
    yield from _columns(
        (*KINDS, "cluster"), cells, [_row_style(max(o.worst.values(), key=_rank)) for o in rows[:limit]]
    )
    if len(rows) > limit:
        yield Line(f"and {several(len(rows) - limit, 'more cluster')}, none of them worse", style="dim", hang=_STEP)


def _clusters(found: FleetForecast) -> int:
    return len({row.cluster for row in found.rows})


def _rank(row: ScenarioRow) -> tuple[int, ...]:
    return row.rank


def _worst(one: ClusterScenarios) -> tuple[int, ...]:
    return max(row.rank for row in one.worst.values())


def _cell(one: ClusterScenarios, kind: str) -> str:
    row = one.worst.get(kind)
    if row is None:
        return "-"
    if row.something_stops:
        return f"{row.down}: {several(row.topics, 'topic')}"
    if row.something_degrades:
        return f"{row.down}: degrades{', or worse' if row.uncertain else ''}"
    return f"{row.down}: unknown" if row.uncertain else "none"


# --- both ----------------------------------------------------------------------------------------------------------


def _unknown(found: FleetForecast) -> Iterator[Line]:
    if found.unjudged:
        yield Line("")
        yield Line(
            f"unknown: {several(len(found.unjudged), 'cluster')} not judged, or not completely", style="bold yellow"
        )
        for name, why in sorted(found.unjudged.items())[:_SHOWN]:
            yield Line(f"{name}: {why}", _STEP, hang=_STEP)
        if len(found.unjudged) > _SHOWN:
            yield Line(f"and {several(len(found.unjudged) - _SHOWN, 'more cluster')}", _STEP, "dim")
    lacking = sorted({row.cluster for row in found.rows if not row.complete})
    if lacking:
        yield Line("")
        yield Line(
            f"sources of {several(len(lacking), 'cluster')} were not read, so any of their partitions may stop: "
            f"{some(lacking)}",
            style="bold yellow",
            hang=_STEP,
        )


_SHOWN: Final = 10


def _next(found: FleetForecast) -> Iterator[Line]:
    if not found.rows:
        return
    row = found.rows[0]
    at = found.bootstraps.get(row.cluster, "") or "HOST:PORT"
    down = shlex.quote(f"{'rack' if row.kind == 'rack' else 'broker'}={row.down}")
    yield Line("")
    yield Line("partitions, groups and remedies of the worst:", style="dim", hang=_STEP)
    yield Line(f"kfix whatif --down {down} --bootstrap-server {shlex.quote(at)}", _STEP, "dim", verbatim=True)
    if not found.down:
        store = shlex.quote(found.store)
        yield Line(f"kfix fleet whatif --down {down} --store {store}", _STEP, "dim", verbatim=True)


def _columns(heads: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> Iterator[Line]:
    """Yields a table; the last column is a name, which may be of any length."""
    widths = [max(len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(heads[:-1])]
    for cells, style in zip((heads, *rows), ("bold", *styles), strict=True):
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
        yield Line(f"{numbers}  {cells[-1]}", style=style, verbatim=True)


def _style(found: FleetForecast) -> str:
    return _STYLES[exit_code(found)]


def _row_style(row: ScenarioRow) -> str:
    return "red" if row.something_stops else "yellow" if row.something_degrades or row.uncertain else ""
