"""Facts about moves, sizes and configuration: read once a look, and never guessed."""

from __future__ import annotations

import pytest

from kfix.core.errors import UnreachableError
from kfix.core.snapshot.reading import ConfigValue, ResourceKind
from kfix.heal.model.facts import about, about_config, about_effective, split_key
from kfix.heal.probes.facts import FactReader, read_facts
from tests.unit.heal.actions.acting import TP, four_brokers, moving

TOPIC = ResourceKind.TOPIC


def test_a_move_is_told_by_three_facts_and_one_question() -> None:
    cluster = moving(1, 2, 4)
    keys = about(TP, "reassigning", "adding", "removing")
    assert [fact.value for fact in read_facts(cluster, keys).values()] == [(1, 2, 4, 3), (4,), (3,)]
    assert cluster.faults.reads.count("reassignments") == 1
    still = four_brokers()
    assert [fact.value for fact in read_facts(still, keys).values()] == [None, None, None]


def test_own_and_effective_values_are_two_facts() -> None:
    cluster = four_brokers()
    (own,) = about_config(TOPIC, "orders", "min.insync.replicas")
    (effective,) = about_effective(TOPIC, "orders", "min.insync.replicas")
    assert (split_key(own).own, split_key(effective).own) == (True, False)
    found = read_facts(cluster, (own, effective))
    assert (found[own].value, found[effective].value) == (None, "1")
    cluster.alter_configs(TOPIC, "orders", {"min.insync.replicas": "2"})
    found = read_facts(cluster, (own, effective))
    assert (found[own].value, found[effective].value) == ("2", "2")


@pytest.mark.parametrize("key", ["effective:topic/orders", "config:group/g/k", "effective:topic//k", "other:topic/a/b"])
def test_what_is_no_fact_is_told(key: str) -> None:
    with pytest.raises(ValueError, match=r"there is no fact|is not a partition"):
        split_key(key)


def test_a_hidden_own_value_is_unknown_and_never_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = four_brokers()
    (own,) = about_config(TOPIC, "orders", "secret")
    monkeypatch.setattr(cluster, "configs", lambda *_: {"secret": ConfigValue(None, own=True)})
    with pytest.raises(UnreachableError, match="does not show its value"):
        read_facts(cluster, (own,))


def test_a_size_is_the_leaders_else_any_live_ones_and_each_broker_is_asked_once() -> None:
    cluster = four_brokers()
    (key,) = about(TP, "replica_bytes")
    fact = read_facts(cluster, (key,))[key]
    assert (fact.value, fact.source) == (10_000, "log directories of broker 1")
    cluster.silence(1)
    read = FactReader(cluster)
    assert read(key).source == "log directories of broker 2"
    asked = cluster.faults.reads.count("log_dirs")
    with pytest.raises(UnreachableError):
        read.reader.log_dirs(1)
    assert cluster.faults.reads.count("log_dirs") == asked
    for broker in (2, 3):
        cluster.kill(broker)
    assert read_facts(cluster, (key,))[key].value is None
