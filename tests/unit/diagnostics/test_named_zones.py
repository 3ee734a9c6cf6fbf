"""Names of racks, as the inventory may give them, where a finding shows a rack; its key keeps the rack itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.rounds import JudgeOptions, RoundJudge
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.clusters import rack_packed
from tests.unit.diagnostics.prevention import racks

NAMES = {"az1": "Hamburg", "a": "Bremen"}


def text_of(diagnosis: Diagnosis) -> str:
    return "\n".join(text for finding in diagnosis.walk() for text in _texts(finding))


def _texts(finding: Finding) -> list[str]:
    evidence = [f"{row.source} {row.what} {row.value}" for row in finding.evidence]
    return [finding.summary, finding.cause.text, finding.blocked.who, *evidence, *(r.text for r in finding.remedies)]


def two_of_one_rack_dead() -> Snapshot:
    return rack_packed(racks={1: "a", 2: "a", 3: "b", 4: "b"}).kill(1).kill(2).snapshot()


def in_one_rack() -> Snapshot:
    return rack_packed(racks={1: "a", 2: "a", 3: "a", 4: "b"}).snapshot()


@pytest.mark.parametrize(
    ("snapshot", "without", "named"),
    [
        (cut_clusters.zone_isolated, "zone az1 (broker 1)", "zone Hamburg (rack az1, broker 1)"),
        (cut_clusters.zone_isolated, "clients in az1", "clients in Hamburg"),
        (two_of_one_rack_dead, "all of them are in rack a:", "all of them are in rack a (Bremen):"),
        (in_one_rack, "all replicas in rack a,", "all replicas in rack a (Bremen),"),
        (lambda: racks("a", "b", None).snapshot(), "1: a, 2: b", "1: a (Bremen), 2: b"),
        (lambda: racks("a", "a", "b").snapshot(), "a: 1, 2; b: 3", "a (Bremen): 1, 2; b: 3"),
    ],
)
def test_a_rack_is_shown_with_its_name(snapshot: Callable[[], Snapshot], without: str, named: str) -> None:
    plain, known = (diagnose(snapshot(), criteria=Criteria(prevention=True, zones=zones)) for zones in ({}, NAMES))
    assert without in text_of(plain)
    assert named not in text_of(plain)
    assert named in text_of(known)
    assert [f.key for f in plain.walk()] == [f.key for f in known.walk()]
    assert [f.facts for f in plain.walk()] == [f.facts for f in known.walk()]


def test_a_watch_shows_the_names() -> None:
    judge = RoundJudge(JudgeOptions(zones=NAMES))
    assert "zone Hamburg (rack az1, broker 1)" in text_of(judge.judge(cut_clusters.zone_isolated()).diagnosis)
