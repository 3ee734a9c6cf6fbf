"""What changed between two diagnoses: each change once, and nothing is fixed that was only not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kfix.core.diagnosis.finding import Cause, Confidence, Diagnosis, Finding, MutedFinding, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.watch.model import UNREACHABLE, Turn, TurnKind, Watched
from kfix.watch.turns import active, compare, lose

INFO, WARNING, CRITICAL = Severity


def finding(obj: str, severity: Severity = CRITICAL, **more: object) -> Finding:
    cause = Cause("a test", Confidence.CERTAIN)
    return Finding(obj, f"{obj} is broken", cause, severity, "KFX101", **more)  # type: ignore[arg-type]


def diagnosis(at: float, *findings: Finding, unread: Sequence[str] = ()) -> Diagnosis:
    return Diagnosis("c", at, findings, tuple(unread))


def kinds(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    return [(t.kind.value, t.key.removeprefix("KFX101:")) for t in turns]


def follow(*each: Diagnosis) -> list[list[tuple[str, str]]]:
    watched, found = Watched(), []
    for one in each:
        watched, turns = compare(watched, one)
        found.append(kinds(turns))
    return found


def test_new_worse_better_and_fixed_are_each_returned_once() -> None:
    warning, critical = finding("a", WARNING), finding("a")
    found = follow(
        diagnosis(0, warning),
        diagnosis(1, warning),
        diagnosis(2, critical),
        diagnosis(3, critical),
        diagnosis(4, warning),
        diagnosis(5),
        diagnosis(6),
    )
    assert found == [[("new", "a")], [], [("worse", "a")], [], [("better", "a")], [("fixed", "a")], []]


def test_advice_alone_is_no_change_but_an_alarm_that_became_advice_is_not_fixed() -> None:
    advice, alarm = finding("a", INFO), finding("a", WARNING)
    found = follow(diagnosis(0, advice), diagnosis(1, alarm), diagnosis(2, advice), diagnosis(3, advice), diagnosis(4))
    assert found == [[], [("new", "a")], [("better", "a")], [], [("fixed", "a")]]


def test_what_a_muted_finding_explains_is_not_fixed() -> None:
    muted = MutedFinding(finding("head", folded=(finding("a"),)), "it is replaced", "2100-01-01")
    found = follow(diagnosis(0, finding("a")), replace(diagnosis(1), muted=(muted,)), diagnosis(2))
    assert found == [[("new", "a")], [("explained", "a")], [("fixed", "a")]]


def test_what_has_just_been_muted_is_not_fixed() -> None:
    muted = MutedFinding(finding("a"), "it is replaced", "2100-01-01")
    found = follow(diagnosis(0, finding("a")), replace(diagnosis(1), muted=(muted,)), diagnosis(2))
    assert found == [[("new", "a")], [], [("fixed", "a")]]


def test_what_a_snapshot_could_not_read_is_not_fixed() -> None:
    found = follow(diagnosis(0, finding("a")), diagnosis(1, unread=["broker 1: timeout"]), diagnosis(2))
    assert found == [[("new", "a")], [], [("fixed", "a")]]


def test_what_has_just_changed_again_is_not_fixed() -> None:
    again = finding("a (just now)", INFO, unsettled=True)
    found = follow(diagnosis(0, finding("a")), diagnosis(1, again), diagnosis(2, finding("a")))
    assert found == [[("new", "a")], [], []]


def test_a_finding_that_becomes_a_consequence_is_explained_by_its_cause() -> None:
    head = replace(finding("b"), folded=(finding("a"),))
    watched, _ = compare(Watched(), diagnosis(0, finding("a")))
    watched, turns = compare(watched, diagnosis(1, head))
    assert kinds(turns) == [("new", "b"), ("explained", "a")]
    assert turns[1].text == "KFX101:b"
    assert [*watched.standing] == ["KFX101:b"]
    assert {turn.key for turn in active(watched)} == {"KFX101:a", "KFX101:b"}
    watched, turns = compare(watched, diagnosis(2, finding("a")))
    assert kinds(turns) == [("new", "a"), ("fixed", "b")]


def test_a_consequence_is_fixed_when_nothing_shows_it_and_not_before() -> None:
    head = replace(finding("b"), folded=(finding("a"),))
    found = follow(diagnosis(0, finding("a")), diagnosis(1, head), diagnosis(2, head), diagnosis(3, finding("a", INFO)))
    assert found == [[("new", "a")], [("new", "b"), ("explained", "a")], [], [("better", "a"), ("fixed", "b")]]
    assert not TurnKind.EXPLAINED.over


def test_a_fault_that_turns_into_a_worse_one_of_the_same_partitions_ends_with_it() -> None:
    tps = (TopicPartition("orders", 1), TopicPartition("orders", 2))
    mild = replace(finding("a", WARNING), code="KFX302", partitions=tps)
    worse = replace(finding("a"), code="KFX301", partitions=tps[1:])
    begun = replace(worse, obj="a (just now)", severity=INFO, unsettled=True)
    rounds = [diagnosis(n, *each) for n, each in enumerate([(mild,), (begun,), (worse,), (worse,), ()])]
    assert follow(*rounds) == [
        [("new", "KFX302:a")],
        [],
        [("new", "KFX301:a"), ("explained", "KFX302:a")],
        [],
        [("fixed", "KFX301:a"), ("fixed", "KFX302:a")],
    ]


def test_a_fault_that_others_do_not_continue_is_fixed() -> None:
    tps = (TopicPartition("orders", 1),)
    critical = replace(finding("a"), code="KFX301", partitions=tps)
    milder = replace(finding("a", WARNING), code="KFX302", partitions=tps)
    elsewhere = replace(finding("b"), code="KFX101", partitions=(TopicPartition("orders", 2),))
    found = follow(diagnosis(0, critical), diagnosis(1, milder), diagnosis(2, elsewhere))
    assert found[1] == [("new", "KFX302:a"), ("fixed", "KFX301:a")]
    assert found[2] == [("new", "b"), ("fixed", "KFX302:a")]


def test_a_lost_cluster_is_reported_once_and_nothing_counts_as_fixed_meanwhile() -> None:
    watched, _ = compare(Watched(), diagnosis(0, finding("a")))
    watched, lost = lose(watched, 1, "refused")
    watched, still = lose(watched, 2, "refused")
    assert (kinds(lost), still) == ([("lost", UNREACHABLE)], ())
    assert {t.key for t in active(watched)} == {UNREACHABLE, "KFX101:a"}
    watched, turns = compare(watched, diagnosis(9))
    assert kinds(turns) == [("fixed", "a"), ("back", UNREACHABLE)]
    assert [t.since for t in turns] == [0, 1]


def test_the_end_carries_how_severe_it_ever_was() -> None:
    watched, _ = compare(Watched(), diagnosis(0, finding("a")))
    watched, _ = compare(watched, diagnosis(1, finding("a", WARNING)))
    _, [turn] = compare(watched, diagnosis(2))
    assert (turn.severity, turn.worst, turn.since) == (WARNING, CRITICAL, 0)


def test_the_end_of_one_of_two_faults_names_that_one_only() -> None:
    both = replace(finding("brokers 2, 3"), about="broker 2", folded=(finding("broker 3"),))
    watched, _ = compare(Watched(), diagnosis(0, both))
    _, turns = compare(watched, diagnosis(1, finding("broker 3")))
    assert [t.finding.obj for t in turns if t.kind is TurnKind.FIXED and t.finding] == ["broker 2"]


_STATE = st.dictionaries(st.sampled_from("abc"), st.sampled_from([WARNING, CRITICAL]))
_ROUND = st.one_of(_STATE, st.tuples(_STATE, st.just("unread")), st.none())


@given(st.lists(_ROUND, min_size=1, max_size=60))
def test_changes_are_exactly_the_differences_of_what_is_known(rounds: list[object]) -> None:
    """A model of one line: what is known is the last state that was read; None is a cluster that does not answer."""
    watched, known, lost = Watched(), dict[str, Severity](), False
    for at, each in enumerate(rounds):
        if each is None:
            watched, turns = lose(watched, at, "gone")
            assert len(turns) == (not lost)
            lost = True
            continue
        state, unread = each if isinstance(each, tuple) else (each, "")
        assert isinstance(state, dict)
        shown = [finding(obj, severity) for obj, severity in state.items()]
        watched, turns = compare(watched, diagnosis(at, *shown, unread=[unread] if unread else []))
        now = {**known, **state} if unread else dict(state)
        expected = {(o, TurnKind.NEW) for o in now.keys() - known.keys()}
        expected |= {(o, TurnKind.FIXED) for o in known.keys() - now.keys()}
        for obj in now.keys() & known.keys():
            if now[obj] != known[obj]:
                expected.add((obj, TurnKind.WORSE if now[obj] > known[obj] else TurnKind.BETTER))
        expected |= {(UNREACHABLE, TurnKind.BACK)} if lost else set()
        assert {(t.key.removeprefix("KFX101:"), t.kind) for t in turns} == expected
        assert len(turns) == len(expected)
        known, lost = now, False
