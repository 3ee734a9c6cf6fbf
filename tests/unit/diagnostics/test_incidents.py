"""The incidents of the mission, each judged as a whole: which heads, what is folded, who is blocked, and the report."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from kfix.core.criteria import Criteria
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Confidence, Diagnosis, Finding, Severity
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix.diagnose.report.screen import screen_lines
from kfix.diagnose.report.table import findings_text
from kfix.diagnose.report.verdict import exit_code
from kfix.front.lines import lines_text
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.places import GOLDEN
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.build import DAY, Paper
from tests.unit.diagnostics.clusters import (
    base,
    broker_ids_gone,
    coordinator_loading,
    coordinator_stuck,
    healthy,
    isr_gone,
    metadata_divergence,
    offsets_rf1,
    on_broker,
    packed_replicas,
    slow_follower,
    stale_view,
    text,
    unread_zookeeper,
    zone_isolated_with_leader,
)

GOLDEN_FOLDER = GOLDEN / "diagnose"
DESCRIBED = """\
Topic: __consumer_offsets\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: cleanup.policy=compact
\tTopic: __consumer_offsets\tPartition: 0\tLeader: none\tReplicas: 1,3,2\tIsr: 2
\tTopic: __consumer_offsets\tPartition: 1\tLeader: 2\tReplicas: 2,1,3\tIsr: 2,3
"""

INCIDENTS: dict[str, tuple[Callable[[], Snapshot], int]] = {
    "healthy": (healthy, 0),
    "metadata-divergence": (lambda: metadata_divergence().snapshot(), 20),
    "coordinator-stuck": (lambda: coordinator_stuck().snapshot(), 21),
    "offsets-rf1-all-alive": (lambda: offsets_rf1().snapshot(), 20),
    "offsets-rf1": (lambda: offsets_rf1().kill(3).snapshot(), 21),
    "under-min-isr": (lambda: base().kill(2).kill(3).snapshot(), 21),
    "coordinator-loading": (lambda: coordinator_loading().snapshot(), 20),
    "broker-ids-gone": (lambda: broker_ids_gone().snapshot(), 21),
    "isr-gone": (lambda: with_log_ends().snapshot(), 21),
    "packed-replicas": (lambda: packed_replicas().kill(1).kill(2).snapshot(), 21),
    "link-to-controller-cut": (lambda: stale_view().snapshot(), 21),
    "zone-isolated-with-leader": (lambda: zone_isolated_with_leader().snapshot(), 21),
    "hung-broker": (lambda: on_broker(2, base()).snapshot(), 21),
    "slow-follower": (lambda: slow_follower().snapshot(), 20),
    "restart-away": (lambda: base().kill(3, 12).snapshot(), 0),
    "restart-back": (lambda: base().kill(3, 30).back(3, 4).snapshot(), 0),
    "unread-zookeeper": (lambda: unread_zookeeper().snapshot(), 22),
    "pasted-text": (lambda: text(DESCRIBED), 21),
}


def with_log_ends() -> Paper:
    paper = isr_gone()
    paper.log_ends = {TopicPartition("logs", p): {2: 50 + p} for p in (0, 1)}
    return paper


def heads(diagnosis: Diagnosis) -> list[str]:
    return [f.key for f in diagnosis.findings]


def find(diagnosis: Diagnosis, code: str) -> Finding:
    return next(f for f in diagnosis.walk() if f.code == code)


@for_each("name", INCIDENTS)
def test_the_reports_are_the_golden_ones(name: str) -> None:
    make, code = INCIDENTS[name]
    diagnosis = diagnose(make())
    for folder, said in (
        (GOLDEN_FOLDER, findings_text(diagnosis)),
        (GOLDEN / "screen", lines_text(screen_lines(diagnosis, 100))),
    ):
        path = folder / f"{name}.txt"
        if os.environ.get("KFIX_UPDATE_GOLDEN"):
            path.write_text(said)
        assert said == path.read_text(), "KFIX_UPDATE_GOLDEN=1 rewrites it"
    assert exit_code(diagnosis) == code


def test_no_golden_file_is_left_over() -> None:
    assert {p.stem for p in GOLDEN_FOLDER.glob("*.txt")} == {
        *INCIDENTS,
        "group-blocked",
        "group-healthy",
        "group-commits",
        "group-member",
        "group-unreachable",
        "group-rebalance",
        "group-reconciling",
        "group-record",
        "group-slow",
        "group-share",
        "group-withheld",
        "group-not-answered",
        "group-streams",
        "group-leaderless",
        "group-outside",
    }


def test_the_divergence_is_reported_while_everything_still_works() -> None:
    diagnosis = diagnose(metadata_divergence().snapshot())
    assert heads(diagnosis) == ["KFX201:__consumer_offsets-43"]
    finding = diagnosis.findings[0]
    assert finding.facts == {
        "topic": OFFSETS_TOPIC, "partition": 43, "zk_leader": 1, "zk_epoch": 1, "view_leader": 2, "view_epoch": 0,
        "assignment": (2, 3, 1), "isr": (1, 2),
    }  # fmt: skip
    assert finding.evidence[-1].value == "leader -1, ISR [2], and no election follows although broker 2 is alive"
    assert not any("zombie" in line for line in findings_text(diagnosis).splitlines())


def test_a_record_written_after_the_next_controller_came_is_named_as_such() -> None:
    snapshot = metadata_divergence().snapshot()
    assert snapshot.zookeeper is not None
    node = snapshot.zookeeper.controller
    newer = {"epoch": 2, "epoch_mzxid": 100}
    changed = replace(snapshot, zookeeper=replace(snapshot.zookeeper, controller=replace(node, **newer)))
    values = [row.value for row in find(diagnose(changed), "KFX201").evidence]
    assert "controller epoch 1, after epoch 2 had begun" in values


def test_the_stuck_partition_is_a_head_of_its_own_beside_the_dead_broker() -> None:
    diagnosis = diagnose(coordinator_stuck().snapshot())
    assert heads(diagnosis) == ["KFX101:__consumer_offsets-43", "KFX401:broker 1"]
    finding = diagnosis.findings[0]
    assert finding.blocked.groups == ("g2",)
    assert finding.blocked.others_unknown
    assert finding.facts == {
        "topic": OFFSETS_TOPIC, "partition": 43, "leader": -1, "isr": (2,), "live_isr": (2,), "assignment": (2, 3, 1),
        "preferred_in_live_isr": True, "controller": 3, "group": "g2", "dead": (1,),
    }  # fmt: skip
    assert finding.remedies[0].command == "kfix runbook apply coordinator-stuck --bootstrap-server localhost:9092"
    assert finding.token == "2/2"


def test_a_group_that_answers_is_not_called_blocked_though_listed_there() -> None:
    paper = coordinator_stuck()
    paper.broken_groups = {"g2": (0, 0)}
    assert find(diagnose(paper.snapshot()), "KFX101").blocked.groups == ()


def test_groups_of_earlier_snapshots_are_named_though_no_broker_lists_them() -> None:
    paper = coordinator_stuck()
    paper.groups, paper.remembered = (), ("g2",)
    assert find(diagnose(paper.snapshot()), "KFX101").blocked.groups == ("g2",)


def test_without_a_preferred_replica_in_sync_no_preferred_election_is_proposed() -> None:
    paper = base().topic("x", 1, replicas=[[1, 2, 3]])
    paper.forge("x", 0, 1, (1, 3)).fall("x", 0, 1)
    finding = find(diagnose(paper.snapshot()), "KFX102")
    assert finding.facts["preferred_in_live_isr"] is False
    assert not any("--election-type" in r.command for r in finding.remedies)


def test_a_longer_log_that_would_not_win_is_named() -> None:
    paper = Paper((1, 2, 3)).topic("t", 1, replicas=[[1, 2, 3]])
    paper.part("t", 0).isr = (1,)
    paper.kill(1)
    paper.log_ends = {TopicPartition("t", 0): {2: 50, 3: 100}}
    remedy = find(diagnose(paper.snapshot()), "KFX103").remedies[1].text
    assert "makes broker 2 leader" in remedy
    assert "It loses at least 50 records that broker 3 has (log end 100)" in remedy
    assert "Broker 3 would not win: put it first in the assignment" in remedy


def test_packed_replicas_are_judged_partition_by_partition() -> None:
    diagnosis = diagnose(packed_replicas().kill(1).kill(2).snapshot())
    assert find(diagnosis, "KFX104").partitions == (TopicPartition("t", 0),)
    assert find(diagnosis, "KFX103").partitions == (TopicPartition("t", 1),)
    assert find(diagnose(packed_replicas().snapshot()), "KFX305").severity is Severity.INFO


def test_a_lost_id_states_how_sure_it_is() -> None:
    assert find(diagnose(broker_ids_gone().snapshot()), "KFX105").cause.confidence is Confidence.POSSIBLE
    assert find(diagnose(broker_ids_gone(address=True).snapshot()), "KFX105").cause.confidence is Confidence.LIKELY
    assert (
        find(diagnose(broker_ids_gone().snapshot()), "KFX401").cause.text == "broker 4 may no longer exist, see KFX105"
    )


def test_four_hundred_partitions_are_one_finding() -> None:
    diagnosis = diagnose(Paper(range(1, 4)).offsets(50).topic("big", 400).kill(3).snapshot())
    assert heads(diagnosis) == ["KFX401:broker 3"]
    [child] = diagnosis.findings[0].folded
    assert child.key == "KFX302:without broker 3"
    assert len(child.partitions) == 450


def test_more_than_twenty_leaderless_partitions_are_one_finding_with_all_of_them() -> None:
    from tests.unit.diagnostics.clusters import partitions_stuck

    diagnosis = diagnose(partitions_stuck(64).snapshot())
    finding = find(diagnosis, "KFX102")
    assert finding.obj == "topic orders"
    assert len(finding.partitions) == 64


@pytest.mark.parametrize(
    "step",
    [
        lambda: base().kill(3, 2),
        lambda: base().kill(3, 40),
        lambda: base().kill(3, 40).back(3, 1),
        lambda: base().kill(3, 60).back(3, 20, in_sync=True),
        lambda: base().kill(3, 60).back(3, 40, in_sync=True).kill(2, 5),
        lambda: base().kill(3, 90).back(3, 60, in_sync=True).kill(2, 30).back(2, 3),
    ],
)
def test_a_clean_rolling_restart_is_no_alarm(step: Callable[[], Paper]) -> None:
    diagnosis = diagnose(step().snapshot())
    assert diagnosis.worst in {None, Severity.INFO}
    assert exit_code(diagnosis) == 0


def test_a_broker_that_stays_away_becomes_an_alarm() -> None:
    assert diagnose(base().kill(3, 130).snapshot()).worst is Severity.WARNING


def test_a_follower_that_is_slow_for_one_leader_only_points_to_their_link() -> None:
    paper = base()
    for p in range(12):
        part = paper.part("orders", p)
        if part.leader == 1:
            part.isr, part.age = (1, 2), 900.0
    finding = find(diagnose(paper.snapshot()), "KFX302")
    assert finding.cause.text.startswith("broker 3 is alive but out of sync only with leader 1")


def test_a_hung_broker_that_registered_a_moment_ago_is_the_cause_and_does_not_catch_up() -> None:
    paper = base().kill(2, 60).back(2, 26)
    paper.answering.discard(2)
    paper.silent = {2: "localhost:9092: connection or response timed out"}
    diagnosis = diagnose(paper.snapshot())
    assert heads(diagnosis) == ["KFX402:broker 2"]
    missing = find(diagnosis, "KFX302")
    assert missing.cause.text == "broker 2 does not respond, see KFX402"
    assert "catching up" not in findings_text(diagnosis)
    assert [r.text for r in missing.remedies] == ["Find out why broker 2 does not respond: see KFX402"]


def test_behind_a_cut_network_no_replica_catches_up() -> None:
    # As if every broker had registered within the restart grace.
    diagnosis = diagnose(cut_clusters.controller_link_cut(), criteria=Criteria(restart_grace=10 * DAY))
    assert [f.code for f in diagnosis.findings] == ["KFX802"]
    missing = [f for f in diagnosis.walk() if f.code == "KFX302"]
    assert missing
    assert {f.cause.text for f in missing} == {"the network is cut, see KFX802"}
    assert "just come back" not in findings_text(diagnosis)
    assert "came back" not in findings_text(diagnosis)


def test_a_frozen_broker_whose_session_has_ended_is_ended_before_it_is_started() -> None:
    paper = base().kill(3, 20)
    paper.silent = {3: "localhost:9093: connection or response timed out"}
    diagnosis = diagnose(paper.snapshot())
    head = find(diagnosis, "KFX401")
    assert head.severity is Severity.WARNING  # no restart looks like this
    assert "but it still accepts connections and does not answer" in head.summary
    assert head.cause.text == "broker 3 is frozen, and its session has ended"
    starts = [r.text for f in diagnosis.walk() for r in f.remedies if "tart" in r.text]
    assert starts
    assert all("End the frozen process of broker 3, then start it" in text for text in starts)


def test_a_hung_bootstrap_server_and_a_dead_broker_may_be_one_frozen_broker() -> None:
    paper = base().kill(3)
    paper.failed = {"bootstrap localhost:9093": "localhost:9093: connection or response timed out"}
    first = find(diagnose(paper.snapshot()), "KFX401").remedies[0]
    assert "whether the process of broker 3 still runs: localhost:9093 neither refuses" in first.text


def test_a_hung_controller_is_called_the_controller() -> None:
    paper = on_broker(3, base())
    found = find(diagnose(paper.snapshot()), "KFX402")
    assert "it is the controller, so no leader is elected while it hangs" in found.summary
    assert any("another broker becomes controller" in r.text for r in found.remedies)
    others = find(diagnose(on_broker(2, base()).snapshot()), "KFX402")
    assert "controller" not in others.summary
