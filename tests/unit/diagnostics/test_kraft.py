"""On KRaft: a healthy quorum is healthy, no finding speaks of ZooKeeper, and no runbook is named that would refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from kfix.core.criteria import Criteria
from kfix.core.derive.casefile import open_case
from kfix.core.diagnosis.finding import ChangeKind, Diagnosis, Finding
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Mode, Snapshot
from kfix.diagnose.report.verdict import exit_code
from kfix.heal.runbook.catalogue import load
from kfix_diagnostics._advice import ZOOKEEPER_ONLY
from kfix_diagnostics.engine import diagnose, settle_seconds
from tests.each import for_each
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import NOW, remembering
from tests.unit.diagnostics.cases import SICK
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.prevention import durable, set_on
from tests.unit.diagnostics.test_incidents import find

EVERYTHING = Criteria(prevention=True)


def on_kraft(snapshot: Snapshot) -> Snapshot:
    """Returns the same brokers under a quorum that was read and is healthy."""
    cluster = replace(snapshot.cluster, mode=Mode.KRAFT, zookeeper="")
    view = kraft_clusters.quorum(offsets=dict.fromkeys(snapshot.views, kraft_clusters.HIGH))
    sources = tuple(s for s in snapshot.sources if "zookeeper" not in s.name and "znode" not in s.name)
    settings = {
        broker: {key: value for key, value in configs.items() if not key.startswith("zookeeper.")}
        for broker, configs in snapshot.broker_configs.items()
    }
    return replace(
        snapshot,
        zookeeper=None,
        ensemble=(),
        cluster=cluster,
        quorum=view,
        sources=sources,
        broker_configs=settings,
    )


@cache
def live() -> dict[str, Diagnosis]:
    """Returns the diagnoses of all sick clusters on KRaft, without pasted texts, which have no quorum."""
    made = {f"{code}-{number}": case.make() for code, cases in SICK.items() for number, case in enumerate(cases)}
    return {
        name: diagnose(on_kraft(snapshot), criteria=EVERYTHING)
        for name, snapshot in made.items()
        if snapshot.pasted is None
    }


def words(finding: Finding) -> str:
    said = [finding.summary, finding.cause.text, finding.blocked.who, *finding.never]
    said += [part for remedy in finding.remedies for part in (remedy.text, remedy.command)]
    return "\n".join(said)


@for_each("name", live)
def test_no_finding_on_kraft_speaks_of_zookeeper_or_names_a_runbook_that_would_refuse(name: str) -> None:
    for finding in live()[name].walk():
        assert "zookeeper" not in words(finding).lower(), words(finding)
        assert "znode" not in words(finding).lower(), words(finding)
        assert ZOOKEEPER_ONLY.isdisjoint(remedy.runbook for remedy in finding.remedies), finding.code
        named = re.findall(r"kfix runbook (?:apply|plan) ([a-z-]+)", words(finding))
        assert ZOOKEEPER_ONLY.isdisjoint(named), words(finding)


def test_a_healthy_quorum_is_healthy() -> None:
    diagnosis = diagnose(kraft_clusters.healthy())
    assert diagnosis.findings == ()
    assert diagnosis.could_not_read == ()
    assert exit_code(diagnosis) == 0
    assert settle_seconds(kraft_clusters.healthy()) == 0


def test_an_address_of_zookeeper_that_was_ignored_is_one_line() -> None:
    view = kraft_clusters.quorum(ignored_zookeeper="zk:2181")
    diagnosis = diagnose(kraft_clusters.kraft().snapshot(quorum=view))
    assert diagnosis.findings == ()
    assert diagnosis.notes == ("ZooKeeper at zk:2181 was ignored: this cluster runs on KRaft",)


@pytest.mark.parametrize(("seconds", "wait"), [(60.0, False), (12.0, True), (-1.0, True)])
def test_the_last_fetch_of_a_dead_broker_dates_what_it_broke(seconds: float, *, wait: bool) -> None:
    assert (settle_seconds(kraft_clusters.broker_dead_for(seconds)) > 0) is wait


def test_a_controller_that_has_been_gone_for_long_needs_no_second_snapshot() -> None:
    assert settle_seconds(kraft_clusters.one_controller_dead()) == 0
    assert settle_seconds(kraft_clusters.one_controller_gone_since_the_election()) > 0
    assert settle_seconds(kraft_clusters.two_controllers_dead()) > 0


def test_the_view_of_a_cut_broker_does_not_show_who_is_alive() -> None:
    snapshot = kraft_clusters.broker_cut_from_controllers()
    stale = replace(snapshot.views[1], alive=dict(snapshot.addresses))
    for views in ({1: stale, 2: snapshot.views[2]}, {1: stale, 3: snapshot.views[3], 2: snapshot.views[2]}):
        found = {f.key for f in diagnose(replace(snapshot, views=views)).walk()}
        assert "KFX813:broker 1" in found


def test_with_the_quorum_lost_no_remedy_changes_the_cluster() -> None:
    paper = kraft_clusters.kraft(set_on(durable(), "orders", min_insync_replicas="1").kill(1))
    refused = kraft_clusters.REFUSED
    snapshot = paper.snapshot(quorum=kraft_clusters.lost(c100=refused, c101=refused))
    diagnosis = diagnose(snapshot, criteria=EVERYTHING)
    assert diagnosis.findings[0].code == "KFX811"
    others = [f for f in diagnosis.walk() if f.code != "KFX811"]
    changes = {kind for f in others for remedy in f.remedies for kind in remedy.changes}
    assert changes > {ChangeKind.SETTING, ChangeKind.START}
    for remedy in (remedy for f in others for remedy in f.remedies if {*remedy.changes} - {ChangeKind.START}):
        assert remedy.after.startswith("KFX811:")
        assert not remedy.command


@pytest.mark.parametrize(("new", "logger"), [(True, "CoordinatorRuntime"), (False, "GroupMetadataManager")])
def test_a_silent_coordinator_is_searched_for_under_the_name_that_its_kafka_logs(new: bool, logger: str) -> None:
    snapshot = kraft_clusters.coordinator_failed(new=new, error=15)
    [silent] = [f for f in diagnose(snapshot).walk() if f.code == "KFX106"]
    assert silent.remedies[-1].text == f"Search the log of broker 2 for errors of {logger}"


@pytest.mark.parametrize(
    ("applied", "said"),
    [
        ({kraft_clusters.HIGH: NOW - 1800}, "The metadata has stood still for 30 min at least"),
        ({kraft_clusters.HIGH - 1: NOW - 1800}, ""),
        ({kraft_clusters.HIGH: NOW + 60}, ""),
        ({}, ""),
    ],
)
def test_an_earlier_snapshot_with_the_same_metadata_dates_the_loss_of_the_quorum(
    applied: dict[int, float], said: str
) -> None:
    snapshot = remembering(kraft_clusters.two_controllers_dead(), applied=applied)
    [lost] = [f for f in diagnose(snapshot).walk() if f.code == "KFX811"]
    assert lost.summary.endswith(said or "no leader can be elected"), lost.summary
    assert [e.age for e in lost.evidence if e.source == "earlier snapshots"] == ([1800.0] if said else [])


def test_a_broker_that_fetches_is_not_stale_because_it_is_a_record_behind() -> None:
    behind = {1: kraft_clusters.HIGH - 2, 2: kraft_clusters.HIGH}
    following = kraft_clusters.quorum(offsets=behind, later=behind)
    assert following.reached(1) is False
    assert following.behind == ()
    cut = kraft_clusters.quorum({1: 30.0}, offsets=behind, later=behind)
    assert cut.behind == (1,)
    forgotten = kraft_clusters.quorum(offsets=behind, later=behind, observers=())
    assert forgotten.behind == (1,)


#: What ends the fault itself, or needs no broker that it concerns.
REPAIRED = {ChangeKind.START, ChangeKind.REGISTRATION}


def test_a_second_leader_is_proved_its_loss_counted_and_nothing_else_is_advised() -> None:
    diagnosis = diagnose(kraft_clusters.broker_cut_from_controllers())
    [found] = [f for f in diagnosis.findings if f.code == "KFX813"]
    assert found.facts["forecast"] == ("orders-0=15",)
    assert (found.facts["forecast_exact"], found.facts["proved"]) == (True, 1)
    assert "15 records of orders-0 will be truncated" in found.summary
    assert ("OffsetForLeaderEpoch of orders-0, leader epoch 9", "UNKNOWN_LEADER_EPOCH") in {
        (row.what, row.value) for row in found.evidence
    }
    for remedy in (r for f in diagnosis.walk() for r in f.remedies if {*r.changes} - REPAIRED):
        assert remedy.after in {"KFX813:broker 1", "KFX203:broker 1"}, remedy.text


def test_a_broker_that_has_learned_of_its_successor_meanwhile_is_no_second_leader() -> None:
    diagnosis = diagnose(kraft_clusters.broker_cut_from_controllers("NOT_LEADER_OR_FOLLOWER"))
    [found] = [f for f in diagnosis.walk() if f.code == "KFX813"]
    assert found.facts["two_leaders"] == 0
    assert "second leader" not in found.summary


def test_a_broker_that_the_controllers_hear_is_not_cut_off_and_may_be_restarted() -> None:
    [found] = [f for f in diagnose(kraft_clusters.broker_that_hangs()).walk() if f.code == "KFX813"]
    assert "it hangs" in found.cause.text
    assert [r for r in found.remedies if ChangeKind.RESTART in r.changes]


def test_no_finding_advises_to_start_a_broker_that_is_fenced_and_runs() -> None:
    for make in (kraft_clusters.broker_fenced_but_alive, kraft_clusters.broker_fenced_and_not_asked):
        found = list(diagnose(make()).walk())
        assert {"KFX814", "KFX302"} <= {f.code for f in found}
        assert "KFX401" not in {f.code for f in found}
        assert not [r.text for f in found for r in f.remedies if r.text.startswith("Start broker 1")]


@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (kraft_clusters.in_sync_and_fenced, "KFX103", "ledger-0 has no leader: in-sync broker 2 runs, but is fenced. "),
        (lambda: kraft_clusters.in_sync_and_fenced(asked=False), "KFX103", "in-sync broker 2 runs, but is fenced. "),
        (lambda: kraft_clusters.in_sync_and_fenced((2,)), "KFX104", "are on broker 2, which runs, but is fenced"),
        (kraft_clusters.eligible_fenced, "KFX119", "waits for broker 2, which runs, but is fenced"),
        (lambda: kraft_clusters.eligible_fenced(1), "KFX119", "broker 2 runs, but is fenced; broker 1 is dead"),
    ],
)
def test_an_in_sync_broker_that_is_fenced_and_runs_is_neither_dead_nor_passed_over(
    make: Callable[[], Snapshot], code: str, said: str
) -> None:
    diagnosis = diagnose(make())
    found = find(diagnosis, code)
    assert said in found.summary
    assert found.remedies[0].text.startswith("Find out why broker 2 is fenced: see KFX814. ")
    remedies = [remedy for each in diagnosis.walk() for remedy in each.remedies]
    assert not [r for r in remedies if r.runbook in {"unclean-election", "isr-dead"}]
    assert not [r for r in remedies if ChangeKind.START in r.changes and 2 in r.brokers]
    fenced = find(diagnosis, "KFX814")
    assert any(set(found.partitions) <= (ban.partitions or set()) for ban in fenced.forbids)
    assert any(sentence.startswith("Do not trigger an unclean election of ") for sentence in fenced.never)


def test_an_eligible_broker_that_is_alive_is_not_called_dead_and_no_runbook_is_offered() -> None:
    found = find(diagnose(kraft_clusters.eligible_alive()), "KFX119")
    assert found.summary == "orders-0 has no leader, although broker 2 is alive and may lead without data loss"
    assert not [remedy for remedy in found.remedies if remedy.runbook]
    assert found.remedies[0].text.startswith("Diagnose the quorum")


def test_with_zookeeper_a_broker_that_responds_and_is_not_registered_is_not_started_either() -> None:
    paper = base().topic("ledger", 1, replicas=[[2, 1, 3]]).kill(2)
    paper.part("ledger", 0).write(leader=-1, isr=(2,), age=600)
    paper.answering.add(2)
    diagnosis = diagnose(paper.snapshot())
    assert "in-sync broker 2 runs, but is not registered" in find(diagnosis, "KFX103").summary
    remedies = [(each.code, remedy) for each in diagnosis.walk() for remedy in each.remedies]
    assert not [(code, r.text) for code, r in remedies if ChangeKind.START in r.changes]
    assert {code for code, r in remedies if "not registered: see KFX403" in r.text} == {"KFX103", "KFX302"}


def test_while_a_reassignment_adds_the_missing_replicas_no_other_one_is_advised() -> None:
    found = find(diagnose(kraft_clusters.replicas_still_added()), "KFX301")
    assert found.cause is not None
    assert found.cause.text == "a reassignment is still adding the missing replicas"
    [only] = [remedy.text for remedy in found.remedies]
    assert only.startswith("Wait for the reassignment of ledger-0, which adds the missing replicas")


def test_a_heartbeat_interval_that_is_too_long_is_named() -> None:
    [found] = [f for f in diagnose(kraft_clusters.heartbeats_too_rare()).walk() if f.code == "KFX814"]
    assert "broker.heartbeat.interval.ms (20000) is not below broker.session.timeout.ms (9000)" in found.cause.text


def test_what_lacks_a_cut_broker_follows_from_the_cut_and_no_finding_advises_to_start_it() -> None:
    diagnosis = diagnose(kraft_clusters.broker_cut_from_controllers())
    found = {f.code: f for f in diagnosis.walk()}
    assert "KFX302" in found
    assert "KFX302" not in {f.code for f in diagnosis.findings}
    assert "KFX403" not in found
    assert not [r.text for f in diagnosis.findings for r in f.remedies if r.text.startswith("Start broker 1")]


def test_without_the_new_coordinator_only_a_runbook_is_named_that_accepts_the_finding() -> None:
    """With `group.version` 0, Kafka 4 shows a coordinator that failed as any other that does not answer."""
    diagnosis = diagnose(kraft_clusters.coordinator_failed(new=False))
    finding = find(diagnosis, "KFX106")
    named = {remedy.runbook for each in diagnosis.walk() for remedy in each.remedies if remedy.runbook}
    assert named == {"coordinator-not-answering"}
    runbook = load("coordinator-not-answering", None)
    assert finding.code in runbook.codes
    assert Mode.KRAFT in runbook.metadata.modes
    assert not any("coordinator-failed" in f"{remedy.text} {remedy.command}" for remedy in finding.remedies)


def test_where_the_only_replica_is_dead_no_isr_shrank_and_no_election_is_offered() -> None:
    finding = find(diagnose(kraft_clusters.only_replica_dead()), "KFX119")
    assert finding.cause is not None
    assert finding.cause.text.startswith("broker 2, which left about")
    assert finding.cause.text.endswith("ago, has the only replica")
    assert [r.runbook for r in finding.remedies if r.runbook] == ["isr-dead"]


def test_no_remedy_moves_the_replicas_of_a_partition_whose_last_known_leader_is_gone() -> None:
    diagnosis = diagnose(kraft_clusters.last_known_is_no_replica())
    remedies = [remedy for finding in diagnosis.walk() if finding.code == "KFX401" for remedy in finding.remedies]
    assert any("reassign" in remedy.text for remedy in remedies)
    assert {remedy.after.partition(":")[0] for remedy in remedies} == {"KFX120"}


def test_a_broker_that_was_found_dead_a_moment_ago_is_not_taken_for_one_that_restarts() -> None:
    """What was found dead again and again left before the first of these times; only an answer bounds that."""
    gone = kraft_clusters.ghost(fetched=-1, memory=Memory(dead={4: NOW - 5}))
    finding = find(diagnose(gone), "KFX405")
    assert "restart" not in finding.summary
    assert [remedy.runbook for remedy in finding.remedies] == ["", "remove-ghost-registration"]
    young = kraft_clusters.ghost(fetched=-1, memory=Memory(dead={4: NOW - 5}, alive={4: NOW - 20}))
    assert "may be restarting" in find(diagnose(young), "KFX405").summary


def test_a_broker_at_whose_address_another_cluster_answers_is_started_after_that_one_is_stopped() -> None:
    diagnosis = diagnose(kraft_clusters.broker_elsewhere())
    [head] = diagnosis.findings
    assert head.code == "KFX817"
    assert head.cause is not None
    assert head.cause.text.startswith("broker 3 was started with an empty disk")
    dead = find(diagnosis, "KFX401")
    for finding in (head, dead):
        first = finding.remedies[0].text
        assert first.startswith("Stop the process of another cluster at localhost:9093, then start broker 3"), first
    assert dead.cause is not None
    assert "see KFX817" in dead.cause.text


def test_a_missing_broker_whose_address_is_unknown_may_be_the_one_of_the_other_cluster() -> None:
    diagnosis = diagnose(kraft_clusters.broker_elsewhere(known=False))
    cause = find(diagnosis, "KFX817").cause
    assert cause is not None
    assert "broker 3 is missing here, and may have been started there" in cause.text
    assert find(diagnosis, "KFX401").remedies[0].text.startswith("Start broker 3")


def test_until_its_session_has_ended_a_broker_without_metadata_may_be_cut_off_and_is_not_restarted() -> None:
    for seconds, restarts in ((6.0, False), (50.0, True)):
        finding = find(diagnose(kraft_clusters.broker_that_hangs(seconds)), "KFX813")
        assert any(ChangeKind.RESTART in remedy.changes for remedy in finding.remedies) is restarts


def test_a_dead_broker_of_kraft_is_not_called_unregistered() -> None:
    """Its registration stays, which KFX405 and KFX816 report."""
    for finding in diagnose(kraft_clusters.broker_dead_for(600)).walk():
        texts = [finding.summary, finding.cause.text if finding.cause else "", *(e.value for e in finding.evidence)]
        assert not any("not registered" in text for text in texts), texts


def test_times_of_a_clock_that_was_set_back_since_do_not_hide_a_restart() -> None:
    paper = kraft_clusters.kraft(base().kill(1))
    snapshot = paper.snapshot(
        quorum=kraft_clusters.quorum({1: -1.0}, offsets={2: kraft_clusters.HIGH, 3: kraft_clusters.HIGH}, fenced=(1,)),
        memory=Memory(well={1: NOW + 3600}, alive={1: NOW - 5}),
    )
    assert open_case(snapshot).may_restart(1, None)


def test_no_start_is_called_lossless_while_it_would_elect_another_replica() -> None:
    found = diagnose(kraft_clusters.eligible_dead_and_unclean_allowed())
    waits = next(f for f in found.walk() if f.code == "KFX119")
    assert waits.summary.endswith("once it starts, broker 1 may be elected first, and it may lack records")
    assert waits.remedies[0].command.endswith("--entity-name orders --add-config unclean.leader.election.enable=false")
    said = " ".join(r.text for f in found.walk() for r in f.remedies)
    assert "no record is lost" not in said
    starts = [r for f in found.walk() for r in f.remedies if ChangeKind.START in r.changes]
    assert starts
    assert all(r.after == waits.key and not r.command for r in starts)
