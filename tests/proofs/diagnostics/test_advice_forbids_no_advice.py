"""Over random clusters and every sick one: no remedy that can be carried out is forbidden by another finding.

The sentences under "do not" are read as an operator reads them, not as `Finding.forbids` declares them.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.criteria import Criteria
from kfix.core.derive.casefile import open_case
from kfix.core.diagnosis.finding import ChangeKind, Diagnosis, Finding, Remedy
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import Assignment, Snapshot, TopicPartition
from kfix_diagnostics._bans import CHANGES_OF
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.holding import held_back
from tests.places import ROOT
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.cases import SICK
from tests.unit.diagnostics.kraft_clusters import HIGH, kraft, quorum
from tests.unit.diagnostics.papers import papers

#: It has no replica and never dies: whoever is asked about the cluster.
WITNESS = 4
EVERYWHERE = re.compile(r"Do not trigger (elections|reassignments)\b(?! where broker)")
WHERE_BROKER = re.compile(r"Do not trigger elections where broker (\d+) is in the ISR")
OF_ITS_PARTITIONS = re.compile(r"Do not trigger an (?P<unclean>unclean )?election")
RESTARTS = re.compile(r"Do not (?:kill or )?restart (?:or wipe )?brokers? (\d+(?:, \d+)*)")
NO_CONTROLLER = re.compile(r"Do not (restart broker \d+, or )?have another controller elected")
STARTS = re.compile(r"Do not start broker (\d+) a second time")
#: What has to be started, wherever it is in the sentence.
STARTED = re.compile(r"\bstart brokers? (?P<ids>\d+(?:(?:, | or )\d+)*)", re.IGNORECASE)
#: In a remedy that has nothing to wait for.
DONE = re.compile(r"(?<!after )\brestart (broker|brokers) (?P<ids>\d+(?:, \d+)*)", re.IGNORECASE)


def forbidden(sentence: str, finding: Finding, remedy: Remedy, other: Finding, snapshot: Snapshot) -> bool:
    """Returns whether the sentence of one finding forbids the remedy of another one."""
    does = set(remedy.changes)
    if EVERYWHERE.match(sentence):
        banned = {ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION}
        banned |= {ChangeKind.REASSIGNMENT} if "reassignments" in sentence.split(":", maxsplit=1)[0] else set()
        banned |= {ChangeKind.RESTART} if "restarts" in sentence.split(":", maxsplit=1)[0] else set()
        return bool(does & banned)
    if found := WHERE_BROKER.match(sentence):
        case = open_case(snapshot)
        return ChangeKind.ELECTION in does and any(int(found[1]) in case.isr(tp) for tp in other.partitions)
    if found := OF_ITS_PARTITIONS.match(sentence):
        kinds = (
            {ChangeKind.UNCLEAN_ELECTION} if found["unclean"] else {ChangeKind.ELECTION, ChangeKind.UNCLEAN_ELECTION}
        )
        alive = finding.code != "KFX105"  # "where no replica is alive"
        return alive and bool(does & kinds) and not set(finding.partitions).isdisjoint(other.partitions)
    if (found := RESTARTS.match(sentence)) and (done := DONE.search(remedy.text)):
        return not set(found[1].split(", ")).isdisjoint(done["ids"].split(", "))
    if NO_CONTROLLER.match(sentence):
        return ChangeKind.CONTROLLER_ELECTION in does
    found = STARTS.match(sentence)
    return found is not None and int(found[1]) in started(remedy)


def started(remedy: Remedy) -> set[int]:
    """Returns the brokers that a remedy starts, by its words or as it declares."""
    named = STARTED.search(remedy.text)
    words = set() if named is None else {int(each) for each in re.findall(r"\d+", named["ids"])}
    return words | ({*remedy.brokers} if ChangeKind.START in remedy.changes else set())


def contradictions(snapshot: Snapshot, diagnosis: Diagnosis) -> Iterator[tuple[str, str, str, str]]:
    findings = [*diagnosis.walk()]
    for finding in findings:
        for sentence in finding.never:
            for other in findings:
                for remedy in other.remedies:
                    if (
                        other is not finding
                        and not remedy.after
                        and forbidden(sentence, finding, remedy, other, snapshot)
                    ):
                        yield finding.key, sentence, other.key, remedy.text


def agree(snapshot: Snapshot) -> None:
    diagnosis = diagnose(snapshot, criteria=Criteria(prevention=True))
    assert [*contradictions(snapshot, diagnosis)] == []
    by_key = {f.key: f for f in diagnosis.walk()}
    assert len(by_key) == len([*diagnosis.walk()]), sorted(f.key for f in diagnosis.walk())
    for finding in diagnosis.walk():
        for remedy in finding.remedies:
            assert bool(remedy.after) == remedy.text.startswith("Wait until KFX")
            if remedy.after:
                assert remedy.command == ""
                assert something_to_do(remedy, by_key), (finding.key, remedy.after)


def something_to_do(remedy: Remedy, by_key: dict[str, Finding]) -> bool:
    """Returns whether the findings that a remedy waits for, one after the other, end with one that can be resolved."""
    seen = set[str]()
    while remedy.after and remedy.after not in seen:
        seen.add(remedy.after)
        first = by_key[remedy.after].remedies
        remedy = next((r for r in first if not r.after), first[0])
    return not remedy.after


@settings(max_examples=250, deadline=None)
@given(papers())
def test_no_advice_is_forbidden_by_another_finding(paper: Paper) -> None:
    agree(paper.snapshot())


class Seen(StrEnum):
    """How a broker is seen: fenced or unregistered, it may still answer to kfix, or only fetch metadata (KRaft)."""

    ALIVE = "alive"
    ANSWERS = "answers"
    FETCHES = "fetches"
    DEAD = "dead"


@st.composite
def fenced_and_running(draw: st.DrawFn) -> Snapshot:
    """Brokers that are alive, dead, or run and are not alive, and a partition that lacks them.

    It has no leader, or one that is alive; its replicas may be being moved, or its topic deleted.
    """
    seen = dict(zip((1, 2, 3), draw(st.tuples(*[st.sampled_from(Seen)] * 3)), strict=True))
    zookeeper = draw(st.booleans())
    replicas = draw(st.lists(st.sampled_from((1, 2, 3)), min_size=1, unique=True))
    some = st.lists(st.sampled_from(replicas), unique=True).map(tuple)
    isr = draw(some)
    paper = Paper((1, 2, 3, WITNESS)).topic("orders", 1, replicas=[replicas])
    for broker in (b for b, how in seen.items() if how is not Seen.ALIVE):
        paper.kill(broker, age=draw(st.sampled_from([5.0, 600.0])))
    paper.answering |= {b for b, how in seen.items() if how is Seen.ANSWERS}
    tp = TopicPartition("orders", 0)
    part = paper.parts[tp]
    there = [b for b in replicas if seen[b] is Seen.ALIVE]
    led = bool(there) and draw(st.booleans())
    part.leader, part.isr = (there[0], (there[0], *(b for b in isr if b != there[0]))) if led else (-1, isr)
    adding = draw(some)
    moves = {tp: Assignment(tuple(replicas), adding, ())} if adding else {}
    if zookeeper:
        part.adding = adding
        paper.deleting = frozenset({"orders"}) if not adding and draw(st.booleans()) else frozenset()
        return paper.snapshot(reassignments=moves)
    paper = kraft(paper)
    new = draw(st.booleans())
    away = [b for b, how in seen.items() if how is not Seen.ALIVE]
    eligible = {tp: EligibleLeaders(draw(some), draw(some)[:1])} if new and not isr else {}
    ages = {b: 60.0 for b, how in seen.items() if how is Seen.DEAD}
    behind = [b for b, how in seen.items() if how is Seen.ANSWERS and draw(st.booleans())]
    offsets = {b: HIGH - 80 * (b in behind) for b in paper.answering}
    stale = {"offsets": offsets, "later": dict.fromkeys(behind, HIGH - 80), "apart": 1.6} if behind else {}
    level = {"metadata.version": 30 if new else 21}
    return paper.snapshot(
        quorum=quorum(ages, fenced=tuple(away) if new else None, eligible=eligible, features=level, **stale),
        reassignments=moves,
    )


@settings(max_examples=150, deadline=None)
@given(fenced_and_running())
def test_nor_where_a_broker_runs_that_is_not_alive_and_it_is_neither_started_nor_passed_over(made: Snapshot) -> None:
    agree(made)
    case = open_case(made)
    eligible = {} if made.quorum is None else made.quorum.eligible
    for finding in diagnose(made).walk():
        held = {b for tp in finding.partitions for b in case.isr(tp)}
        held |= {b for tp in finding.partitions if tp in eligible for b in eligible[tp].replicas}
        for remedy in finding.remedies:
            if remedy.after:
                continue
            assert not started(remedy) & {*case.shut_out}, (finding.key, remedy.text)
            if ChangeKind.UNCLEAN_ELECTION in remedy.changes:
                assert not held & {*case.shut_out}, (finding.key, remedy.text)


def test_nor_in_any_case_of_any_check() -> None:
    for cases in SICK.values():
        for case in cases:
            agree(case.make())


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "runbooks").glob("*.yaml")))
def test_what_a_runbook_does_to_leaders_and_replicas_is_declared(name: str) -> None:
    text = (ROOT / "runbooks" / f"{name}.yaml").read_text()
    used = set(re.findall(r"^\s+(?:- )?action: ([\w.]+)", text, re.MULTILINE))
    kinds = {
        ChangeKind.REASSIGNMENT: {"reassign.move", "reassign.cancel"},
        ChangeKind.ELECTION: {
            "controller.reelect",
            "leader.elect_isr",
            "leader.elect_preferred",
            "leader.elect_unclean",
            "reassign.noop",
        },
        ChangeKind.UNCLEAN_ELECTION: {"leader.elect_unclean"},
        ChangeKind.CONTROLLER_ELECTION: {"controller.reelect"},
    }
    wanted = {kind for kind, actions in kinds.items() if used & actions}
    if ChangeKind.REASSIGNMENT in wanted and not used & {"reassign.noop", "reassign.reorder"}:
        wanted.discard(ChangeKind.ELECTION)  # the preferred leaders of partitions that were moved anyway
    if not wanted and used & {"config.set", "retention.hold", "throttle.remove"} and "manual.bring_back" not in used:
        wanted = {ChangeKind.SETTING}  # it does nothing else
    assert set(CHANGES_OF.get(name, ())) == wanted, used


def test_without_a_ban_nothing_is_copied() -> None:
    findings = [Finding("x", "s", None, diagnose(Paper().snapshot()).worst or 0, "KFX999")]  # type: ignore[arg-type]
    assert held_back(findings) == findings
