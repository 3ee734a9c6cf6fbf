"""A2 on real brokers: internal topics with one replica are raised for good, or the broker to start is named."""

from collections import Counter

import pytest

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.kafka.group_messages import find_transaction_coordinator
from tests.cluster.seen import alive, throttles
from tests.waiting import wait_until


def each_group_has_offsets(cluster, groups):
    """Every group finds its coordinator and reads what it has committed."""

    def found(group):
        [(error, broker), *others] = cluster.coordinators(group)
        return not others and error == 0 and cluster.fetched(group, broker) == groups[group]

    for group in groups:
        wait_until(lambda each=group: found(each), f"group {group} reads its offsets", 20)


def groups_of(operator, cluster):
    """{group: its answer to OffsetFetch} of one group in each offsets partition."""
    path = operator.folder / "probes.json"
    operator.on("snapshot", "save", path, "--overwrite")
    import json

    found = {probe["partition"]: probe["group"] for probe in json.loads(path.read_text())["probes"]}
    [(_, broker)] = cluster.coordinators(found[0])
    assert broker >= 0
    return {group: cluster.fetched(group, next(iter(cluster.coordinators(group)))[1]) for group in found.values()}


def is_spread(cluster, topic):
    assignment = cluster.access.assignment(topic)
    rack_of = cluster.access.metadata(next(iter(cluster.access.live_ids()))).racks
    for number, replicas in assignment.items():
        assert len({rack_of[b] for b in replicas}) == len(replicas) == 3
        wait_until(lambda n=number: set(cluster.access.state(topic, n).isr) == set(assignment[n]), "the isr is full")
    first = Counter(replicas[0] for replicas in assignment.values())
    assert set(first) <= set(cluster.lab.broker_ids)
    counts = [first[b] for b in cluster.lab.broker_ids]
    assert max(counts) - min(counts) <= 1, first


def test_offsets_with_one_replica_are_raised_to_three_and_a_death_stops_nobody(operator, cluster):
    cluster.lab.break_("offsets-rf1", kill="no", brokers="1,2")
    groups = groups_of(operator, cluster)
    assert {error for error, _ in groups.values()} == {0}
    planned = operator.plan("raise-offsets-rf")
    said = operator.healed(planned)
    assert "KFX303" not in operator.diagnose().findings
    is_spread(cluster, OFFSETS_TOPIC)
    assert cluster.access.assignment(OFFSETS_TOPIC) == {
        int(tp.rpartition("-")[2]): replicas for tp, replicas in planned.replicas().items()
    }
    assert throttles(cluster) == {}
    assert cluster.moves() == {}
    each_group_has_offsets(cluster, groups)
    cluster.lab.kill(1)
    each_group_has_offsets(cluster, groups)
    assert "resume" not in said.err


def test_a_plan_without_approval_of_its_steps_raises_nothing(operator, cluster):
    cluster.lab.break_("offsets-rf1", kill="no")
    before = cluster.access.assignment(OFFSETS_TOPIC)
    planned = operator.plan("raise-offsets-rf")
    # The canary asks at the step: without an answer to that not even a throttle is set.
    said = operator.apply(planned, level="plan", code=4)
    assert f"step:{planned.short}" in said.err
    assert (cluster.access.assignment(OFFSETS_TOPIC), throttles(cluster), cluster.moves()) == (before, {}, {})


def test_a_partition_whose_only_broker_is_dead_is_not_raised_but_its_broker_is_named(operator, cluster):
    broken = cluster.lab.break_("offsets-rf1")
    [dead], lost = broken.dead, [f"{topic}-{number}" for topic, number in broken.partitions]
    assert "needs 3 live brokers and 2 brokers are alive" in operator.not_planned("raise-offsets-rf")
    planned = operator.plan("isr-dead", params={"within": "60s"})
    [step] = planned.steps("manual.bring_back")
    assert f"start broker {dead} " in step["what"]
    assert sorted(call["args"]["partition"] for call in step["verify"]) == sorted(lost)
    going = operator.begin(planned)
    run = operator.ran(planned)
    wait_until(lambda: run.of("step.waiting"), "the run waits for a person")
    cluster.lab.restart(dead)
    said = going.over()
    assert said.code == 0, said.out + said.err
    assert run.end == "proved"
    wait_until(lambda: cluster.works(broken.group), "the group works again")
    assert alive(cluster)


def test_a_broker_that_was_started_after_the_run_was_stopped_is_believed_when_it_is_seen(operator, cluster):
    broken = cluster.lab.break_("offsets-rf1")
    planned = operator.plan("isr-dead", params={"within": "60s"})
    going = operator.begin(planned)
    run = operator.ran(planned)
    wait_until(lambda: run.of("step.waiting"), "the run waits for a person")
    going.interrupt()
    said = going.over(30)
    assert (said.code, "nothing was changed" in said.err) == (4, True), said.err
    did = [word for step in planned.ids for word in ("--did", step)]
    early = operator.resume(run, planned, *did, code=3)
    assert f"--did {planned.ids[0]}: partition_has_leader" in early.err
    cluster.lab.restart(*broken.dead)
    wait_until(lambda: cluster.works(broken.group), "the group works again")
    if run.end == "interrupted":
        operator.resume(run, planned, *did)
        assert run.end == "proved"
    assert operator.planning("isr-dead")[0].code == 0


def test_a_run_that_nobody_helped_in_time_changes_nothing_and_says_so(operator, cluster):
    cluster.lab.break_("offsets-rf1")
    planned = operator.plan("isr-dead", params={"within": "1s", "prove_within": "1s"})
    said = operator.apply(planned, code=3)
    assert all(each in said.err for each in planned.ids)
    assert "nothing was changed" in said.err


@pytest.mark.parametrize("kill", [False, True], ids=["all-live", "one-dead"])
def test_transactions_with_one_replica_are_raised_or_their_broker_is_named(operator, cluster, kill):
    broken = cluster.lab.break_("transactions-rf1", **({} if kill else {"kill": "no"}))
    writers = {key: value for key, value in broken.details.items() if key.startswith("transactional_id_")}
    if kill:
        refused = operator.not_planned("raise-offsets-rf", params={"topic": TRANSACTIONS_TOPIC})
        assert str(broken.partitions[0][1]) in refused
        planned = operator.plan("isr-dead", params={"within": "60s"})
        going = operator.begin(planned)
        wait_until(lambda: operator.ran(planned).of("step.waiting"), "the run waits for a person")
        cluster.lab.restart(*broken.dead)
        assert going.over().code == 0
    else:
        operator.healed(operator.plan("raise-offsets-rf", params={"topic": TRANSACTIONS_TOPIC}))
        is_spread(cluster, TRANSACTIONS_TOPIC)
        assert throttles(cluster) == {}
        cluster.lab.kill(cluster.access.assignment(TRANSACTIONS_TOPIC)[0][0])

    for writer in writers.values():
        wait_until(
            lambda each=writer: (
                {cluster.ask(b, find_transaction_coordinator(each)).error for b in cluster.access.live_ids()} == {0}
            ),
            f"{writer} has a coordinator",
            20,
        )
        cluster.access.transact(writer, "orders")
