"""Whatever a snapshot holds: it is judged, nothing is proposed that would do harm, and nothing is told twice."""

import re
from collections import Counter

from hypothesis import given, settings

from kfix.core.criteria import Criteria, Expected
from kfix.core.derive.casefile import open_case
from kfix.core.diagnosis.finding import ChangeKind, Severity
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.table import findings_text
from kfix_diagnostics.engine import diagnose, settle_seconds
from kfix_diagnostics.ladder.ladder import explain_group
from tests.proofs.hostile import CASES
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.papers import papers

STARTS = re.compile(r"(Wait until .* Then: )?(start|end the frozen)", re.IGNORECASE)


@settings(max_examples=max(60, CASES // 100), deadline=None)
@given(papers(), papers())
def test_every_snapshot_is_judged_and_reported(paper: Paper, before: Paper) -> None:
    snapshot = paper.snapshot()
    wide = Criteria(prevention=True, expected=Expected(rf=2))
    for diagnosis in (
        diagnose(snapshot),
        diagnose(snapshot, earlier=before.snapshot()),
        diagnose(snapshot, criteria=wide),
        diagnose(snapshot, earlier=before.snapshot(), criteria=wide),
    ):
        assert findings_text(diagnosis, 60)
        assert findings_json(diagnosis)
        keys = Counter(f.key for f in diagnosis.walk())
        assert keys.most_common(1)[0][1] == 1 if keys else True
        assert all(head.worst <= diagnosis.findings[0].worst for head in diagnosis.findings)
    assert 0 <= settle_seconds(snapshot) <= 10
    assert explain_group(snapshot, diagnose(snapshot), "g2").verdict


@settings(max_examples=max(60, CASES // 100), deadline=None)
@given(papers())
def test_no_unclean_election_where_an_in_sync_replica_is_alive_or_none_is(paper: Paper) -> None:
    snapshot = paper.snapshot()
    case = open_case(snapshot)
    for finding in diagnose(snapshot).walk():
        if finding.code == "KFX103":
            for tp in finding.partitions:
                assert not case.among_live(case.isr(tp))
                assert case.among_live(case.assignment(tp).replicas)
        else:
            assert not any("unclean election of" in r.text for r in finding.remedies)


@settings(max_examples=max(100, CASES // 100), deadline=None)
@given(papers())
def test_what_loses_records_comes_after_a_start_that_loses_none(paper: Paper) -> None:
    """As long as an in-sync replica exists on some disk, the start of its broker is advised first."""
    snapshot = paper.snapshot()
    case = open_case(snapshot)
    for finding in diagnose(snapshot, criteria=Criteria(prevention=True)).walk():
        loses = [ChangeKind.UNCLEAN_ELECTION in r.changes or "relax_to" in r.command for r in finding.remedies]
        if any(loses) and any(case.isr(tp) for tp in finding.partitions):
            assert any(STARTS.match(r.text) for r in finding.remedies[: loses.index(True)]), finding.remedies


@settings(max_examples=max(60, CASES // 100), deadline=None)
@given(papers())
def test_a_partition_has_one_reason_to_be_without_a_leader(paper: Paper) -> None:
    reasons: Counter[TopicPartition] = Counter()
    for finding in diagnose(paper.snapshot()).walk():
        if finding.code in {"KFX101", "KFX102", "KFX103", "KFX104", "KFX107"}:
            assert finding.severity is Severity.CRITICAL
            reasons.update(finding.partitions)
    assert all(n == 1 for n in reasons.values())


@settings(max_examples=max(100, CASES // 100), deadline=None)
@given(papers())
def test_what_hangs_is_the_cause_and_no_finding_contradicts_it(paper: Paper) -> None:
    """A silent broker neither catches up nor is to be started; a frozen one is ended before it is started."""
    snapshot = paper.snapshot()
    case = open_case(snapshot)
    diagnosis = diagnose(snapshot)
    hung = {f.obj for f in diagnosis.walk() if f.code == "KFX402"}
    for finding in diagnosis.walk():
        texts = [finding.summary, finding.cause.text, finding.headline, *(r.text for r in finding.remedies)]
        for broker in hung:
            assert not any(text.startswith((f"{broker} came back", f"Start {broker}.")) for text in texts), texts
        for each in case.frozen:
            assert not any(text.startswith(f"Start broker {each}.") for text in texts), texts
    for one in (f for f in diagnosis.walk() if f.headline and f.severity is Severity.INFO):
        assert one.headline in diagnosis.headlines


@settings(max_examples=max(100, CASES // 100), deadline=None)
@given(papers())
def test_no_reassignment_is_advised_for_a_topic_where_it_would_hang(paper: Paper) -> None:
    snapshot = paper.snapshot()
    hindered = open_case(snapshot).hindered
    for finding in diagnose(snapshot, criteria=Criteria(prevention=True)).walk():
        for remedy in finding.remedies:
            if remedy.command and remedy.runbook in {"raise-topic-rf", "raise-offsets-rf"}:
                assert not any(f"topic={topic} " in remedy.command for topic in hindered), remedy


@settings(max_examples=40, deadline=None)
@given(papers())
def test_each_lost_id_has_a_successor_of_its_own(paper: Paper) -> None:
    heirs = [heir for heir, _ in open_case(paper.snapshot()).lost.values() if heir is not None]
    assert len(heirs) == len(set(heirs))


@settings(max_examples=40, deadline=None)
@given(papers())
def test_the_same_snapshot_gives_the_same_diagnosis(paper: Paper) -> None:
    one: Snapshot = paper.snapshot()
    assert diagnose(one) == diagnose(one)
    wide = Criteria(prevention=True)
    told = diagnose(one, criteria=wide)
    assert told == diagnose(one, criteria=wide)
    for finding in told.walk():
        assert not finding.prevention or finding.severity <= Severity.WARNING
    assert {f.key for f in diagnose(one).walk()} == {f.key for f in told.walk() if not f.prevention}
