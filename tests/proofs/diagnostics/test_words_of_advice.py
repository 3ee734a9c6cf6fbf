"""What a remedy does is declared as its words say it, and what a "do not" forbids is declared as well.

`holding` goes by the declarations alone: a remedy without them is held back by nothing, a sentence without them holds
nothing back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Ban, ChangeKind, Diagnosis, Finding, Remedy
from kfix.core.snapshot.snapshot import Snapshot
from kfix_diagnostics.engine import diagnose
from tests.proofs.diagnostics.random_clusters import cluster
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.cases import SICK
from tests.unit.diagnostics.clusters import zone_isolated_with_leader

_WORDS = {
    ChangeKind.RESTART: r"\brestart (broker|brokers|it|one|that)\b|rolling restart|end its process",
    ChangeKind.UNCLEAN_ELECTION: r"unclean election of\b.* makes|each unclean election",
    ChangeKind.REASSIGNMENT: r"\breassign (?!((the|each) partition|\S+) to its own)|by a reassignment",
    ChangeKind.ELECTION: r"preferred election|\belect an\b|another controller elected|to its own replicas",
    ChangeKind.CONTROLLER_ELECTION: r"another controller elected|election of another controller",
    ChangeKind.START: r"(?<!re)\bstart (broker|brokers|one|any) ",
}
#: The text of what it waits for names findings.
_WAITS = re.compile(r"^(Wait until .*? is resolved\. Then: )+")
#: A sentence about restarts of brokers that forbids none on its own.
_LIMITED = re.compile(
    r"because of it|with an empty disk|blindly|to move its leaders|members|consumers|controller|servers"
)
_FORBIDS_RESTART = re.compile(r"do not (start or |kill or )?restart", re.IGNORECASE)


def untagged(remedy: Remedy) -> set[ChangeKind]:
    """Returns what a remedy does by its words, and does not declare."""
    text = _WAITS.sub("", remedy.text)
    said = {kind for kind, words in _WORDS.items() if re.search(words, text, re.IGNORECASE)}
    return said - {*remedy.changes}


def hits(ban: Ban, remedy: Remedy, finding: Finding) -> bool:
    named = {int(each) for each in re.findall(r"\d+", remedy.text)}
    if ban.brokers is not None:
        return bool(ban.brokers & named)
    return ban.partitions is None or not ban.partitions.isdisjoint(finding.partitions)


def contradictions(diagnosis: Diagnosis) -> Iterator[tuple[str, str, str]]:
    every = [*diagnosis.walk()]
    for finding in every:
        for remedy in finding.remedies:
            for kind in untagged(remedy) if not remedy.after else ():
                for other in every:
                    bans = [ban for ban in other.forbids if kind in ban.changes]
                    if other is not finding and any(hits(ban, remedy, finding) for ban in bans):
                        yield finding.key, other.key, remedy.text


def undeclared(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    for finding in diagnosis.walk():
        if any(ChangeKind.RESTART in ban.changes for ban in finding.forbids):
            continue
        yield from (
            (finding.key, sentence)
            for sentence in finding.never
            if _FORBIDS_RESTART.search(sentence) and not _LIMITED.search(sentence)
        )


def agree(snapshot: Snapshot) -> None:
    diagnosis = diagnose(snapshot, criteria=Criteria(prevention=True))
    assert [*contradictions(diagnosis)] == []
    assert [*undeclared(diagnosis)] == []


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_in_random_clusters(first: int) -> None:
    for number in range(first, first + 50):
        agree(cluster(number))


def test_in_any_case_of_any_check() -> None:
    for cases in SICK.values():
        for case in cases:
            agree(case.make())


def find(diagnosis: Diagnosis, code: str) -> list[Finding]:
    return [each for each in diagnosis.walk() if each.code == code]


def test_the_move_off_a_dead_broker_waits_for_the_network_with_zookeeper_too() -> None:
    found = diagnose(zone_isolated_with_leader().kill(3).snapshot())
    [dead] = find(found, "KFX401")
    [move] = [r for r in dead.remedies if ChangeKind.REASSIGNMENT in r.changes]
    assert move.after.startswith(("KFX203", "KFX403", "KFX80"))


def test_no_broker_is_started_without_an_active_controller() -> None:
    paper = kraft_clusters.kraft().kill(3)
    refused = kraft_clusters.REFUSED
    found = diagnose(paper.snapshot(quorum=kraft_clusters.lost(c100=refused, c101=refused)))
    assert find(found, "KFX811")
    starting = [r for f in found.walk() for r in f.remedies if ChangeKind.START in r.changes]
    assert starting
    assert {r.after for r in starting} == {"KFX811:controller quorum"}


def test_the_rules_find_what_is_not_declared() -> None:
    assert untagged(Remedy("Restart broker 1")) == {ChangeKind.RESTART}
    assert untagged(Remedy("an unclean election of t-0 makes broker 2 leader")) == {ChangeKind.UNCLEAN_ELECTION}
    assert untagged(Remedy("Wait until KFX101 (x) is resolved. Then: start broker 2")) == {ChangeKind.START}
    assert untagged(Remedy("reassign the replicas to other brokers")) == {ChangeKind.REASSIGNMENT}
    assert untagged(Remedy("reassign t-0 to its own replicas [1, 2]")) == {ChangeKind.ELECTION}
