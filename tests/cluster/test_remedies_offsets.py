"""Internal topics with one replica are raised for good; a run that waits for a broker to be started, in vain or not."""

from collections import Counter

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.kafka.group_messages import find_transaction_coordinator
from tests.cluster.seen import throttles
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


def test_offsets_with_one_replica_are_raised_to_three_and_a_death_stops_no_group(operator, cluster):
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


def test_a_run_that_waits_for_a_person_in_vain_changes_nothing_and_reports_it(operator, cluster):
    cluster.lab.break_("offsets-rf1")
    planned = operator.plan("isr-dead", params={"within": "1s", "prove_within": "1s"})
    said = operator.apply(planned, code=3)
    assert all(each in said.err for each in planned.ids)
    assert "nothing was changed" in said.err


def test_transactions_with_one_replica_are_raised_and_a_death_stops_no_producer(operator, cluster):
    broken = cluster.lab.break_("transactions-rf1", kill="no")
    writers = {key: value for key, value in broken.details.items() if key.startswith("transactional_id_")}
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
