"""From the words of a command line to one plan: what was asked for, what a fresh diagnosis finds, what is planned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.cli import runbook_site as site
from kfix.errors import RefusedError, UnreachableError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.app.cluster import Target
    from kfix.model.args import Args
    from kfix.model.finding import Diagnosis, Finding
    from kfix.model.plan import Created, Plan
    from kfix.model.runbook import Runbook
    from kfix.model.snapshot import Snapshot, TopicPartition
    from kfix.placement.judge import Problem
    from kfix.ports import ClusterReader
    from kfix.runbook.policy import Policy

_LONGEST = 86_400
_SHOWN = 5
_GIVEN = "given"


@dataclass(frozen=True)
class Wish:
    """`topic` is what a person named, "" where nobody did; `moves` are those of `--json-in`."""

    runbook: Runbook
    params: Args
    topic: str
    key: str | None
    policy: Policy
    moves: tuple[tuple[TopicPartition, tuple[int, ...]], ...]
    moves_file: Path | None
    debounce: float


def wish(
    name: str,
    runbooks: Path | None,
    *,
    finding: str | None,
    given: list[str],
    json_in: Path | None,
    policy: Path | None,
    debounce: float,
) -> Wish:
    if not 0 <= debounce <= _LONGEST:
        raise UsageError(f"--debounce is seconds, 0 to {_LONGEST}")
    runbook = site.load(name, runbooks)
    needs_moves = runbook.placement is not None and runbook.placement.kind == _GIVEN
    if json_in is not None and not needs_moves:
        raise UsageError(f"{runbook.id} finds its moves itself; --json-in is for runbooks whose placement is 'given'")
    if json_in is None and needs_moves:
        raise UsageError(f"{runbook.id} makes the moves of a file: say which", hint="--json-in FILE")
    params, topic = _params(runbook, given)
    rules = site.policy(policy)
    moves = () if json_in is None else _moves(json_in)
    return Wish(runbook, params, topic, finding, rules, moves, json_in, debounce)


def _params(runbook: Runbook, given: list[str]) -> tuple[Args, str]:
    """The topic of a request need not be given where a finding may tell it."""
    from kfix.runbook.matching import TOPIC

    named = any(text.partition("=")[0] == TOPIC for text in given)
    if runbook.request == TOPIC and not named:
        findable = bool(runbook.codes) and runbook.params[TOPIC].default is None
        rest = {name: p for name, p in runbook.params.items() if name != TOPIC or not findable}
        return site.params(replace(runbook, params=rest), given), ""
    params = site.params(runbook, given)
    return params, str(params[TOPIC]) if runbook.request == TOPIC else ""


def _moves(path: Path) -> tuple[tuple[TopicPartition, tuple[int, ...]], ...]:
    from kfix.documents.opening import read_file
    from kfix.placement.reassignment_json import parse

    try:
        text = read_file(path)
    except OSError as error:
        raise UsageError(f"{path}: the moves cannot be read: {error.strerror}") from error
    found = parse(text, str(path))
    if not found:
        raise UsageError(f"{path}: it holds no move")
    return found


def find(wanted: Wish, target: Target, people: Console) -> tuple[tuple[Finding, ...], Snapshot]:
    """What the runbook is for, of a fresh diagnosis; where that is nothing, what a person may ask for all the same.

    Nothing found is only good news where everything was read.
    """
    from kfix.app import cluster as wiring
    from kfix.runbook import matching
    from kfix.runbook.cut_network import refuse_while_cut

    def waiting(seconds: float) -> None:
        people.print(f"looking again in {seconds:.0f} s, to tell a fault from an ordinary election (--debounce)")

    runbook = wanted.runbook
    diagnosis, snapshot = wiring.diagnose_live(target, debounce=wanted.debounce, waiting=waiting)
    refuse_while_cut(diagnosis.findings)
    found = matching.findings_for(runbook, diagnosis, wanted.key, wanted.topic)
    if found:
        return (matching.in_plans(found) if wanted.key is None else found), snapshot
    if runbook.request:
        _warn(diagnosis, people)
        topic = wanted.topic or str(wanted.params.get(matching.TOPIC, ""))
        return (matching.request(runbook, topic, snapshot, _me()),), snapshot
    if diagnosis.could_not_read:
        unread = "; ".join(diagnosis.could_not_read)
        raise UnreachableError(
            f"nothing found for {runbook.id}, but whether there is nothing is unknown: could not read {unread}"
        )
    looked_at = ", ".join(f"{n} {what}" for what, n in diagnosis.looked_at.items()) or "the whole cluster"
    people.print(f"nothing to do: no {' or '.join(runbook.codes)} on {diagnosis.cluster}; looked at {looked_at}")
    return (), snapshot


def _warn(diagnosis: Diagnosis, people: Console) -> None:
    """Who asks for something on a sick cluster should know that it is sick, and how much of it was seen."""
    from rich.text import Text

    from kfix.model.finding import Severity

    critical = [f for f in diagnosis.walk() if f.severity is Severity.CRITICAL]
    lines = [f"{f.key}: {f.summary}" for f in critical[:_SHOWN]]
    lines += [f"and {len(critical) - _SHOWN} more critical findings: kfix diagnose"] if len(critical) > _SHOWN else []
    lines += [f"could not read {source}" for source in diagnosis.could_not_read]
    for line in lines:
        people.print(Text(f"warning: {line}", "yellow"), soft_wrap=True)


def make(wanted: Wish, finding: Finding, snapshot: Snapshot, reader: ClusterReader, people: Console) -> Plan | None:
    """None where the goal is met already: then that is said, with what was seen."""
    from kfix.runbook.matching import TOPIC, topics_of
    from kfix.runbook.placing import Look
    from kfix.runbook.planner import AlreadyMet, make_plan

    runbook, params, topics = wanted.runbook, wanted.params, topics_of(finding)
    if runbook.request == TOPIC and not wanted.topic and len(topics) == 1:
        params = params.with_(topic=next(iter(topics)))
    if wanted.moves:
        _judge(wanted, snapshot, reader, people)
    made = make_plan(
        runbook,
        finding,
        reader,
        created=created(),
        params=params,
        look=Look(snapshot, wanted.moves),
        policy=wanted.policy,
    )
    if isinstance(made, AlreadyMet):
        why = f": {made.why}" if made.why else ""
        people.print(f"nothing to do: {finding.key} is well already{why}")
        for call, answer in made.answers:
            people.print(f"  {call}: {answer.observed}")
        return None
    return made


def _judge(wanted: Wish, snapshot: Snapshot, reader: ClusterReader, people: Console) -> None:
    """Whoever made the moves: what must not be sent is refused, all of it at once; what is unwise is told."""
    from rich.text import Text

    from kfix.placement.judge import Severity, judge
    from kfix.runbook.placing import world_of

    def words(problem: Problem) -> str:
        return f"{wanted.moves_file}: {f'{problem.tp}: ' if problem.tp is not None else ''}{problem.text}"

    problems = judge(wanted.moves, world_of(snapshot, reader))
    for problem in problems:
        if problem.severity is Severity.WARNING:
            people.print(Text(f"warning: {words(problem)}", "yellow"), soft_wrap=True)
    errors = [words(problem) for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise RefusedError("\n".join((*errors, "nothing was changed")))


def created() -> Created:
    import socket
    import time

    from kfix import __version__
    from kfix.model.plan import Created

    return Created(at=time.time(), by=_me(), host=socket.gethostname(), kfix=__version__)


def _me() -> str:
    from kfix.runbook.run import whoami

    return str(whoami()["user"])
