"""A request to heal: a runbook, its parameters, and the findings of a fresh diagnosis that it applies to."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.args import Args
from kfix.core.derive.restoring import items_of
from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity
from kfix.core.documents.opening import read_file
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.harmless import lines
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.offsets import SavedOffsets
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.core.timing import TIMING, DiagnosisTimes
from kfix.core.wording import several, some
from kfix.front.text import utf8
from kfix.heal.execution.run import created_now, whoami
from kfix.heal.model.plan import Plan
from kfix.heal.placement.judge import PlacementSeverity as Grade
from kfix.heal.placement.judge import judge
from kfix.heal.placement.reassignment_json import parse
from kfix.heal.planning import matching
from kfix.heal.planning.matching import TOPIC, topics_of
from kfix.heal.planning.planner import AlreadyMet, make_plan
from kfix.heal.planning.values import complete, parse_params
from kfix.heal.policy import Policy
from kfix.heal.runbook.placements import PlacementInput, world_of
from kfix.heal.safety.refusals import refuse_while_cut
from kfix.heal.session.offsets import compared, gaps, left_out, rules_of
from kfix.heal.session.site import Site

if TYPE_CHECKING:
    from kfix.heal.model.runbook import Runbook

_CHECKS_SHOWN = 3
_SHOWN = 5
_GIVEN = "given"

Moves = tuple[tuple[TopicPartition, tuple[int, ...]], ...]
#: Receives what a person should know before they approve a plan.
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class HealRequest:
    """A request to heal. `topic` is "" if none was named. `moves` holds the content of `moves_file`.

    `saved` are the offsets of a file, for a runbook that restores them. `judged` are the times of the diagnosis.
    """

    runbook: Runbook
    params: Args
    policy: Policy
    topic: str = ""
    finding: str | None = None
    moves: Moves = ()
    moves_file: Path | None = None
    saved: SavedOffsets | None = None
    judged: DiagnosisTimes = TIMING


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to do. `lines` show why, and what was read."""

    lines: tuple[str, ...]


def read_request(
    site: Site,
    name: str,
    runbooks: Path | None = None,
    *,
    finding: str | None = None,
    params: Mapping[str, str],
    moves_file: Path | None = None,
    offsets_file: Path | None = None,
    policy: Path | None = None,
    judged: DiagnosisTimes = TIMING,
) -> HealRequest:
    """Reads and checks runbook, parameters and files before the cluster is read.

    Raises UsageError for an unknown runbook or parameter, and for an invalid file.
    """
    runbook = site.load(name, runbooks)
    needs_moves = runbook.placement is not None and runbook.placement.kind == _GIVEN
    if moves_file is not None and not needs_moves:
        raise UsageError(f"{runbook.id} computes its own moves; --json-in is for runbooks whose placement is 'given'")
    if moves_file is None and needs_moves:
        raise UsageError(f"{runbook.id} carries out the moves of a file: name it", hint="--json-in FILE")
    if offsets_file is not None and not runbook.needs_offsets:
        raise UsageError(f"{runbook.id} commits no saved offsets; --offsets is for restore-offsets")
    if offsets_file is None and runbook.needs_offsets:
        raise UsageError(f"{runbook.id} commits the offsets of a file: name it", hint="--offsets FILE")
    args, topic = _params(runbook, params)
    rules = site.policy(policy)
    moves = () if moves_file is None else _moves(moves_file)
    saved = None
    if offsets_file is not None:
        from kfix.core.saved.offsets import read_offsets  # noqa: PLC0415 - only a plan that restores needs it

        saved = read_offsets(offsets_file)
    return HealRequest(runbook, args, rules, topic, finding, moves, moves_file, saved, judged)


def _params(runbook: Runbook, given: Mapping[str, str]) -> tuple[Args, str]:
    """Returns parameters and topic. The topic is optional if a finding may name it."""
    for name, value in given.items():
        utf8("--param", f"{name}={value}")
    if runbook.request == TOPIC and TOPIC not in given:
        findable = bool(runbook.codes) and runbook.params[TOPIC].default is None
        rest = {name: p for name, p in runbook.params.items() if name != TOPIC or not findable}
        return parse_params(runbook.model_copy(update={"params": rest}), given), ""
    params = parse_params(runbook, given)
    return params, str(params[TOPIC]) if runbook.request == TOPIC else ""


def _moves(path: Path) -> Moves:
    try:
        text = read_file(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot read the moves: {error.strerror}") from error
    found = parse(text, str(path))
    if not found:
        raise UsageError(f"{path}: it contains no move")
    return found


def match(asked: HealRequest, diagnosis: Diagnosis, snapshot: Snapshot, warn: Warn) -> tuple[Finding, ...] | Nothing:
    """Returns the findings that the runbook applies to or, without any, the stand-in finding of a request.

    Raises RefusedError while the network is cut or two clusters were given, and UnreachableError if nothing was found
    but not everything could be read.
    """
    runbook = asked.runbook
    at = "".join(f" {shlex.quote(word)}" for word in snapshot.reached_by.options)
    refuse_while_cut(diagnosis.findings, at)
    if snapshot.foreign:
        given = ", ".join(f"{address} is of cluster {other}" for address, other in sorted(snapshot.foreign.items()))
        raise RefusedError(
            f"the servers are of two clusters: {given}, the others are of {snapshot.cluster.id}",
            hint="name the servers of one cluster only: --bootstrap-server, --bootstrap-controller; if the address is "
            "that of a broker of this cluster, stop what runs there (KFX817)",
        )
    found = matching.findings_for(runbook, diagnosis, asked.finding, asked.topic)
    if found:
        return matching.in_plans(found, runbook) if asked.finding is None else found
    if runbook.request:
        topic = asked.topic or str(asked.params.get(matching.TOPIC, ""))
        user = str(whoami()["user"])
        finding = matching.request(runbook, topic, snapshot, user)
        _warn_of_others(diagnosis, at, warn)
        return (finding,)
    if diagnosis.could_not_read:
        unread = "; ".join(diagnosis.could_not_read)
        raise UnreachableError(f"no finding for {runbook.id}, but the diagnosis is incomplete: could not read {unread}")
    read = ", ".join(several(diagnosis.looked_at.get(f"{noun}s", 0), noun) for noun in ("broker", "partition", "group"))
    return Nothing((f"nothing to do: no {' or '.join(runbook.codes)} on {diagnosis.cluster}; read {read}",))


def _warn_of_others(diagnosis: Diagnosis, at: str, warn: Warn) -> None:
    """Warns of critical findings and unread sources, which an operator should know before a change on request.

    `at` ends the command that names the others.
    """
    critical = [f for f in diagnosis.walk() if f.severity is Severity.CRITICAL]
    for finding in critical[:_SHOWN]:
        warn(f"{finding.key}: {finding.summary}")
    if len(critical) > _SHOWN:
        warn(f"and {several(len(critical) - _SHOWN, 'more critical finding')}: kfix diagnose{at}")
    for source in diagnosis.could_not_read:
        warn(f"could not read {source}")


def plan_for(
    asked: HealRequest, finding: Finding, snapshot: Snapshot, reader: ClusterReader, now: float, warn: Warn
) -> Plan | Nothing:
    """Returns the plan, or `Nothing` if the finding is healthy already. Raises as `make_plan` does."""
    params, topics = asked.params, topics_of(finding)
    if asked.runbook.request == TOPIC and not asked.topic and len(topics) == 1:
        params = params.with_(topic=next(iter(topics)))
    warnings = _judged(asked, snapshot, reader) if asked.moves else ()
    rows = () if asked.saved is None else compared(asked.saved, reader, rules_of(complete(asked.runbook, params)))
    warnings += (() if asked.saved is None else gaps(asked.saved)) + left_out(rows)
    made = make_plan(
        asked.runbook,
        finding,
        reader,
        created=created_now(now),
        params=params,
        placement_input=PlacementInput(snapshot, asked.moves, items_of(rows)),
        policy=asked.policy,
        judged=asked.judged,
    )
    for text in warnings:
        warn(text)
    if not isinstance(made, AlreadyMet):
        return made
    why = f": {made.why}" if made.why else ""
    head = f"nothing to do: {finding.key} is already healthy{why}"
    read = some([f"{call}: {answer.observed}" for call, answer in made.answers], _CHECKS_SHOWN)
    return Nothing((head, f"  read: {read}"))


def _judged(asked: HealRequest, snapshot: Snapshot, reader: ClusterReader) -> tuple[str, ...]:
    """Checks moves from a file. Returns warnings; raises RefusedError with all errors at once."""
    problems = [
        (p.severity, f"{asked.moves_file}: {f'{p.tp}: ' if p.tp is not None else ''}{p.text}")
        for p in judge(asked.moves, world_of(snapshot, reader))
    ]
    errors = [text for grade, text in problems if grade is Grade.ERROR]
    if errors:
        raise RefusedError(lines(*errors, "nothing was changed"))
    return tuple(text for grade, text in problems if grade is Grade.WARNING)
