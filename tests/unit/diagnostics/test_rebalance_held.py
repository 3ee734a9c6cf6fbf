"""KFX111 prints the command that evicts the member, for each one that may hold the rebalance."""

import shlex
from dataclasses import replace

from kfix.core.diagnosis.finding import Finding, Severity
from kfix.core.snapshot.group_reading import GroupMember, GroupReading
from kfix.core.snapshot.snapshot import Group, Snapshot
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.ladder.ladder import explain_group
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.group_readings import (
    AT_END,
    MEMBER,
    ORDERS,
    held_by_one_of,
    not_reconciled,
    position,
    read,
    reading,
    rebalance_held,
    reconciling,
    share_group,
)

EVICTS = "evict-member"


def held(snapshot: Snapshot) -> Finding:
    [found] = [f for f in diagnose(snapshot).walk() if f.code == "KFX111"]
    return found


def commands(finding: Finding) -> list[list[str]]:
    return [shlex.split(each.command) for each in finding.remedies if each.runbook == EVICTS]


def called(group: str, reading: GroupReading) -> GroupReading:
    return replace(reading, group=group)


def test_the_command_comes_after_every_way_that_changes_no_group() -> None:
    [*_, last] = held(rebalance_held()).remedies
    assert last.runbook == EVICTS
    assert shlex.split(last.command)[:8] == [
        *("kfix", "runbook", "apply", EVICTS),
        *("-p", "group=g2", "-p", "member=c1-uuid"),
    ]


def test_the_rung_has_the_command_too() -> None:
    snapshot = rebalance_held()
    story = explain_group(snapshot, diagnose(snapshot), "g2")
    [rung] = [each for each in story.rungs if each.name == "rebalance"]
    assert [each.runbook for each in rung.next_steps][-1] == EVICTS


def none_of_these(*readings: GroupReading) -> bool:
    return not [f for f in diagnose(read(*readings)).walk() if f.code == "KFX111"]


def test_a_group_of_the_consumer_protocol_names_the_member_that_stays_behind_its_epoch() -> None:
    finding = held(not_reconciled())
    assert finding.summary == (
        "group g2 has been rebalancing for 10 s or longer: c1 on 10.0.0.7 does not adopt the assignment of epoch 4, "
        "and keeps orders-1 from the others"
    )
    assert finding.token == "c1-uuid"
    assert finding.blocked.who == "1 member that does not poll, and 1 member that waits"
    assert [command[7] for command in commands(finding)] == ["member=c1-uuid"], "the other one only waits"


def test_a_member_that_moves_on_holds_no_rebalance() -> None:
    assert none_of_these(reconciling(epoch=2), reconciling(epoch=3)), "it has reached another epoch since"
    assert none_of_these(reconciling(epoch=4), reconciling(epoch=4)), "none is behind"
    assert none_of_these(reconciling(state="Stable"), reconciling())
    assert none_of_these(reconciling(), reconciling(members=()))
    assert none_of_these(share_group(), share_group())


def test_a_share_group_has_no_finding_of_committed_offsets() -> None:
    below = share_group(partitions=position(committed=3, start=5))
    assert not [f.code for f in diagnose(read(below, below)).walk()]


def test_names_with_blanks_and_quotes_are_one_word_each() -> None:
    snapshot = held_by_one_of(MEMBER._replace(id="it's; a member"))
    readings = tuple(called("pay ments", each) for each in snapshot.group_readings)
    [command] = commands(held(replace(snapshot, group_readings=readings)))
    assert command[5::2][:2] == ["group=pay ments", "member=it's; a member"]


def test_each_of_several_members_has_its_command_and_a_warning_against_guessing() -> None:
    finding = held(held_by_one_of(*(MEMBER._replace(id=f"c{n}-uuid", host=f"/10.0.0.{n}") for n in range(1, 6))))
    assert [command[7] for command in commands(finding)] == ["member=c1-uuid", "member=c2-uuid", "member=c3-uuid"]
    texts = [each.text for each in finding.remedies if each.runbook == EVICTS]
    assert texts[1].startswith("If it is c1 on 10.0.0.2 that hangs")
    assert any("on a guess" in each for each in finding.never)
    assert not any("on a guess" in each for each in held(rebalance_held()).never)


def test_a_group_that_rebalances_in_the_only_snapshot_is_a_warning_and_no_exit_0() -> None:
    for state in ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"):
        seen = base().snapshot()
        seen = replace(seen, groups=(replace(seen.groups[0], state=state), *seen.groups[1:]))
        diagnosis = diagnose(seen)
        [found] = [f for f in diagnosis.walk() if f.code == "KFX111"]
        assert (found.severity, found.obj) == (Severity.WARNING, f"group {seen.groups[0].name}")
        assert exit_code(diagnosis) == 20


def test_a_group_that_a_member_holds_is_reported_once() -> None:
    seen = rebalance_held()
    name = seen.group_readings[-1].group
    listed = replace(seen, groups=(Group(name, (1,), "PreparingRebalance"),))
    assert held(listed).severity is Severity.CRITICAL


def test_groups_that_were_not_read_are_counted_in_the_first_line() -> None:
    seen = base().snapshot()
    assert diagnose(seen).headlines == ()
    unread = replace(seen, group_readings=seen.group_readings[1:])
    assert diagnose(unread).headlines == ("1 group was not judged",)
    unknown = replace(seen, groups=tuple(replace(each, state="") for each in seen.groups))
    assert diagnose(unknown).headlines == (f"{len(seen.groups)} groups were not judged",)
    shared = replace(seen, groups=tuple(replace(g, group_type="share") for g in seen.groups), group_readings=())
    assert diagnose(shared).headlines == ()


def storm(*, moved: int = 510) -> Snapshot:
    """One steady member beside another that ends and starts again: each look meets a rebalance."""
    return read(_look(1, 5), _look(2, 5 + moved))


def _look(start: int, committed: int) -> GroupReading:
    members = (MEMBER._replace(assigned=()), GroupMember(f"c2-{start}", "c2", "/10.0.0.8", "", ()))
    at = {ORDERS[0]: AT_END._replace(committed=committed, end=9_000)}
    return reading(state="PreparingRebalance", members=members, partitions=at)


def test_a_group_that_reads_between_its_rebalances_has_no_member_that_holds_it() -> None:
    finding = held(storm())
    assert finding.severity is Severity.WARNING
    assert finding.summary == (
        "group g2 rebalances again and again, and reads between: its committed offsets advanced by 510 in 10 s; "
        "1 member joined and 1 left"
    )
    assert not commands(finding)
    assert "c2 on 10.0.0.8" in finding.remedies[0].text
    assert "c1" not in finding.remedies[0].text, "the steady member is healthy"
    assert not finding.blocked.groups


def test_the_same_members_without_a_commit_wait_for_the_steady_one() -> None:
    assert held(storm(moved=0)).severity is Severity.CRITICAL


def test_a_group_that_reads_between_its_rebalances_is_reported_once() -> None:
    listed = replace(storm(), groups=(Group("g2", (1,), "PreparingRebalance"),))
    assert held(listed).summary.startswith("group g2 rebalances again and again")
