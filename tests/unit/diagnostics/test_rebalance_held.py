"""KFX111 prints the command that evicts the member, for each one that may hold the rebalance."""

import shlex
from dataclasses import replace

from kfix.model.cluster.group_reading import GroupReading
from kfix.model.cluster.snapshot import Snapshot
from kfix.model.diagnosis.finding import Finding
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.ladder.ladder import explain_group
from tests.unit.diagnostics.group_readings import MEMBER, held_by_one_of, rebalance_held

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
