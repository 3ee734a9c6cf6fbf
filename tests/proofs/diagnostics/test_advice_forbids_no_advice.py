"""Over random clusters and every sick one: no remedy that can be carried out is forbidden by another finding.

The sentences under "do not" are read as an operator reads them, not as `Finding.forbids` declares them.
"""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from kfix.derive.casefile import open_case
from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.finding import ChangeKind, Diagnosis, Finding, Remedy
from kfix_diagnostics._bans import CHANGES_OF
from kfix_diagnostics.engine import Options, diagnose
from kfix_diagnostics.holding import held_back
from tests.places import ROOT
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.cases import SICK
from tests.unit.diagnostics.papers import papers

EVERYWHERE = re.compile(r"Do not trigger (elections|reassignments)\b(?! where broker)")
WHERE_BROKER = re.compile(r"Do not trigger elections where broker (\d+) is in the ISR")
OF_ITS_PARTITIONS = re.compile(r"Do not trigger an (?P<unclean>unclean )?election")
RESTARTS = re.compile(r"Do not (?:kill or )?restart (?:or wipe )?brokers? (\d+(?:, \d+)*)")
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
        if finding.code == "KFX105":  # "where no replica is alive"
            return False
        return bool(does & kinds) and not set(finding.partitions).isdisjoint(other.partitions)
    if (found := RESTARTS.match(sentence)) and (done := DONE.search(remedy.text)):
        return not set(found[1].split(", ")).isdisjoint(done["ids"].split(", "))
    return False


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
    diagnosis = diagnose(snapshot, options=Options(prevention=True))
    assert [*contradictions(snapshot, diagnosis)] == []
    by_key = {f.key: f for f in diagnosis.walk()}
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
        ChangeKind.ELECTION: {"leader.elect_isr", "leader.elect_preferred", "leader.elect_unclean", "reassign.noop"},
        ChangeKind.UNCLEAN_ELECTION: {"leader.elect_unclean"},
    }
    wanted = {kind for kind, actions in kinds.items() if used & actions}
    if ChangeKind.REASSIGNMENT in wanted and not used & {"reassign.noop", "reassign.reorder"}:
        wanted.discard(ChangeKind.ELECTION)  # the preferred leaders of partitions that were moved anyway
    assert set(CHANGES_OF.get(name, ())) == wanted, used


def test_without_a_ban_nothing_is_copied() -> None:
    findings = [Finding("KFX999", diagnose(Paper().snapshot()).worst or 0, "x", "s", None)]  # type: ignore[arg-type]
    assert held_back(findings) == findings
