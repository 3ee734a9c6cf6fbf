"""A healthy cluster, and clusters in which nothing has happened yet."""

from collections import defaultdict
from collections.abc import Sequence

from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import ZK
from kfix.lab.definition.state import BrokerDef, spread
from kfix.lab.incidents.setup.content import CONTENT_TOPIC, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import NO_QUORUM, Incident, IncidentOutcome
from kfix.lab.incidents.setup.options import MEGABYTES


@Incident(
    "healthy",
    title="a healthy cluster with content",
    does="Creates a topic with records and a consumer group in every partition of the offsets topic.",
    expect=("kfix reports latent risks at most",),
    needs=1,
)
def healthy(context: IncidentContext) -> IncidentOutcome:
    """A healthy cluster: the control case of every diagnosis and every benchmark."""
    context.wait_well()
    return IncidentOutcome(
        "full ISR everywhere, every broker agrees with the record, every group answers",
        topic=CONTENT_TOPIC,
    )


CONFIG = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
_PARTITIONS = 3
_REPLICAS = 2


@Incident(
    "weak-topic",
    title="a topic with RF 2, min.insync.replicas 1 and unclean elections",
    does="Creates a topic with these settings; all brokers are alive.",
    expect=("all is well; two broker deaths, one after the other, lose records that were acknowledged with acks=all",),
    options={"megabytes": "how much data the topic holds besides its records (none)"},
    ranges={"megabytes": MEGABYTES},
)
def weak_topic(context: IncidentContext) -> IncidentOutcome:
    """A topic set up to lose records: RF 2, min.insync.replicas 1, unclean elections. Nothing has happened yet."""
    context.topic(TOPIC, context.spread(_PARTITIONS, _REPLICAS), CONFIG)
    if megabytes := context.int_option("megabytes"):
        context.fill(TOPIC, _PARTITIONS, megabytes)
    where = [TopicPartition(TOPIC, number) for number in range(_PARTITIONS)]
    for each in where:
        context.wait_state(each, "both replicas in sync", lambda state: len(state.isr) == _REPLICAS)
    context.require(context.access.configs("topics").get(TOPIC) == CONFIG, f"{TOPIC} has its settings")
    return IncidentOutcome(
        f"{TOPIC} has RF {_REPLICAS}, {', '.join(f'{k}={v}' for k, v in CONFIG.items())}; groups work",
        partitions=where,
        details={"replication_factor": _REPLICAS, "megabytes": megabytes or 0},
    )


# All replicas of a topic are in one rack: when that rack loses power, the topic is unavailable.

_UP = "kfix lab up --ids 1,2,3,4 --racks a,a,b,b"


def unfit(brokers: Sequence[BrokerDef]) -> str:
    racks = by_rack(brokers)
    if len(racks) < 2:
        return f"its brokers are in {len(racks) or 'no'} rack{'s' * (not racks)}, at least 2 are needed ({_UP})"
    if max(map(len, racks.values())) < 2:
        return f"no rack of {', '.join(sorted(racks))} has two brokers ({_UP})"
    return ""


def by_rack(brokers: Sequence[BrokerDef]) -> dict[str, list[int]]:
    racks: dict[str, list[int]] = defaultdict(list)
    for broker in brokers:
        if broker.rack is not None:
            racks[broker.rack].append(broker.id)
    return dict(racks)


@Incident(
    "replicas-in-one-rack",
    title="all replicas of a topic are in one rack",
    does="Creates a topic on the brokers of the largest rack; needs 4 brokers, two of them in one of 2 or more racks.",
    expect=("topics spread over the racks survive",),
    needs=4,
    options={"megabytes": "how much data the topic holds besides its records (none)"},
    ranges={"megabytes": MEGABYTES},
    suits=unfit,
)
def replicas_in_one_rack(context: IncidentContext) -> IncidentOutcome:
    racks = by_rack([broker for broker in context.lab.state.brokers if not broker.retired])
    rack, ids = max(sorted(racks.items()), key=lambda item: len(item[1]))
    context.topic(TOPIC, spread(ids, _PARTITIONS, min(3, len(ids))))
    if megabytes := context.int_option("megabytes"):
        context.fill(TOPIC, _PARTITIONS, megabytes)
    where = [TopicPartition(TOPIC, number) for number in range(_PARTITIONS)]
    for each in where:
        context.wait_state(each, "all replicas in sync", lambda state: len(state.isr) == min(3, len(ids)))
    return IncidentOutcome(
        f"every replica of {TOPIC} is on {ids}, in rack {rack}, and in sync; groups work",
        (f"all is well, until rack {rack} is lost, and {TOPIC} with it",),
        partitions=where,
        details={"rack": rack, "brokers": ",".join(map(str, ids)), "megabytes": megabytes or 0},
    )


_SKEWED_PARTITIONS = 6


def _refuse(context: IncidentContext) -> None:
    chosen = context.int_option("broker")
    if chosen is not None and chosen not in context.ids():
        raise UsageError(f"option broker={chosen}: no such broker", hint=f"brokers: {list(context.ids())}")


@Incident(
    "leader-skew",
    title="one broker leads everything, though the preferred leaders are alive and in sync",
    does="Moves the leadership of every partition of a broker to that broker; the order of replicas is unchanged.",
    expect=("all brokers are alive, every ISR is full; a preferred leader election balances the leaders",),
    options={"broker": "which broker leads (default: the first that is not the controller)"},
    refuse=_refuse,
)
def leader_skew(context: IncidentContext) -> IncidentOutcome:
    """One broker leads all partitions it has, as after restarts of the others without a preferred leader election."""
    context.topic(TOPIC, context.spread(_SKEWED_PARTITIONS, 3))
    chosen, others = context.int_option("broker"), context.controller_first()[1:]
    leader = others[0] if chosen is None else chosen
    held = {
        TopicPartition(topic, number): replicas
        for topic in context.access.topics()
        for number, replicas in context.access.assignment(topic).items()
        if leader in replicas
    }
    skewed = {where: replicas for where, replicas in held.items() if replicas[0] != leader}
    # The order of replicas decides who is preferred: with the leader first for a moment, an election moves leadership.
    context.access.reassign({where: _first(leader, replicas) for where, replicas in skewed.items()})
    context.access.elect(skewed, unclean=False)
    context.access.reassign(skewed)
    context.report(
        f"moved the leadership of {len(skewed)} partitions to broker {leader}; the order of replicas is unchanged"
    )
    for where, replicas in held.items():
        context.wait_state(
            where,
            f"led by {leader}, all in sync",
            lambda each, ids=replicas: each.leader == leader and set(each.isr) == set(ids),  # type: ignore[misc]
        )
        context.require(
            context.access.assignment(where.topic)[where.partition] == replicas, f"{where} is on {replicas}"
        )
    return IncidentOutcome(
        f"broker {leader} leads all {len(held)} partitions it has, {len(skewed)} without being preferred",
        (f"broker {leader} serves all of these partitions and coordinates every group it can",),
        topic=TOPIC,
        partitions=skewed,
        details={"leader": leader, "leads": len(held), "not_preferred": len(skewed)},
    )


def _first(leader: int, replicas: tuple[int, ...]) -> tuple[int, ...]:
    return (leader, *(each for each in replicas if each != leader))


@Incident(
    "metadata-version-behind",
    title="a feature of the cluster is below what its software supports",
    does="Switches eligible leader replicas off, as in a cluster that an older release created.",
    expect=("clients notice nothing", "if an ISR loses its last member, only an unclean election is left"),
    not_on={
        ZK: NO_QUORUM,
        "3.9.2": "Kafka 3.9 has no feature that could be behind; kfix lab upgrade leaves metadata.version behind",
    },
    elr=True,
)
def metadata_version_behind(context: IncidentContext) -> IncidentOutcome:
    """A feature is below what the software supports, as after an upgrade of the software alone."""
    context.access.set_elr(0)
    context.report("switched eligible leader replicas off (eligible.leader.replicas.version=0)")
    return IncidentOutcome()
