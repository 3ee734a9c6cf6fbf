"""The rules over bitmasks, one sentence of docs/facts/controller.md after the other."""

import pytest

from kfix.core.diagnosis.forecast import Fate
from kfix.core.failures.rules import NO, NONE, UNREAD, YES, PartitionMasks, after_failure

A, B, C, D = 1, 2, 4, 8


def row(order=(A, B, C), isr=A | B | C, **changes):
    made = {
        "order": order,
        "replicas": sum(order),
        "isr": isr,
        "online": A | B | C | D,
        "leader": order[0],
        "believed": order[0],
        "min_isr": (2,) * len(order),
        "unclean": NO,
        "unclean_later": NO,
    }
    return PartitionMasks(**made | changes)


def seen(row, down, *, new_controller=False, frozen=False):
    after = after_failure(row, down, new_controller=new_controller, frozen=frozen)
    return after.fate, after.leader, after.isr


@pytest.mark.parametrize("new", [False, True])
def test_the_first_live_in_sync_replica_in_assignment_order_leads(new):
    assert seen(row(), A, new_controller=new) == (Fate.MOVES, B, B | C)
    assert seen(row(order=(A, C, B)), A, new_controller=new) == (Fate.MOVES, C, B | C)
    assert seen(row(isr=A | C), A, new_controller=new) == (Fate.MOVES, C, C)
    assert seen(row(), B, new_controller=new) == (Fate.KEEPS, A, A | C)
    assert seen(row(), D, new_controller=new) == (Fate.KEEPS, A, A | B | C)


@pytest.mark.parametrize("new", [False, True])
def test_without_a_live_in_sync_replica_only_an_unclean_election_gives_a_leader(new):
    unclean = {"unclean_later" if new else "unclean": YES}
    assert seen(row(isr=A), A, new_controller=new) == (Fate.STOPS, NONE, NONE)
    assert seen(row(isr=A, **unclean), A, new_controller=new) == (Fate.UNCLEAN, B, B)
    assert seen(row(isr=A, **unclean), A | B, new_controller=new) == (Fate.UNCLEAN, C, C)
    assert seen(row(isr=A, **unclean), A | B | C, new_controller=new) == (Fate.STOPS, NONE, NONE)
    unread = dict.fromkeys(unclean, UNREAD)
    assert seen(row(isr=A, **unread), A, new_controller=new) == (Fate.UNKNOWN, UNREAD, NONE)
    assert seen(row(isr=A, **unread), A | B | C, new_controller=new) == (Fate.STOPS, NONE, NONE)


def test_the_recorded_leaders_death_strands_a_partition_whose_leader_is_another_in_the_controllers_memory():
    diverged = row(isr=A | B, leader=A, believed=C)
    assert seen(diverged, A) == (Fate.STRANDED, NONE, B)
    assert seen(diverged, A, new_controller=True) == (Fate.MOVES, B, B)
    assert seen(diverged, B) == (Fate.MOVES, A, A), "any dead replica makes the controller read the record"
    assert seen(diverged, C) == (Fate.MOVES, A, A | B), "the remembered leader's death makes it elect"
    assert seen(diverged, D) == (Fate.KEEPS, A, A | B) or seen(diverged, D)[0] is Fate.MOVES
    assert seen(diverged._replace(isr=A), A) == (Fate.STOPS, NONE, NONE)


def test_a_stuck_partition_is_elected_by_the_next_failure_and_never_counted():
    stuck = row(isr=C, leader=NONE, believed=NONE)
    assert seen(stuck, D) == (Fate.STOPPED, C, C)
    assert seen(stuck, C) == (Fate.STOPPED, NONE, NONE)
    after = after_failure(stuck, D, new_controller=False)
    assert (after.falls_under, after.left_with_last) == (NO, False)


def test_metadata_that_was_not_read_leaves_the_fate_of_a_leaders_death_unknown():
    assert seen(row(believed=UNREAD), A) == (Fate.UNKNOWN, UNREAD, B | C)
    assert seen(row(believed=UNREAD), A, new_controller=True) == (Fate.MOVES, B, B | C)
    assert seen(row(believed=UNREAD), B) == (Fate.KEEPS, A, A | C)
    assert seen(row(isr=A, believed=UNREAD), A) == (Fate.STOPS, NONE, NONE)


def test_min_isr_is_that_of_the_new_leader_and_counts_only_where_it_was_met():
    def falls(found, down):
        return after_failure(found, down, new_controller=False).falls_under

    assert falls(row(), A) == NO
    assert falls(row(), A | B) == YES
    assert falls(row(min_isr=(1, 3, 1)), A) == YES
    assert falls(row(isr=A), B) == NO, "it is below today"
    assert falls(row(isr=A | B, min_isr=(3, 3, 3)), B) == NO, "it is below today, and loses one more"
    assert falls(row(min_isr=(2, UNREAD, 2)), A) == UNREAD
    assert falls(row(min_isr=(UNREAD,) * 3), D) == NO, "nothing changes"
    assert falls(row(isr=A), A) == NO, "a partition without a leader stops altogether"


def test_the_last_in_sync_replica_is_one_of_several_replicas():
    def last(found, down):
        return after_failure(found, down, new_controller=False).left_with_last

    assert last(row(), A | B)
    assert not last(row(isr=A), B), "it is so today"
    assert not last(row(order=(A,), isr=A), D)
    assert not last(row(), A | B | C)


def test_a_replica_on_a_failed_disk_is_not_elected():
    assert seen(row(online=A | C), A) == (Fate.MOVES, C, C)


def test_without_an_in_sync_replica_a_kraft_controller_elects_an_eligible_one():
    last = row(isr=A, elr=C)
    assert seen(last, A) == (Fate.MOVES, C, C)
    assert seen(last, A | C) == (Fate.STOPS, NONE, NONE)
    assert seen(row(isr=A | B, elr=C), A) == (Fate.MOVES, B, B), "the ISR comes first"
    assert seen(last._replace(unclean=YES), A) == (Fate.MOVES, C, C), "no unclean election where a clean one can be"
    assert seen(last._replace(unclean=YES), A | C) == (Fate.UNCLEAN, B, B)
    assert seen(row(isr=A, elr=NONE), A) == (Fate.STOPS, NONE, NONE)


def test_unread_eligible_replicas_leave_the_leader_unknown_where_a_replica_lives():
    unread = row(isr=A, elr=UNREAD)
    assert seen(unread, A) == (Fate.UNKNOWN, UNREAD, NONE)
    assert seen(unread._replace(unclean=YES), A) == (Fate.UNKNOWN, UNREAD, NONE)
    assert seen(unread, A | B | C) == (Fate.STOPS, NONE, NONE)
    assert seen(unread, B) == (Fate.KEEPS, A, A)


def test_without_a_majority_of_the_controllers_no_leader_moves_and_acks_all_waits():
    assert seen(row(), A, frozen=True) == (Fate.STOPS, NONE, B | C)
    assert seen(row(), B, frozen=True) == (Fate.KEEPS, A, A | C)
    assert after_failure(row(), B, new_controller=False, frozen=True).falls_under == YES
    assert after_failure(row(), D, new_controller=False, frozen=True).falls_under == NO
    assert seen(row(isr=A, unclean=YES), A, frozen=True) == (Fate.STOPS, NONE, NONE)
