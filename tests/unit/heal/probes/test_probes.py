"""Every probe passes, fails and does not know; what it saw is told in words an operator understands."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kfix.core.args import Args, ArgValue
from kfix.core.errors import RefusedError
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.kraft import MemoryKraftCluster
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.facts import split_key
from kfix.heal.model.plan import CheckCall
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ALL as PROBES
from kfix.heal.probes.registry import ask
from tests.each import for_each
from tests.unit.heal.actions.acting import ON_TP, TP, dead_isr, four_brokers
from tests.unit.heal.probes.cases import ARGS, CASES, UNCLEAN, stuck_with_a_dead_isr

#: On ZooKeeper these have nothing to ask for.
ON_KRAFT = {"elr_not_needed", "every_partition_led", "no_unclean_at_start"}


def asked(check: str, cluster: MemoryCluster, /, **args: ArgValue) -> Answer:
    return ask(CheckCall(check, Args(args)), cluster)


def on_tp(check: str, cluster: MemoryCluster, /, **args: ArgValue) -> Answer:
    return asked(check, cluster, **{**ON_TP, **args})


@for_each(("check", "build", "args", "verdict", "observed"), CASES)
def test_what_a_probe_sees(
    check: str, build: Callable[[], MemoryCluster], args: Mapping[str, ArgValue], verdict: str, observed: str
) -> None:
    answer = ask(CheckCall(check, Args(args)), build())
    assert answer.verdict == verdict, answer
    assert observed in answer.observed
    assert answer.wanted


def test_every_probe_of_the_house_is_asked_here() -> None:
    assert ARGS.keys() == PROBES.keys()


@for_each("name", sorted(PROBES))
def test_nothing_readable_is_inconclusive(name: str) -> None:
    cluster = MemoryKraftCluster.healthy(topics={TP.topic: 1}) if name in ON_KRAFT else four_brokers()
    sources = (
        "zookeeper",
        "quorum",
        "every_partition",
        "reassignments",
        "log_ends",
        "log_tails",
        "log_dirs",
        "configs",
        "assignments",
        "metadata_copies",
    )
    cluster.faults.unreadable |= dict.fromkeys(sources, "gone")
    for broker in cluster.brokers:
        cluster.silence(broker)
    answer = ask(CheckCall(name, Args(ARGS[name])), cluster)
    assert answer.verdict is Verdict.INCONCLUSIVE, answer
    assert answer.observed


@for_each("name", sorted(PROBES))
def test_what_a_probe_rests_on_are_facts_and_its_arguments_are_whole(name: str) -> None:
    probe, args = PROBES[name], Args(ARGS[name])
    assert set(args) == {*probe.params, *probe.optional}
    assert all(split_key(key) for key in probe.reads(args))
    assert probe.freeze(args, FactReader(four_brokers())) == args


@pytest.mark.parametrize("hurt", ["default", "unread"])
def test_an_unclean_election_may_be_allowed_by_any_broker_that_may_become_the_controller(hurt: str) -> None:
    cluster = stuck_with_a_dead_isr(unclean=False)
    if hurt == "default":
        cluster.alter_configs(ResourceKind.BROKER, "2", {UNCLEAN: "true"})
    else:
        cluster.faults.unreadable["configs"] = "gone"
    verdict = Verdict.FAIL if hurt == "default" else Verdict.INCONCLUSIVE
    assert asked("reelection_is_safe", cluster).verdict is verdict


@pytest.mark.parametrize("isr", [(4,), ()])
def test_a_working_leader_whose_isr_is_dead_in_zookeeper_would_be_lost(isr: tuple[int, ...]) -> None:
    cluster = four_brokers()
    cluster.records.write_state(TP, 4, 9, isr)
    cluster.brokers[4].alive = False
    answer = asked("reelection_is_safe", cluster)
    assert answer.verdict is Verdict.FAIL
    assert f"brokers follow [1], ZooKeeper's ISR {list(isr)} is dead: it would lose its leader" in answer.observed


def test_a_controller_that_does_not_list_its_moves_leaves_an_assignment_unproved() -> None:
    cluster = four_brokers()
    cluster.faults.unreadable["reassignments"] = "gone"
    assert on_tp("assignment_is", cluster, replicas=(1, 2, 3)).verdict is Verdict.INCONCLUSIVE


def test_a_demand_that_cannot_be_read_is_not_met() -> None:
    cluster = four_brokers()
    cluster.faults.unreadable["configs"] = "gone"
    assert on_tp("min_isr_satisfied", cluster).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("hurt", ["silent", "epoch"])
def test_a_log_whose_end_or_epoch_is_not_told_is_not_known(hurt: str) -> None:
    cluster = dead_isr()
    if hurt == "silent":
        cluster.silence(3)
    else:
        cluster.logs.epochs[TP][3] = -1
    answer = on_tp("log_tails_known", cluster)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert ("no answer" if hurt == "silent" else "last epoch unknown") in answer.observed


@pytest.mark.parametrize("check", ["config_is", "throttles_are", "no_throttles"])
def test_a_resource_that_is_neither_topic_nor_broker_is_refused_while_planning(check: str) -> None:
    args = Args({**ARGS[check], "kind": "group"})
    with pytest.raises(RefusedError, match="only a topic or a broker"):
        PROBES[check].freeze(args, FactReader(four_brokers()))


def test_a_list_of_own_partitions_is_read_while_planning() -> None:
    with pytest.raises(RefusedError, match="'orders,' is not a partition"):
        PROBES["no_foreign_reassignment"].freeze(Args({"partitions": "orders, x-1"}), FactReader(four_brokers()))
