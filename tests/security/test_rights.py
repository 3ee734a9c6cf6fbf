"""The documented rights are those of the requests that actions, probes and runbooks really send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from kfix.core.args import Args, ArgValue
from kfix.heal.actions.base import Action
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents.prepared import PreparedIncident
from kfix.heal.model.runbook import Runbook
from kfix.heal.probes.facts import FactReader, read_facts
from kfix.heal.probes.registry import ask
from kfix.heal.testing import run_tests
from kfix.lab.definition.protocols import Right
from tests import shipped
from tests.security.rights import (
    ALTER,
    CLUSTER_ACTION,
    DELETE_GROUPS,
    OF_ACTIONS,
    OF_BROKERS,
    OF_TOPICS,
    READ_TOPICS,
    of_action,
    of_runbooks,
)
from tests.security.sent import CHANGING, METHODS, READING_RECORDS, READS, Called, Recording, rights_of, rights_of_all
from tests.unit.heal.actions.test_contract import BROKER, IDLE, SAMPLES, TOPIC

#: Other arguments of an action that change another resource.
OTHERS: Mapping[str, Mapping[str, ArgValue]] = {
    "config.set": {**BROKER, "key": "background.threads", "value": "12"},
    "throttle.remove": TOPIC,
    "throttle.restore": {**BROKER, "leader": "1000", "follower": "1000"},
}
SENDING = sorted([*((name, False) for name in SAMPLES), *((name, True) for name in OTHERS)])
#: {runbook: rights whose requests no test in memory sends}. The actions' own samples send them.
UNSENT: Mapping[str, frozenset[Right]] = {
    # Its moves come from a file of the user's.
    "move-replicas": frozenset({ALTER, OF_BROKERS, OF_TOPICS}),
    # An offset is deleted where none was saved, or when a commit is taken back.
    "restore-offsets": frozenset({DELETE_GROUPS}),
}
BOOKS = shipped.runbooks()


def test_every_call_of_the_ports_is_driven_or_only_reads_what_a_diagnosis_reads() -> None:
    assert {each.method for each in (*CHANGING, *READING_RECORDS)} <= METHODS
    assert {each.method for each in CHANGING} == METHODS - READS
    assert {each.method for each in READING_RECORDS if rights_of(each)} == {
        "hanging",
        "key_left",
        "last_generation",
        "logged_record",
        "offsets_replay",
        "open_batch",
        "records_left",
        "served_to",
        "starts_since",
        "transaction",
        "voters",
    }
    others = {Called("starts_since"): {CLUSTER_ACTION}, Called("voters"): {ALTER}}
    assert all(rights_of(each) <= others.get(each, {READ_TOPICS}) for each in READING_RECORDS)


@pytest.mark.parametrize(("name", "other"), SENDING)
def test_an_action_sends_requests_for_exactly_the_rights_that_are_documented(name: str, other: bool) -> None:
    given = OTHERS[name] if other else SAMPLES[name].args
    cluster = Recording(SAMPLES[name].cluster())
    action = ACTIONS[name]
    args = action.freeze(Args(given), FactReader(cluster))
    action.probe(args, read_facts(cluster, action.reads(args)), cluster)
    _change(action, args, cluster)
    if undo := action.inverse(args).undo:
        _change(ACTIONS[undo.action], undo.args, cluster)
    assert cluster.changed, "the sample changes nothing"
    assert rights_of_all(cluster.called) == set(of_action(name, given.get("kind")))


def _change(action: Action, args: Args, cluster: Recording) -> None:
    for call in action.guards(args):
        ask(call, cluster)
    action.apply(args, cluster)
    for call in (*action.proves(args), *action.hopeless(args)):
        ask(call, cluster)


def test_an_action_that_sends_nothing_needs_no_right() -> None:
    assert {name for name, action in ACTIONS.items() if not action.changes} == {
        *IDLE,
        "manual.bring_back",
        "manual.restart",
        "manual.upgrade",
    }
    assert {OF_ACTIONS[name] for name in (*IDLE, "manual.bring_back")} == {()}


@pytest.mark.parametrize("book", sorted(BOOKS))
def test_the_tests_of_a_runbook_send_requests_for_exactly_its_documented_rights(book: str, tmp_path: Path) -> None:
    """Planning, guards, changes and proofs; a right that no test needs is listed in `UNSENT`, with its reason."""
    found = rights_of_all(_called(BOOKS[book], tmp_path))
    documented = set(of_runbooks()[book])
    assert found <= documented
    assert documented - found == UNSENT.get(book, frozenset())


def _called(runbook: Runbook, home: Path) -> set[Called]:
    recorded: list[Recording] = []

    def one(name: str) -> PreparedIncident:
        incident = INCIDENTS[name]()
        recorded.append(Recording(incident.cluster))
        return replace(incident, cluster=cast("MemoryCluster", recorded[-1]))

    incidents = {name: lambda name=name: one(name) for name in INCIDENTS}
    assert [each for each in run_tests(runbook, incidents, home) if each.problems] == []
    return {called for each in recorded for called in each.called}
