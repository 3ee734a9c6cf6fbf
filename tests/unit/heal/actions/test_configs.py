"""Throttles and configuration: what is set, what it is called, and that everything comes back exactly."""

from __future__ import annotations

import pytest

from kfix.core.args import ABSENT
from kfix.core.errors import RefusedError, UnreachableError
from kfix.core.snapshot.reading import ConfigValue, ResourceKind
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.durability import RULES, gate_of, stake
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.actions.throttles import union
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.model.plan import Gate, Risk
from tests.each import for_each
from tests.unit.heal.actions.acting import (
    RATES,
    TOPIC_LISTS,
    carry_out,
    four_brokers,
    freeze,
    guards_pass,
    moving,
    progress,
    proved,
    take_back,
    undo_of,
)

TOPIC, BROKER = ResourceKind.TOPIC, ResourceKind.BROKER
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"


def own(cluster: MemoryCluster, kind: ResourceKind, name: str, *keys: str) -> list[str | None]:
    found = cluster.configs(kind, name, keys)
    return [found[key].value if key in found and found[key].own else None for key in keys]


# -- throttles


@pytest.mark.parametrize("before", [{}, {RATES[0]: "700"}, {RATES[0]: "700", RATES[1]: "900"}])
def test_a_rate_is_set_and_put_back_exactly(before: dict[str, str]) -> None:
    cluster = four_brokers()
    cluster.alter_configs(BROKER, "2", before)
    was = own(cluster, BROKER, "2", *RATES)
    args = freeze("throttle.rate", cluster, broker=2, rate=5_000_000)
    carry_out("throttle.rate", args, cluster)
    assert own(cluster, BROKER, "2", *RATES) == ["5000000", "5000000"]
    assert proved("throttle.rate", args, cluster)
    take_back("throttle.rate", args, cluster)
    assert own(cluster, BROKER, "2", *RATES) == was
    undo = undo_of("throttle.rate", args)[1]
    assert proved(undo.action, undo.args, cluster)


def test_a_rate_shows_what_it_was() -> None:
    cluster = four_brokers()
    assert ACTIONS["throttle.rate"].preview(freeze("throttle.rate", cluster, broker=2, rate=5_000_000)).what == (
        "throttle replication of broker 2 to 5 MB/s (was none)"
    )
    cluster.alter_configs(BROKER, "2", {RATES[0]: "700"})
    shown = ACTIONS["throttle.rate"].preview(freeze("throttle.rate", cluster, broker=2, rate=5_000_000))
    assert shown.what.endswith("(was leader 700 bytes/s, follower none)")


def test_a_dead_broker_is_not_throttled_and_a_rate_of_zero_is_refused() -> None:
    cluster = four_brokers()
    args = freeze("throttle.rate", cluster, broker=2, rate=1000)
    cluster.kill(2)
    assert not guards_pass("throttle.rate", args, cluster)
    with pytest.raises(RefusedError, match="KAFKA-13392"):
        freeze("throttle.rate", cluster, broker=2, rate=1000)
    with pytest.raises(RefusedError, match="stops replication"):
        freeze("throttle.rate", cluster, broker=1, rate=0)


def test_a_rate_that_is_set_already_is_of_no_use_and_one_set_by_others_meanwhile_is_unknown() -> None:
    cluster = four_brokers()
    args = freeze("throttle.rate", cluster, broker=2, rate=1000)
    far = progress("throttle.rate", args, cluster)
    cluster.alter_configs(BROKER, "2", {RATES[0]: "1000"})
    assert far() is ActionStatus.UNKNOWN
    cluster.alter_configs(BROKER, "2", {RATES[1]: "1000"})
    assert far() is ActionStatus.DONE
    with pytest.raises(NotApplicable, match="already"):
        freeze("throttle.rate", cluster, broker=2, rate=1000)


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        (ABSENT, "0:1", "0:1"),
        ("", "0:1", "0:1"),
        ("0:1,1:2", "1:2,0:3", "0:1,1:2,0:3"),
        ("*", "0:1", "*"),
        ("0:1", "*", "*"),
    ],
)
def test_no_other_throttle_is_narrowed(before: str, wanted: str, after: str) -> None:
    assert union(before, wanted) == after


def test_throttled_replicas_are_added_to_those_that_are_there_and_put_back() -> None:
    cluster = four_brokers()
    cluster.alter_configs(TOPIC, "orders", {TOPIC_LISTS[1]: "1:4"})
    args = freeze("throttle.replicas", cluster, topic="orders", leaders="0:1", followers="0:4")
    shown = ACTIONS["throttle.replicas"].preview(args)
    assert shown.what == (
        "throttled replicas of orders: leaders 1 replica, followers 2 replicas (was leaders none, followers 1 replica)"
    )
    assert "follower.replication.throttled.replicas=[1:4,0:4]" in shown.command
    carry_out("throttle.replicas", args, cluster)
    assert own(cluster, TOPIC, "orders", *TOPIC_LISTS) == ["0:1", "1:4,0:4"]
    with pytest.raises(NotApplicable, match="already"):
        freeze("throttle.replicas", cluster, topic="orders", leaders="0:1", followers="1:4")
    take_back("throttle.replicas", args, cluster)
    assert own(cluster, TOPIC, "orders", *TOPIC_LISTS) == [None, "1:4"]


@pytest.mark.parametrize("text", ["", "0", "0:1;", "a:b", "0:1, 1:2"])
def test_what_is_no_list_of_replicas_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="is neither a list such as"):
        freeze("throttle.replicas", four_brokers(), topic="orders", leaders=text, followers="0:1")


def test_a_left_over_throttle_is_taken_away_and_put_back() -> None:
    cluster = four_brokers()
    cluster.alter_configs(BROKER, "2", {RATES[0]: "700"})
    args = freeze("throttle.remove", cluster, kind="broker", name="2")
    assert ACTIONS["throttle.remove"].preview(args).what == (
        "remove the replication throttles of broker 2: leader 700 bytes/s, follower none"
    )
    carry_out("throttle.remove", args, cluster)
    assert own(cluster, BROKER, "2", *RATES) == [None, None]
    assert proved("throttle.remove", args, cluster)
    take_back("throttle.remove", args, cluster)
    assert own(cluster, BROKER, "2", *RATES) == ["700", None]
    with pytest.raises(NotApplicable, match="has no replication throttle"):
        freeze("throttle.remove", cluster, kind="topic", name="orders")


def test_while_something_moves_a_throttle_is_no_left_over() -> None:
    cluster = moving(1, 2, 4)
    cluster.alter_configs(TOPIC, "orders", {TOPIC_LISTS[0]: "*"})
    args = freeze("throttle.remove", cluster, kind="topic", name="orders")
    assert not guards_pass("throttle.remove", args, cluster)
    cluster.advance(120)
    assert guards_pass("throttle.remove", args, cluster)


def test_a_restore_is_planned_before_there_is_anything_to_restore() -> None:
    cluster = four_brokers()
    args = freeze("throttle.restore", cluster, kind="topic", name="orders", leader=ABSENT, follower="0:1")
    assert ACTIONS["throttle.restore"].preview(args).what == (
        "restore the replication throttles of topic orders: leader none, follower 0:1"
    )
    carry_out("throttle.restore", args, cluster)
    assert own(cluster, TOPIC, "orders", *TOPIC_LISTS) == [None, "0:1"]


# -- config.set


def test_a_key_is_set_and_taken_away_again_where_there_was_none() -> None:
    cluster = four_brokers()
    args = freeze("config.set", cluster, kind="topic", name="orders", key=MIN_ISR, value="2", expect="1")
    assert (args.text("before"), args.text("effective")) == (ABSENT, "1")
    shown = ACTIONS["config.set"].preview(args)
    assert shown.what == "topic orders: min.insync.replicas 1 (a default) -> 2"
    assert (shown.target, shown.live) == ("topic orders", "min.insync.replicas was 1")
    carry_out("config.set", args, cluster)
    assert own(cluster, TOPIC, "orders", MIN_ISR) == ["2"]
    _, undo = undo_of("config.set", args)
    assert "its default" in ACTIONS["config.set"].preview(undo.args).what
    assert ACTIONS["config.set"].gate_for(undo.args) is Gate.TYPED
    take_back("config.set", args, cluster)
    assert own(cluster, TOPIC, "orders", MIN_ISR) == [None]


def test_what_was_set_before_is_set_again() -> None:
    cluster = four_brokers()
    cluster.alter_configs(TOPIC, "orders", {"retention.ms": "1000"})
    args = freeze("config.set", cluster, kind="topic", name="orders", key="retention.ms", value=ABSENT)
    carry_out("config.set", args, cluster)
    assert own(cluster, TOPIC, "orders", "retention.ms") == [None]
    take_back("config.set", args, cluster)
    assert own(cluster, TOPIC, "orders", "retention.ms") == ["1000"]


def test_another_value_than_expected_is_refused_and_both_are_named() -> None:
    cluster = four_brokers()
    wish = {"kind": "topic", "name": "orders", "key": MIN_ISR, "value": "2"}
    with pytest.raises(RefusedError, match=r"min\.insync\.replicas is 1, expected 3"):
        freeze("config.set", cluster, **wish, expect="3")
    assert freeze("config.set", cluster, **wish, expect=ABSENT).text("before") == ABSENT
    cluster.alter_configs(TOPIC, "orders", {MIN_ISR: "3"})
    with pytest.raises(RefusedError, match=r"is 3, expected \(absent\)"):
        freeze("config.set", cluster, **wish, expect=ABSENT)


def test_what_is_set_already_is_not_set_again_even_where_a_default_is_the_same() -> None:
    cluster = four_brokers()
    wish = {"kind": "topic", "name": "orders", "key": MIN_ISR, "value": "1"}
    assert freeze("config.set", cluster, **wish).text("before") == ABSENT
    cluster.alter_configs(TOPIC, "orders", {MIN_ISR: "1"})
    with pytest.raises(NotApplicable, match=r"already sets min\.insync\.replicas 1"):
        freeze("config.set", cluster, **wish)
    with pytest.raises(NotApplicable, match="is not set"):
        freeze("config.set", cluster, kind="topic", name="orders", key="retention.ms", value=ABSENT)


@pytest.mark.parametrize("key", ["", "A B", "min.insync.replicas=1", "retention.ms/x"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(RefusedError, match="is not a configuration key"):
        freeze("config.set", four_brokers(), kind="topic", name="orders", key=key, value="1")


def test_a_value_that_kafka_hides_is_never_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = four_brokers()
    hidden = {"ssl.keystore.password": ConfigValue(None, own=True)}
    monkeypatch.setattr(cluster, "configs", lambda *_: hidden)
    with pytest.raises(UnreachableError, match="does not show its value"):
        freeze("config.set", cluster, kind="broker", name="2", key="ssl.keystore.password", value="x")


@for_each(
    ("key", "old", "new", "gate"),
    [
        (MIN_ISR, "1", "2", Gate.STEP),
        (MIN_ISR, "2", "1", Gate.TYPED),
        (MIN_ISR, "2", ABSENT, Gate.TYPED),
        (MIN_ISR, ABSENT, "2", Gate.TYPED),
        (UNCLEAN, "true", "false", Gate.STEP),
        (UNCLEAN, "false", "true", Gate.TYPED),
        (UNCLEAN, "true", ABSENT, Gate.TYPED),
        ("retention.ms", "1000", "2000", Gate.STEP),
        ("retention.ms", "1000", "-1", Gate.STEP),
        ("retention.ms", "-1", "1000", Gate.TYPED),
        ("retention.bytes", "2000", "1000", Gate.TYPED),
        ("cleanup.policy", "delete", "compact", Gate.TYPED),
        ("cleanup.policy", "compact", "delete", Gate.TYPED),
        ("compression.type", "producer", "gzip", Gate.PLAN),
    ],
)
def test_the_gate_is_as_high_as_what_is_at_stake(key: str, old: str, new: str, gate: Gate) -> None:
    assert gate_of(key, old, new) is gate
    assert stake(key, old, new).startswith("none") is (gate is not Gate.TYPED)


def test_every_rule_has_a_reason_that_is_not_none() -> None:
    assert all(rule.why and not rule.why.startswith("none") for rule in RULES.values())


def test_the_radius_is_that_of_the_resource() -> None:
    cluster, action = four_brokers(), ACTIONS["config.set"]
    wish = {"key": "compression.type", "value": "gzip"}
    assert action.risk_for(freeze("config.set", cluster, kind="topic", name="orders", **wish)) is Risk.ONE_TOPIC
    args = freeze("config.set", cluster, kind="broker", name="2", **wish)
    assert action.risk_for(args) is Risk.ONE_BROKER
    assert guards_pass("config.set", args, cluster)
    cluster.kill(2)
    assert not guards_pass("config.set", args, cluster)
