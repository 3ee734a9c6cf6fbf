"""What every action keeps to, whatever it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from kfix.core.args import ABSENT, ArgKind, Args, ArgValue, coerce
from kfix.core.errors import RefusedError
from kfix.core.snapshot.offsets import LoggedRecord
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.actions.registry import example
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.incidents import STUCK
from kfix.heal.memory.incidents.coordinators import FAILED
from kfix.heal.model.facts import split_key
from kfix.heal.model.plan import CheckCall, Gate, Risk
from kfix.heal.probes.configs import COMPACTION
from kfix.heal.probes.facts import FactReader, read_facts
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.probes.registry import ask
from tests.each import for_each
from tests.unit.heal.actions.acting import (
    ON_TP,
    RATES,
    TOPIC_LISTS,
    carry_out,
    dead_isr,
    four_brokers,
    moving,
    progress,
)


class Sample(NamedTuple):
    cluster: Callable[[], MemoryCluster]
    args: Mapping[str, ArgValue]
    at_once: bool = True


def _of_two_replicas() -> MemoryCluster:
    return INCIDENTS["coordinator-stuck-of-two-replicas"]().cluster


def _stuck() -> MemoryCluster:
    return INCIDENTS["coordinator-stuck-preferred-alive"]().cluster


def _held() -> MemoryCluster:
    return INCIDENTS["rebalance-held-by-a-static-member"]().cluster


def _throttled() -> MemoryCluster:
    cluster = four_brokers()
    cluster.alter_configs(ResourceKind.BROKER, "2", dict.fromkeys(RATES, "1000"))
    cluster.alter_configs(ResourceKind.TOPIC, "orders", dict.fromkeys(TOPIC_LISTS, "0:1"))
    cluster.faults.calls.clear()
    return cluster


def _slow() -> MemoryCluster:
    cluster = four_brokers()
    cluster.copy_seconds = 60.0
    return cluster


def _ghost() -> MemoryCluster:
    return INCIDENTS["ghost-registration"]().cluster


def _failed() -> MemoryCluster:
    return INCIDENTS["coordinator-failed"]().cluster


def _without_majority() -> MemoryCluster:
    return INCIDENTS["quorum-majority-lost"]().cluster


def _in_transaction() -> MemoryCluster:
    return INCIDENTS["open-transaction"]().cluster


def _hanging() -> MemoryCluster:
    return INCIDENTS["transaction-marker-lost"]().cluster


_SEEN = _hanging().hanging(TopicPartition("orders", 0))
assert _SEEN is not None
ENDED: Mapping[str, ArgValue] = {"partition": "orders-0", "outcome": "commit", "hanging": _SEEN.text}
_TRANSACTION = _in_transaction().transactions["ledger-writer"]
ABORTED: Mapping[str, ArgValue] = {
    "transactional_id": _TRANSACTION.transactional_id,
    "producer": _TRANSACTION.producer,
    "producer_epoch": _TRANSACTION.epoch,
    "since_ms": _TRANSACTION.started_ms,
    "timeout_ms": _TRANSACTION.timeout_ms,
}
OFFSETS_TOPIC, ON_FAILED = FAILED.topic, {"partition": str(FAILED)}
ON_STUCK: Mapping[str, ArgValue] = {"partition": str(STUCK)}
TOPIC: Mapping[str, ArgValue] = {"kind": "topic", "name": "orders"}
BROKER: Mapping[str, ArgValue] = {"kind": "broker", "name": "2"}
SKIPPED = LoggedRecord(TopicPartition("orders", 0), 33, 0, 0, False, None, b"orders-0@33")
SAMPLES: Mapping[str, Sample] = {
    "compaction.hasten": Sample(_failed, {"topic": OFFSETS_TOPIC}),
    "compaction.restore": Sample(
        _failed, {"topic": OFFSETS_TOPIC, **dict.fromkeys(COMPACTION, ABSENT), "segment_ms": "5000"}
    ),
    "retention.hold": Sample(four_brokers, {"topic": "orders"}),
    "retention.restore": Sample(four_brokers, {"topic": "orders", "retention_ms": "60000", "retention_bytes": ABSENT}),
    "config.set": Sample(four_brokers, {**TOPIC, "key": "min.insync.replicas", "value": "2"}),
    "controller.reelect": Sample(four_brokers, {}),
    "group.evict": Sample(_held, {"group": "payments", "member": "slow-1"}),
    "leader.elect_isr": Sample(_of_two_replicas, ON_STUCK),
    "leader.elect_preferred": Sample(_stuck, ON_STUCK),
    "leader.elect_unclean": Sample(dead_isr, {**ON_TP, "max_loss": -1}),
    "metadata_log.write": Sample(
        _without_majority,
        {"copies": "/disks/102,/disks/1", "into": "/disks/new", "node": 102, "lost": "100,101", "unread": ""},
    ),
    "metadata_version.raise": Sample(lambda: INCIDENTS["metadata-version-behind"]().cluster, {"version": "4.4.0"}),
    "node.restart": Sample(lambda: INCIDENTS["restartable"]().cluster, {"role": "broker", "node": 3, "others": (1, 2)}),
    "node.upgrade": Sample(
        lambda: INCIDENTS["restartable-kraft"]().cluster,
        {"role": "broker", "node": 3, "others": (1, 2), "version": "4.4.0"},
    ),
    "offsets.commit": Sample(four_brokers, {"group": "g", "topic": "orders", "offsets": '{"0":"5@1 note","1":"7"}'}),
    "offsets.skip": Sample(
        lambda: INCIDENTS["group-falls-behind"]().cluster,
        {"group": "mailer", "partition": "orders-0", "offset": 33, "sha256": SKIPPED.sha256},
    ),
    "offsets.roll": Sample(_failed, {**ON_FAILED, "number": 1}),
    "offsets.tombstone": Sample(_failed, ON_FAILED),
    "reassign.cancel": Sample(lambda: moving(1, 2, 4), ON_TP),
    "reassign.move": Sample(_slow, {**ON_TP, "replicas": (1, 2, 3, 4)}, at_once=False),
    "reassign.noop": Sample(_stuck, ON_STUCK),
    "reassign.reorder": Sample(four_brokers, {**ON_TP, "first": "other-in-sync"}),
    "throttle.rate": Sample(_throttled, {"broker": 3, "rate": 5000}),
    "throttle.remove": Sample(_throttled, BROKER),
    "throttle.replicas": Sample(_throttled, {"topic": "orders", "leaders": "0:2", "followers": "0:3"}),
    "broker.unregister": Sample(_ghost, {"broker": 4, "dead_for": 120.0}),
    "voter.add": Sample(lambda: INCIDENTS["voter-wrong-directory-removed"]().cluster, {"node": 102}),
    "voter.remove": Sample(lambda: INCIDENTS["voter-wrong-directory"]().cluster, {"node": 102}),
    "transaction.abort": Sample(_in_transaction, ABORTED),
    "transaction.end": Sample(_hanging, ENDED),
    "throttle.restore": Sample(_throttled, {**TOPIC, "leader": ABSENT, "follower": "0:3"}),
}
IDLE = ("manual", "wait")
names = for_each("name", sorted(SAMPLES))


def _frozen(name: str) -> tuple[MemoryCluster, Args]:
    cluster = SAMPLES[name].cluster()
    return cluster, ACTIONS[name].freeze(Args(SAMPLES[name].args), FactReader(cluster))


def test_every_action_has_a_sample() -> None:
    assert {*SAMPLES, *IDLE, "manual.bring_back", "manual.restart", "manual.upgrade"} == ACTIONS.keys()


def _fits(kinds: Mapping[str, ArgKind], args: Args) -> None:
    assert set(args) == set(kinds)
    for name, kind in kinds.items():
        assert coerce(kind, args[name]) == args[name]


def _is_whole(call: CheckCall) -> None:
    probe = PROBES[call.check]
    _fits({**probe.params, **probe.optional}, call.args)


@names
def test_a_frozen_step_is_literal_and_names_only_facts_and_checks_that_exist(name: str) -> None:
    _, args = _frozen(name)
    action = ACTIONS[name]
    _fits(action.kinds, args)
    assert all(split_key(key) for key in (*action.reads(args), *action.writes(args)))
    assert len(set(action.reads(args))) == len(action.reads(args))
    for call in (*action.guards(args), *action.proves(args), *action.hopeless(args)):
        _is_whole(call)


@names
def test_to_freeze_changes_nothing_and_the_plan_waits_for_no_one(name: str) -> None:
    cluster, args = _frozen(name)
    assert not cluster.faults.calls
    assert ACTIONS[name].freeze(Args(SAMPLES[name].args), FactReader(cluster)) == args


@names
def test_what_is_shown_is_a_function_of_the_arguments(name: str) -> None:
    _, args = _frozen(name)
    action = ACTIONS[name]
    assert action.preview(args) == action.preview(Args(dict(args)))
    shown = action.preview(args)
    assert all((shown.what, shown.target, shown.live, shown.command))
    assert "\n" not in shown.what
    assert (action.risk_for(args) is Risk.DATA_LOSS) <= (not shown.estimate.max_loss.startswith("none"))


@names
def test_the_change_is_one_call_its_progress_is_seen_and_its_proof_holds(name: str) -> None:
    cluster, args = _frozen(name)
    far = progress(name, args, cluster)
    assert far() is ActionStatus.NOT_STARTED
    assert carry_out(name, args, cluster).accepted
    assert far() is (ActionStatus.DONE if SAMPLES[name].at_once else ActionStatus.IN_PROGRESS)
    cluster.advance(120)
    assert far() is ActionStatus.DONE
    proofs = ACTIONS[name].proves(args)
    assert proofs
    assert all(ask(call, cluster).passed for call in proofs), [ask(call, cluster) for call in proofs]


@names
def test_progress_is_unknown_where_the_cluster_cannot_be_read(name: str) -> None:
    cluster, args = _frozen(name)
    before = read_facts(cluster, ACTIONS[name].reads(args))
    sources = ("zookeeper", "quorum", "reassignments", "configs", "partition", "group", "key_left", "metadata_copies")
    cluster.faults.unreadable |= dict.fromkeys(sources, "gone")
    assert ACTIONS[name].probe(args, before, cluster) is ActionStatus.UNKNOWN


@names
def test_an_undo_is_a_whole_step_of_a_known_action(name: str) -> None:
    _, args = _frozen(name)
    inverse = ACTIONS[name].inverse(args)
    assert inverse.text
    assert inverse.reversible is (inverse.undo is not None)
    if inverse.undo is not None:
        action = ACTIONS[inverse.undo.action]
        _fits(action.kinds, inverse.undo.args)
        assert action.preview(inverse.undo.args).what
        for call in (*action.guards(inverse.undo.args), *action.proves(inverse.undo.args)):
            _is_whole(call)


@pytest.mark.parametrize("name", IDLE)
def test_what_changes_nothing_reads_nothing_and_cannot_be_carried_out(name: str) -> None:
    action, cluster = ACTIONS[name], four_brokers()
    args = action.freeze(Args({"do": "start broker 1\nthen look"} if action.params else {}), FactReader(cluster))
    assert not action.changes
    assert action.risk is Risk.NOTHING
    assert action.reads(args) == action.writes(args) == ()
    assert action.preview(args).command.startswith("# ")
    assert "\n#" in action.preview(args).command or name == "wait"
    assert not action.inverse(args).reversible
    assert action.probe(args, {}, cluster) is (ActionStatus.DONE if name == "wait" else ActionStatus.UNKNOWN)
    with pytest.raises(TypeError):
        action.apply(args, cluster)
    assert not cluster.faults.calls


def test_only_what_changes_nothing_or_takes_an_own_throttle_back_passes_unasked() -> None:
    assert {name for name, action in ACTIONS.items() if action.gate_floor is Gate.AUTO} == {
        "wait",
        "throttle.restore",
        "compaction.restore",
        "retention.restore",
    }


@for_each("name", sorted(ACTIONS))
def test_every_action_can_be_described_by_example(name: str) -> None:
    action = ACTIONS[name]
    assert action.summary
    assert action.inverse(example(action)).text
    assert action.preview(example(action)).command


@for_each("name", ["config.set", "throttle.remove", "throttle.restore"])
@for_each(("kind", "target"), [("group", "g"), ("broker", "one"), ("topic", "a/b")])
def test_what_is_no_topic_and_no_broker_is_refused(name: str, kind: str, target: str) -> None:
    rest = {"key": "retention.ms", "value": "1", "leader": ABSENT, "follower": ABSENT}
    args = Args({**rest, "kind": kind, "name": target})
    with pytest.raises(RefusedError, match=r"only a topic or a broker|is no broker id|is no topic"):
        ACTIONS[name].freeze(args, FactReader(four_brokers()))
