"""Each runbook that a finding gives the command of makes a plan on that cluster, unless only the plan reads why not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

import pytest

from kfix import __version__
from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import ChangeKind, Finding, Remedy
from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import Snapshot
from kfix.heal.cli.plan import pairs
from kfix.heal.memory.incidents import ALL, PreparedIncident, requested
from kfix.heal.memory.incidents.partitions import ORDERS
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.memory.state import ElectionState
from kfix.heal.model.plan import Created
from kfix.heal.planning.matching import TOPIC, request
from kfix.heal.planning.planner import make_plan
from kfix.heal.planning.values import parse_params
from kfix.heal.runbook.catalogue import load
from kfix.heal.runbook.placements import PlacementInput
from kfix_diagnostics.engine import diagnose
from tests.unit.heal.probes.eligible_cases import allowed_with_isr

_OF_REGISTRATIONS = "broker_is_gone"
#: {incident: (its runbook, what refuses it)}: nothing of that is in a snapshot.
ONLY_THE_PLAN_READS: Mapping[str, tuple[str, str]] = {
    # The finding states that the controller has to be started first; it catches up by itself.
    "controller-disk-lost": ("quorum-replace-voter", "voter_may_be_removed"),
    "voter-wrong-directory-behind": ("quorum-replace-voter", "voter_may_be_removed"),
    "coordinator-failed-two-keys": ("coordinator-failed", "records of 2 keys contradict"),
    "coordinator-failed-unrecognized": ("coordinator-failed", "kfix recognizes no record"),
    "ghost-registration-hidden": ("remove-ghost-registration", _OF_REGISTRATIONS),
    "ghost-registration-just-left": ("remove-ghost-registration", _OF_REGISTRATIONS),
    "ghost-registration-runs": ("remove-ghost-registration", _OF_REGISTRATIONS),
    "ghost-registration-unreported": ("remove-ghost-registration", _OF_REGISTRATIONS),
    "ghost-registration-voter": ("remove-ghost-registration", _OF_REGISTRATIONS),
    "metadata-divergence-short-log": ("metadata-divergence", "isr_holds_leader_log"),
    "metadata-divergence-unread-log": ("metadata-divergence", "isr_holds_leader_log"),
}


def sick(name: str) -> tuple[PreparedIncident, Snapshot]:
    incident = ALL[name]()
    cluster = incident.cluster
    if not getattr(cluster, "loading", None):
        cluster.advance(600)
    return incident, cluster.snapshot()


def commands(snapshot: Snapshot) -> Iterator[tuple[Finding, Remedy]]:
    for finding in diagnose(snapshot, criteria=Criteria(prevention=True)).walk():
        for remedy in finding.remedies:
            if remedy.runbook and remedy.command and not remedy.after and "FILE" not in remedy.command.split():
                yield finding, remedy


def refusal(finding: Finding, remedy: Remedy, incident: PreparedIncident, snapshot: Snapshot) -> str:
    """Returns why the runbook refuses the cluster; "" where it makes a plan."""
    words = shlex.split(remedy.command)
    book = load(remedy.runbook, None)
    params = parse_params(book, pairs([words[n + 1] for n, word in enumerate(words) if word == "-p"]))
    chosen = finding if finding.code in book.codes else request(book, str(params.get(TOPIC, "")), snapshot, "a test")
    created = Created(incident.cluster.clock.now(), "tests", "tests", __version__)
    try:
        make_plan(
            book,
            chosen,
            incident.cluster,
            created=created,
            params=params,
            placement_input=PlacementInput(snapshot, offsets=incident.offsets),
        )
    except RefusedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", sorted(ALL.keys() - ONLY_THE_PLAN_READS.keys()))
def test_a_runbook_that_a_finding_gives_the_command_of_is_not_refused(name: str) -> None:
    incident, snapshot = sick(name)
    for finding, remedy in commands(snapshot):
        assert refusal(finding, remedy, incident, snapshot) == "", (finding.key, remedy.text)


@pytest.mark.parametrize("name", sorted(ONLY_THE_PLAN_READS))
def test_what_only_the_plan_reads_is_refused_by_one_runbook_and_the_finding_does_not_promise_it(name: str) -> None:
    incident, snapshot = sick(name)
    runbook, why = ONLY_THE_PLAN_READS[name]
    refused = [
        (remedy, text)
        for finding, remedy in commands(snapshot)
        if (text := refusal(finding, remedy, incident, snapshot))
    ]
    assert {remedy.runbook for remedy, _ in refused} == {runbook}
    for remedy, text in refused:
        assert why in text
        assert "may refuse" in remedy.text or "refused" in remedy.text or remedy.text.startswith("If "), remedy.text


def test_without_an_active_controller_no_broker_is_to_be_started() -> None:
    _, snapshot = sick("eligible-waits-quorum-lost")
    [found] = [f for f in diagnose(snapshot).walk() if f.code == "KFX119"]
    # Nor is it known whether the controllers allow unclean elections.
    assert found.obj.endswith("unclean elections unknown")
    starting = [r for r in found.remedies if ChangeKind.START in r.changes or r.runbook == "isr-dead"]
    assert all(remedy.after == "KFX811:controller quorum" for remedy in starting)


@pytest.mark.parametrize("suffix", ["", "-kraft"])
def test_a_move_whose_cancel_leaves_no_leader_is_not_to_be_cancelled(suffix: str) -> None:
    _, snapshot = sick(f"stuck-reassignment-unsafe{suffix}")
    finding = next(f for f in diagnose(snapshot).walk() if f.code == "KFX501")
    assert not any(remedy.runbook == "cancel-reassignment" for remedy in finding.remedies)


@pytest.mark.parametrize("isr", [(1,), (1, 2)])
def test_where_unclean_elections_are_allowed_no_command_is_given_that_the_runbook_refuses(isr: tuple[int, ...]) -> None:
    """Of the replicas [3, 2, 1] only broker 3 is alive. The start of broker 1 loses nothing; isr-dead waits."""
    cluster = allowed_with_isr(*isr)()
    assert isinstance(cluster, MemoryKraftCluster)
    cluster.kraft.remember(ORDERS, ElectionState.OFFLINE)
    cluster.kraft.inform((ORDERS,))
    incident, snapshot = PreparedIncident(cluster, requested("cluster", ())), cluster.snapshot()
    for finding, remedy in commands(snapshot):
        assert refusal(finding, remedy, incident, snapshot) == "", (finding.key, remedy.text)
    finding = next(f for f in diagnose(snapshot).walk() if f.code == "KFX103")
    setting, start = finding.remedies[:2]
    assert setting.command.endswith("unclean.leader.election.enable=false")
    assert (start.runbook, start.brokers, start.command, start.after) == ("isr-dead", isr, "", "")
