"""Whatever a snapshot holds: it is judged, nothing is proposed that would do harm, and nothing is told twice."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.derive.casefile import open_case
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.snapshot import Mode, Snapshot, TopicPartition
from kfix.model.diagnosis.finding import Severity
from kfix.report.findings.json_findings import findings_json
from kfix.report.findings.table import findings_text
from kfix_diagnostics.engine import Options, diagnose, settle_seconds
from kfix_diagnostics.group_story import explain_group
from tests.unit.diagnostics.build import Paper, Part
from tests.unit.diagnostics.prevention import GOOD

SETTINGS = sorted({*GOOD, "message.max.bytes"})
VALUES = ["", "-1", "0", "1", "2", "3", "true", "false", "2.7-IV2", "3.9", "18000", "nonsense"]
IDS = st.integers(1, 5)
SOME = st.lists(IDS, max_size=4, unique=True).map(tuple)
BELIEVED = st.tuples(st.integers(-1, 5), st.integers(0, 3), SOME)
PARTS = st.builds(
    Part,
    replicas=SOME,
    leader=st.integers(-2, 5),
    isr=SOME,
    epoch=st.integers(0, 3),
    age=st.sampled_from([-5.0, 1.0, 60.0, 9000.0]),
    adding=st.lists(IDS, max_size=1).map(tuple),
    believed=st.none() | BELIEVED,
    seen_by=st.dictionaries(IDS, st.none() | BELIEVED, max_size=2),
)


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    paper = Paper(range(1, 6), draw(st.dictionaries(IDS, st.sampled_from("ab"))))
    for topic in ("t", OFFSETS_TOPIC, "__transaction_state"):
        for p, part in enumerate(draw(st.lists(PARTS, max_size=3))):
            paper.parts[TopicPartition(topic, p)] = part
    paper.registered = draw(st.dictionaries(IDS, st.sampled_from([-9.0, 1.0, 300.0, 1e6])))
    paper.answering = draw(st.sets(IDS))
    paper.silent = draw(st.dictionaries(IDS, st.just("timed out")))
    paper.controller = draw(st.none() | IDS)
    paper.named_controller = draw(st.dictionaries(IDS, st.integers(-1, 5)))
    paper.zookeeper = draw(st.booleans())
    paper.mode = draw(st.sampled_from(Mode))
    paper.min_isr = draw(st.integers(1, 3))
    paper.groups = draw(st.sampled_from([(), ("g2",), ("g2", "pay")]))
    paper.broken_groups = draw(
        st.dictionaries(st.just("g2"), st.sampled_from([(15, None), (0, 14), (0, -1), (30, None)]))
    )
    paper.deleting = draw(st.sampled_from([frozenset[str](), frozenset({"t"})]))
    paper.remembered_brokers = draw(st.dictionaries(IDS, st.sampled_from(["localhost:9091", "localhost:9095"])))
    settings_of = st.dictionaries(st.sampled_from(SETTINGS), st.sampled_from(VALUES), max_size=6)
    paper.broker_settings = draw(st.dictionaries(IDS, settings_of, max_size=3))
    paper.topic_settings = draw(st.just({}) | st.fixed_dictionaries({"t": settings_of}))
    paper.log_ends = draw(st.just({}) | st.just({TopicPartition("t", 0): {1: 5, 2: 9}}))
    return paper


@settings(max_examples=120, deadline=None)
@given(papers(), papers())
def test_every_snapshot_is_judged_and_reported(paper: Paper, before: Paper) -> None:
    snapshot = paper.snapshot()
    wide = Options(prevention=True, expected_rf=2)
    for diagnosis in (
        diagnose(snapshot),
        diagnose(snapshot, earlier=before.snapshot()),
        diagnose(snapshot, options=wide),
        diagnose(snapshot, earlier=before.snapshot(), options=wide),
    ):
        assert findings_text(diagnosis, 60)
        assert findings_json(diagnosis)
        keys = Counter(f.key for f in diagnosis.walk())
        assert keys.most_common(1)[0][1] == 1 if keys else True
        assert all(head.worst <= diagnosis.findings[0].worst for head in diagnosis.findings)
    assert 0 <= settle_seconds(snapshot) <= 10
    assert explain_group(snapshot, diagnose(snapshot), "g2").verdict


@settings(max_examples=120, deadline=None)
@given(papers())
def test_no_unclean_election_where_a_replica_in_sync_lives_or_where_nobody_lives(paper: Paper) -> None:
    snapshot = paper.snapshot()
    case = open_case(snapshot)
    for finding in diagnose(snapshot).walk():
        if finding.code == "KFX103":
            for tp in finding.partitions:
                assert not case.among_live(case.isr(tp))
                assert case.among_live(case.assignment(tp).replicas)
        else:
            assert not any("unclean election of" in r.text for r in finding.remedies)


@settings(max_examples=120, deadline=None)
@given(papers())
def test_a_partition_has_one_reason_to_be_without_a_leader(paper: Paper) -> None:
    reasons: Counter[TopicPartition] = Counter()
    for finding in diagnose(paper.snapshot()).walk():
        if finding.code in {"KFX101", "KFX102", "KFX103", "KFX104", "KFX107"}:
            assert finding.severity is Severity.CRITICAL
            reasons.update(finding.partitions)
    assert all(n == 1 for n in reasons.values())


@settings(max_examples=40, deadline=None)
@given(papers())
def test_the_same_snapshot_gives_the_same_diagnosis(paper: Paper) -> None:
    one: Snapshot = paper.snapshot()
    assert diagnose(one) == diagnose(one)
    wide = Options(prevention=True)
    told = diagnose(one, options=wide)
    assert told == diagnose(one, options=wide)
    for finding in told.walk():
        assert not finding.prevention or finding.severity <= Severity.WARNING
    assert {f.key for f in diagnose(one).walk()} == {f.key for f in told.walk() if not f.prevention}
