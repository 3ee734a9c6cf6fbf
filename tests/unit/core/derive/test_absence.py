"""For how long a broker has been gone: each bound holds, whatever other brokers do meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.criteria import Criteria
from kfix.core.derive.casefile import open_case
from kfix.core.derive.memory import remember
from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.report.verdict import exit_code
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.watch.model import TurnKind, Watched
from kfix.watch.turns import compare
from kfix_diagnostics.engine import diagnose

GRACE = 120.0
#: Times are recorded in milliseconds.
EXACT = 0.01


def cluster(kind: type[MemoryCluster] = MemoryCluster) -> MemoryCluster:
    made = kind.healthy(topics={"orders": 6})
    made.advance(3600)
    return made


def bounce(made: MemoryCluster, broker: int) -> None:
    made.kill(broker)
    made.advance(8)
    made.revive(broker)
    made.advance(4)


def dead_broker(snapshot: Snapshot) -> tuple[Diagnosis, Finding]:
    diagnosis = diagnose(snapshot, criteria=Criteria(restart_grace=GRACE))
    return diagnosis, next(f for f in diagnosis.walk() if f.code == "KFX401" and "broker 3" in f.obj)


def test_a_broker_that_is_dead_for_minutes_is_an_alarm_after_another_one_restarted() -> None:
    made = cluster()
    made.kill(3)
    made.advance(150)
    bounce(made, 2)
    diagnosis, found = dead_broker(made.snapshot())
    assert (found.severity, exit_code(diagnosis)) == (Severity.WARNING, 20)
    assert "has been gone for at least 4 s" in found.summary
    assert "restart" not in found.summary


def test_a_broker_that_left_just_now_is_an_alarm_where_nothing_shows_that_it_did() -> None:
    made = cluster()
    made.kill(3)
    made.advance(12)
    _, found = dead_broker(made.snapshot())
    assert found.severity is Severity.WARNING
    assert "has been gone for at least 12 s" in found.summary


def test_one_that_answered_an_earlier_snapshot_within_the_grace_may_be_restarting() -> None:
    made = cluster()
    before = made.snapshot()
    made.advance(20)
    made.kill(3)
    made.advance(12)
    _, found = dead_broker(replace(made.snapshot(), memory=Memory(alive=remember(before).alive)))
    assert found.severity is Severity.INFO
    assert "has been gone for at most 32 s" in found.summary
    assert found.headline == "broker 3 has been gone for at most 32 s, an alarm in 88 s"


def test_in_a_rolling_restart_the_registration_of_the_one_before_bounds_the_next() -> None:
    made = cluster()
    bounce(made, 2)
    made.advance(30)
    made.kill(3)
    made.advance(12)
    absence = open_case(made.snapshot(), Criteria(restart_grace=GRACE)).absence(3)
    assert absence.at_least == pytest.approx(12)
    assert absence.at_most == pytest.approx(46)
    assert dead_broker(made.snapshot())[1].severity is Severity.INFO


def test_a_snapshot_without_the_last_change_of_the_registrations_has_no_bound() -> None:
    made = cluster()
    bounce(made, 2)
    made.kill(3)
    made.advance(12)
    snapshot = made.snapshot()
    assert snapshot.zookeeper is not None
    old = replace(snapshot, zookeeper=replace(snapshot.zookeeper, members_zxid=-1))
    assert open_case(old, Criteria(restart_grace=GRACE)).absence(3)[:2] == (None, None)
    _, found = dead_broker(old)
    assert found.severity is Severity.WARNING
    assert "has been out of sync for at least 12 s" in found.summary


def test_a_replica_that_lagged_before_its_broker_died_makes_the_broker_no_older() -> None:
    made = cluster()
    tp = next(iter(made.records.states))
    state = made.records.states[tp]
    made.records.write_state(tp, state.leader, state.leader_epoch, tuple(b for b in state.isr if b != 3))
    made.advance(3600)
    made.kill(3)
    made.advance(150)
    absence = open_case(made.snapshot(), Criteria(restart_grace=GRACE)).absence(3)
    assert absence.at_least == pytest.approx(150)
    assert absence.unsynced == pytest.approx(3750)


def test_two_brokers_that_are_gone_have_no_upper_bound_by_the_registrations() -> None:
    made = cluster()
    bounce(made, 1)
    made.kill(3)
    made.advance(2)
    made.kill(2)
    made.advance(2)
    case = open_case(made.snapshot(), Criteria(restart_grace=GRACE))
    assert [case.absence(b).at_least for b in case.dead] == pytest.approx([2, 2])
    assert [case.absence(b).at_most for b in case.dead] == [None, None]


ACTIONS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([1, 7, 40, 150, 900])),
    st.tuples(st.sampled_from(["kill", "revive", "elect"]), st.integers(1, 4)),
    st.tuples(st.just("look"), st.booleans()),
)


class History:
    """One cluster, when each of its brokers left, and a watch of it that sometimes forgets what it saw."""

    def __init__(self, kind: type[MemoryCluster]) -> None:
        self.made = kind.healthy(4, topics={"orders": 8})
        self.left: dict[int, float] = {}
        self.memory, self.watched = Memory(), Watched()

    def act(self, what: str, value: int) -> None:
        made, alive = self.made, [b.id for b in self.made.brokers.values() if b.alive]
        if what == "wait":
            made.advance(value)
        elif what == "kill" and value in alive and len(alive) > 1:
            made.kill(value)
            self.left[value] = made.clock.now()
        elif what == "revive" and value not in alive:
            made.revive(value)
            del self.left[value]
        elif what == "elect" and value in alive:
            made.control.fail_over_to(value)
        elif what == "look":
            self.look(forget=bool(value))

    def look(self, *, forget: bool) -> None:
        snapshot = replace(self.made.snapshot(), memory=Memory() if forget else self.memory)
        self.memory = remember(snapshot)
        case = open_case(snapshot, Criteria(restart_grace=GRACE))
        for broker in case.dead:
            truth, absence = snapshot.taken_at - self.left[broker], case.absence(broker)
            assert absence.at_least is None or absence.at_least <= truth + EXACT
            assert absence.at_most is None or truth <= absence.at_most + EXACT
            assert not case.restarting(broker) or truth < GRACE
        self.watched, turns = compare(self.watched, diagnose(snapshot, criteria=Criteria(restart_grace=GRACE)))
        ended = {turn.key for turn in turns if turn.kind is TurnKind.FIXED}
        assert not ended & {f"KFX401:broker {broker}" for broker in case.dead}


@pytest.mark.parametrize("kind", [MemoryCluster, MemoryKraftCluster])
@settings(max_examples=60)
@given(st.lists(ACTIONS, min_size=4, max_size=30))
def test_no_bound_is_wrong_and_nothing_is_fixed_while_a_broker_is_dead(
    kind: type[MemoryCluster], acts: list[tuple[str, int]]
) -> None:
    history = History(kind)
    for what, value in acts:
        history.act(what, value)
    history.look(forget=False)
