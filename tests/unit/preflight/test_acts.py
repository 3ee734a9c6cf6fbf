"""The obstacles to an act, by snapshots on paper."""

import json
import os
from dataclasses import replace

import pytest

from kfix.core.errors import UsageError
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.snapshot import HIDDEN_TOPICS, Assignment, Source, TopicPartition
from kfix.preflight import acts
from kfix.preflight.clients import refused_since_4, requests_of
from kfix.preflight.preflight import preflight_of
from kfix.preflight.upgrading import upgrade
from kfix.preflight.words import act_of
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.kraft_clusters import kraft, lost, quorum

LEDGER = TopicPartition("ledger", 0)
CONFIGS = {broker: {"min.insync.replicas": "1"} for broker in (1, 2, 3)}


def paper(replicas=((1, 2, 3),), *, isr=None, mode=kraft):
    """Partitions of ledger on a cluster of three brokers, without groups."""
    made = mode(base().topic("ledger", len(replicas), replicas=[list(each) for each in replicas]))
    if isr is not None:
        made.parts[LEDGER].isr = isr
    return made


def snapshot(made, **changes):
    settings = {"topic_settings": {}, **changes}
    return replace(made.snapshot(quorum=quorum(**settings), reassignments={}), broker_configs=CONFIGS)


def kinds(act, taken):
    return [(each.kind.value, each.until) for each in preflight_of(act, taken).assessment.obstacles]


def code(act, taken):
    return preflight_of(act, taken).exit_code


def test_a_restart_of_a_healthy_cluster_is_safe():
    taken = snapshot(paper())
    for node in ("broker=1", "controller=100"):
        assert (code(acts.restart(node), taken), kinds(acts.restart(node), taken)) == (0, [])


def test_a_partition_whose_other_replicas_are_behind_waits_for_them():
    assert kinds(acts.restart("broker=1"), snapshot(paper(isr=(1,)))) == [("stops", "brokers 2, 3 are in sync")]


def test_a_dead_broker_has_to_be_started_first():
    made = paper([(1, 2)], isr=(1,))
    made.kill(2)
    [(kind, until)] = [each for each in kinds(acts.restart("broker=1"), snapshot(made)) if "started" in each[1]]
    assert (kind, until) == ("stops", "broker 2 is started, and in sync")


def test_a_single_replica_is_not_waited_for_but_more_are_offered():
    found = preflight_of(acts.restart("broker=2"), snapshot(paper([(2,)]))).assessment.obstacles
    [ledger] = [each for each in found if LEDGER in each.partitions]
    assert (ledger.until, ledger.what) == ("", "ledger-0 would have no leader: there is no other replica")
    assert ledger.next.startswith("kfix runbook plan raise-topic-rf -p topic=ledger -p rf=3")


def test_too_few_in_sync_replicas_wait_only_if_enough_can_return():
    made = paper([(1, 2, 3)], isr=(1, 2))
    made.min_isr = 2
    one = replace(snapshot(made), broker_configs={b: {"min.insync.replicas": "2"} for b in (1, 2, 3)})
    assert kinds(acts.restart("broker=1"), one) == [("min-isr", "broker 3 is in sync")]
    assert kinds(acts.restart("broker=1,2"), one) == [("stops", "broker 3 is in sync"), ("min-isr", "")]


def test_a_controller_is_not_stopped_while_another_one_is_silent():
    taken = snapshot(paper(), ages={101: 600.0})
    assert kinds(acts.stop("controller=102"), taken) == [
        ("quorum", "controller 101 follows the active controller again")
    ]
    assert kinds(acts.stop("controller=101"), taken) == []
    assert kinds(acts.stop("controller=101,102"), taken) == [("quorum", "")]


def test_controllers_whose_last_fetch_is_unknown_make_it_unknown():
    taken = snapshot(paper(), ages={101: -1.0, 102: -1.0})
    found = preflight_of(acts.restart("controller=102"), taken)
    assert (found.exit_code, found.assessment.unknown) == (
        22,
        ("whether controllers 101, 102 follow the active controller",),
    )


def test_without_the_quorum_nothing_is_safe():
    taken = replace(paper().snapshot(quorum=lost()), broker_configs=CONFIGS)
    assert code(acts.restart("broker=1"), taken) in {22, 23}


def test_a_setting_that_was_not_read_makes_it_unknown():
    taken = replace(snapshot(paper()), broker_configs={})
    found = preflight_of(acts.restart("broker=1"), taken)
    assert found.exit_code == 22
    assert any("was not read" in each for each in found.assessment.unknown)


def test_topics_that_are_hidden_from_this_client_make_it_unknown():
    hidden = Source(f"{HIDDEN_TOPICS} 2", ok=False, error="1 topic")
    taken = replace(snapshot(paper()), sources=(hidden,))
    assert code(acts.restart("broker=1"), taken) == 22
    assert code(acts.remove("controller=102"), taken) == 23


@pytest.mark.parametrize("given", ["3", "broker=", "broker=x", "rack=z", "controller=1", "broker=9", "node=1"])
def test_a_node_that_does_not_exist_is_refused(given):
    with pytest.raises(UsageError, match="preflight restart"):
        code(acts.restart(given), snapshot(paper()))


def test_a_broker_with_replicas_is_not_removed():
    found = preflight_of(acts.remove("broker=3"), snapshot(paper())).assessment
    assert [(each.kind.value, each.until) for each in found.obstacles] == [("replicas", "")]
    assert LEDGER in found.obstacles[0].partitions
    assert "shut it down first" in " ".join(found.cautions)


def test_a_voter_is_removed_only_from_a_quorum_that_can_change():
    dynamic = {"metadata.version": 30, "eligible.leader.replicas.version": 1, "kraft.version": 1}
    assert kinds(acts.remove("controller=102"), snapshot(paper(), features=dynamic)) == []
    assert kinds(acts.remove("controller=102"), snapshot(paper())) == [("version", "")]
    silent = snapshot(paper(), features=dynamic, ages={101: 600.0})
    assert kinds(acts.remove("controller=102"), silent) == [("quorum", "they follow it")]
    with pytest.raises(UsageError, match="the voters are 100, 101, 102"):
        kinds(acts.remove("controller=7"), silent)


def moves(tmp_path, **lists):
    """A file of moves; each keyword is the number of a partition of ledger as `p0`."""
    file = tmp_path / "moves.json"
    rows = [{"topic": "ledger", "partition": int(name[1:]), "replicas": each} for name, each in lists.items()]
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    return act_of(f"reassign {file}")


def test_moves_that_kafka_takes_are_safe(tmp_path):
    assert kinds(moves(tmp_path, p0=[3, 2, 1]), snapshot(paper())) == []


def test_moves_that_never_end_or_leave_too_few_replicas_are_unsafe(tmp_path):
    assert kinds(moves(tmp_path, p0=[1, 2, 9], p7=[1]), snapshot(paper())) == [("moves", ""), ("moves", "")]
    lone = paper(isr=())
    lone.parts[LEDGER].leader = -1
    [(kind, until)] = kinds(moves(tmp_path, p0=[2, 3, 1]), snapshot(lone))
    assert (kind, "they have a leader" in until) == ("leaderless", True)
    two = replace(snapshot(paper()), broker_configs={b: {"min.insync.replicas": "2"} for b in (1, 2, 3)})
    old = replace(two, quorum=replace(two.quorum, supported={}, features={"metadata.version": 14}))
    assert ("min-isr", "") in kinds(moves(tmp_path, p0=[1]), old)
    assert ("min-isr", "") not in kinds(moves(tmp_path, p0=[1]), two)


def test_moves_of_a_partition_that_is_moving_wait_for_it(tmp_path):
    made = paper()
    taken = made.snapshot(quorum=quorum(topic_settings={}), reassignments={LEDGER: Assignment((1, 2, 3), (3,), (1,))})
    found = kinds(moves(tmp_path, p0=[3, 2, 1]), replace(taken, broker_configs=CONFIGS))
    assert found == [("moves", "the moves under way are complete")]


def test_an_act_is_given_in_the_words_of_the_command_line():
    assert act_of("restart broker=3").words == "restart broker=3"
    assert act_of("config topic ledger min.insync.replicas=2").words == "config topic ledger min.insync.replicas=2"
    for words in ("", "restart", "dance broker=3", "config topic ledger"):
        with pytest.raises(UsageError, match="restart, stop, remove"):
            act_of(words)


def test_a_higher_minimum_waits_for_replicas_that_are_behind():
    behind = snapshot(paper(isr=(1,)))
    act = acts.config("topic", "ledger", "min.insync.replicas=2")
    assert kinds(act, behind) == [("min-isr", "brokers 2, 3 are in sync")]
    assert kinds(act, snapshot(paper())) == []
    one = preflight_of(acts.config("topic", "ledger", "min.insync.replicas=3"), snapshot(paper()))
    assert (one.exit_code, one.assessment.cautions) == (
        0,
        ("the loss of any replica would stop producers with acks=all",),
    )


def test_setting_a_minimum_forgets_who_may_lead_without_a_loss():
    made = paper(isr=())
    made.parts[LEDGER].leader = -1
    made.kill(1)
    eligible = {LEDGER: EligibleLeaders((1,), (1,))}
    taken = snapshot(made, eligible=eligible)
    act = acts.config("topic", "ledger", "min.insync.replicas=1")
    assert [kind for kind, _ in kinds(act, taken)] == ["eligible"]
    assert [
        kind for kind, _ in kinds(acts.config("topic", "ledger", "unclean.leader.election.enable=true"), taken)
    ] == ["unclean"]


def test_a_setting_that_kfix_does_not_judge_is_unknown():
    assert code(acts.config("topic", "ledger", "retention.ms=1"), snapshot(paper())) == 22
    assert code(acts.config("topic", "ledger", "unclean.leader.election.enable=false"), snapshot(paper())) == 0


@pytest.mark.parametrize(
    "given",
    [
        ("broker", "1", "min.insync.replicas=2"),
        ("topic", "ledger", "min.insync.replicas"),
        ("topic", "ledger", "min.insync.replicas=0"),
        ("topic", "ledger", "unclean.leader.election.enable=yes"),
        ("topic", "nowhere", "min.insync.replicas=2"),
    ],
)
def test_a_setting_that_is_none_is_refused(given):
    with pytest.raises(UsageError, match="preflight config"):
        code(acts.config(*given), snapshot(paper()))


def supported(level, nodes=(1, 2, 3, 100, 101, 102)):
    return dict.fromkeys(nodes, level)


def test_an_upgrade_within_kafka_4_needs_only_safe_restarts():
    taken = snapshot(paper(), supported=supported(30))
    assert (code(upgrade("4.4.0"), taken), kinds(upgrade("4.4.0"), taken)) == (0, [])
    single = snapshot(paper([(2,)]), supported=supported(30))
    [found] = preflight_of(upgrade("4.4.0"), single).assessment.obstacles
    assert found.what.startswith("while broker 2 restarts, ledger-0 would have no leader")


def test_an_upgrade_to_kafka_4_asks_for_what_clients_send(tmp_path):
    old = {"metadata.version": 21}
    taken = snapshot(paper(), supported=supported(21), features=old)
    assert code(upgrade("4.3.1"), taken) == 22
    log = tmp_path / "kafka-request.log"
    line = (
        "[2026-11-27 06:00:0{second},123] DEBUG Completed request:"
        '{{"isForwarded":false,"requestHeader":{{"requestApiKey":{key},"requestApiVersion":{version},"correlationId":7,'
        '"clientId":"{client}","requestApiKeyName":"X"}},"request":{{}}}} (kafka.request.logger)\n'
    )
    log.write_text(
        line.format(second=1, key=1, version=3, client="till")
        + line.format(second=2, key=1, version=11, client="new")
        + line.format(second=3, key=1, version=2, client="broker-1-fetcher-0")
        + "[2026-11-27 06:00:04,000] DEBUG Completed request:RequestHeader(apiKey=LIST_OFFSETS, apiVersion=0, "
        "clientId=old, of 2.7, correlationId=7) -- {replica_id=-1} (kafka.request.logger)\n"
    )
    assert [(each.client, each.api, each.version) for each in refused_since_4(requests_of([log]))] == [
        ("old, of 2.7", "ListOffsets", 0),
        ("till", "Fetch", 3),
    ]
    found = preflight_of(upgrade("4.3.1", [log]), taken)
    assert found.exit_code == 23
    assert found.assessment.obstacles[1].what == "client 'till' sends Fetch version 3, and Kafka 4 takes 4 or later"
    assert "4 requests from 2026-11-27 06:00:01 to 2026-11-27 06:00:04" in " ".join(found.assessment.cautions)


def test_a_pipe_in_the_place_of_a_log_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.log")
    with pytest.raises(UsageError, match=r"pipe\.log"):
        upgrade("4.3.1", [tmp_path / "pipe.log"])


def test_a_log_without_requests_is_refused(tmp_path):
    (tmp_path / "server.log").write_text("[2026-11-27 06:00:01,123] INFO started\n")
    for path in ("server.log", "nowhere.log"):
        with pytest.raises(UsageError, match=path):
            upgrade("4.3.1", [tmp_path / path])


def test_versions_that_cannot_be_reached_are_named():
    old = snapshot(paper(), supported=supported(9), features={"metadata.version": 3})
    assert ("version", "") in kinds(upgrade("4.3.1"), old)
    newer = snapshot(paper(), supported=supported(33), features={"metadata.version": 33})
    assert kinds(upgrade("4.3.1"), newer) == [("version", "")]
    with pytest.raises(UsageError, match="not a version of Kafka"):
        upgrade("latest")


def test_a_migration_is_judged_by_its_phase():
    assert kinds(act_of("migration move"), snapshot(paper())) == [("migration", "")]
    with pytest.raises(UsageError, match="preflight migration 'finnish': one of prepare, move, finish"):
        act_of("migration finnish")


def test_zookeeper_has_to_be_left_before_kafka_4():
    taken = replace(base().topic("ledger", 1, replicas=[[1, 2, 3]]).snapshot(), broker_configs=CONFIGS)
    assert kinds(upgrade("4.3.1"), taken)[0] == ("version", "")
