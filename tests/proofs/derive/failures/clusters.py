"""Random clusters in memory: any replication factor, ISRs that have shrunk, records that were edited, dead brokers."""

from hypothesis import strategies as st

from kfix.core.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.configs import MIN_ISR, UNCLEAN
from kfix.heal.memory.state import ElectionState

BROKERS = (1, 2, 3, 4, 5)
TOPICS = ("orders", "audit", OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
GROUPS = ("pay", "ship", "bill", "mail", "scan")


@st.composite
def clusters(draw, *, edited=True, alike=False):
    """`edited`: some records differ from the controller's memory, as after a restored backup.

    `alike`: all brokers have the same defaults.
    """
    cluster = MemoryCluster()
    for number in BROKERS:
        cluster.add_broker(number, rack=draw(st.sampled_from(("a", "b", None))))
    cluster.control.fail_over_to(draw(st.sampled_from(BROKERS)))
    defaults = st.sampled_from(({}, {MIN_ISR: "2"}, {UNCLEAN: "true"}))
    same = draw(defaults)
    for broker in cluster.brokers.values():
        broker.configs.update(same if alike else draw(defaults))
    for topic in TOPICS:
        own = {MIN_ISR: st.sampled_from("123"), UNCLEAN: st.sampled_from(("true", "false"))}
        cluster.records.topic_configs[topic] = draw(st.fixed_dictionaries({}, optional=own))
        for partition in range(draw(st.integers(1, 5))):
            replicas = draw(st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True))
            cluster.add_partition(TopicPartition(topic, partition), tuple(replicas))
    cluster.groups.update(dict.fromkeys(GROUPS, 7))
    for step in range(draw(st.integers(0, 3))):
        live = sorted(cluster.control.live)
        dead = sorted(set(BROKERS) - set(live))
        if step % 2 == 0 and len(live) > 2:
            cluster.kill(draw(st.sampled_from(live)))
        elif dead:
            cluster.revive(draw(st.sampled_from(dead)))
    shrink(draw, cluster)
    if edited:
        edit(draw, cluster)
    return cluster


def shrink(draw, cluster):
    """Leaders drop followers from their ISRs, as they do for slow ones."""
    for tp, state in list(cluster.records.states.items()):
        if state.leader in cluster.control.live and draw(st.booleans()):
            isr = tuple(b for b in state.isr if b == state.leader or draw(st.booleans()))
            cluster.records.write_state(tp, state.leader, state.leader_epoch, isr)
            cluster.control.remember(tp, ElectionState.ONLINE)
            cluster.control.announce((tp,))


def edit(draw, cluster):
    for tp, state in list(cluster.records.states.items()):
        if draw(st.integers(0, 4)) == 0:
            replicas = cluster.records.assignments[tp].replicas
            isr = draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True))
            leader = draw(st.sampled_from((*isr, *isr, state.leader if state.leader in isr else -1)))
            cluster.corrupt_state(tp, leader=leader, isr=tuple(isr))


def failures(draw, cluster):
    live = sorted(cluster.control.live)
    return draw(st.lists(st.sampled_from(live), min_size=1, max_size=min(3, len(live)), unique=True))
