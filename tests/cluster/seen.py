"""A lab's cluster seen from outside: through ZooKeeper and plain requests, never through the incidents' own code."""

import time
from dataclasses import dataclass

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.kafka import group_messages, requests
from kfix.lab import Lab
from kfix.lab.clients.access import LabClient
from kfix.lab.clients.asking import ask
from kfix.lab.healing.health import trouble
from tests.waiting import seconds


@dataclass(frozen=True)
class Cluster:
    """A lab, and plain questions to its brokers."""

    lab: Lab
    access: LabClient

    def ask(self, broker, request):
        return ask(self.lab.address(broker), request, 5.0)

    def views(self, where):
        """(leader, leader epoch) of each live broker's metadata."""
        seen = {broker: self.access.metadata(broker) for broker in self.access.live_ids()}
        return {(each.partitions[where].leader, each.partitions[where].leader_epoch) for each in seen.values()}

    def end(self, broker, where, replica=requests.DEBUGGING_REPLICA):
        request = requests.list_offsets((where,), requests.LATEST, replica=replica)
        return self.ask(broker, request)[where]

    def coordinators(self, group):
        found = [self.ask(broker, group_messages.find_coordinator(group)) for broker in self.access.live_ids()]
        return {(each.error, each.broker) for each in found}

    def fetched(self, group, broker):
        """Error code, and how many offsets the group has committed."""
        error, offsets = self.ask(broker, group_messages.offset_fetch(group))
        return error, sum(each.offset >= 0 for each in offsets.values())

    def works(self, group):
        (error, broker), *others = self.coordinators(group)
        return not others and error == 0 and self.fetched(group, broker)[0] == 0

    def moves(self):
        controller = self.access.controller()
        return self.ask(controller, requests.list_reassignments())[1]

    def broker_settings(self, broker, keys):
        request = requests.describe_configs(requests.BROKER_RESOURCE, (str(broker),), keys)
        [found] = self.ask(broker, request)
        return found.values

    def picture(self):
        topics = self.access.topics()
        return {
            "replicas": {topic: self.access.assignment(topic) for topic in topics},
            "leaders": {where: state.leader for where, state in self.access.states().items()},
            "topics": self.access.configs("topics"),
            "brokers": self.access.configs("brokers"),
        }


def before_and_after(lab):
    with lab.access() as access:
        if OFFSETS_TOPIC not in access.topics():
            lab.break_("healthy")
            lab.mend()
        cluster = Cluster(lab, access)
        before = cluster.picture()
        yield cluster
        lab.mend()
        assert cluster.picture() == before
        assert trouble(access, lab.broker_ids) == ()
        assert cluster.moves() == {}


def alive(cluster):
    return {each.condition for each in cluster.lab.status().processes} == {"alive"}


def in_sync(cluster, where):
    return set(cluster.access.state(*where).isr) == set(cluster.access.assignment(where.topic)[where.partition])


def consumed(cluster, group, topic="orders", wanted=30, within=20):
    """How many records a member of the group gets, from its committed offsets on."""
    from confluent_kafka import Consumer

    config = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": cluster.lab.bootstrap_servers, **config})
    got, ends = 0, time.monotonic() + seconds(within)
    try:
        consumer.subscribe([topic])
        while got < wanted and time.monotonic() < ends:
            message = consumer.poll(0.5)
            got += message is not None and message.error() is None
    finally:
        consumer.close()
    return got


RATES = tuple(f"{side}.replication.throttled.rate" for side in ("leader", "follower"))


def throttles(cluster):
    """Every replication throttle that is set: {resource: {key: value}}."""
    found = {}
    for kind in ("topics", "brokers"):
        for name, config in cluster.access.configs(kind).items():
            kept = {key: value for key, value in config.items() if ".replication.throttled." in key}
            found |= {f"{kind}/{name}": kept} if kept else {}
    return found
