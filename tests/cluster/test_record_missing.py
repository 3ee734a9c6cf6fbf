"""ZooKeeper loses the znode of a topic, or lists other replicas of it, while the brokers go on serving it."""

import json
import time
from contextlib import contextmanager

from kazoo.client import KazooClient

from kfix.core.snapshot.snapshot import TopicPartition
from tests.waiting import wait_until

TOPIC, ROOT = "ledger", "/brokers/topics/ledger"
TP = TopicPartition(TOPIC, 0)


PATHS = (ROOT, f"{ROOT}/partitions", f"{ROOT}/partitions/0", f"{ROOT}/partitions/0/state")


class Znodes:
    """The topic's znodes, as they were when it was new."""

    def __init__(self, lab):
        self.client = KazooClient(lab.zookeeper_connect)
        self.client.start()
        self.backup = {path: self.client.get(path)[0] for path in PATHS}

    def restore(self):
        """In one transaction, one leader epoch later than the brokers report."""
        state = json.loads(self.backup[PATHS[-1]])
        later = {PATHS[-1]: json.dumps(state | {"leader_epoch": state["leader_epoch"] + 1}).encode()}
        made = self.client.transaction()
        for path, content in (self.backup | later).items():
            made.create(path, content or b"")
        assert not [each for each in made.commit() if isinstance(each, Exception)]

    def gone(self, access):
        """Deletes the topic as Kafka does; one that ZooKeeper lacks is restored first."""
        if not self.client.exists(ROOT):
            self.restore()
            self.client.delete("/controller")
        access.delete_topic(TOPIC)
        wait_until(lambda: not self.client.exists(ROOT), "the topic deleted", 40)
        self.client.stop()
        self.client.close()


@contextmanager
def served(cluster, replicas):
    """A topic that works, and its znodes; at the end the topic is deleted."""
    cluster.access.create_topic(TOPIC, [replicas], {})
    cluster.access.produce(TOPIC, {0: [("k", b"v")] * 10})
    znodes = Znodes(cluster.lab)
    try:
        yield znodes
    finally:
        cluster.lab.restart(*(b for b in cluster.lab.broker_ids if b not in cluster.access.live_ids()))
        znodes.gone(cluster.access)


def found_by(kfix, obj):
    said = kfix.diagnose()
    [found] = [each for each in said.every if each["code"] == "KFX205"]
    assert found["object"] == obj, found
    assert found["partitions"] == [str(TP)]
    # Nothing else that is found of it contradicts this.
    others = {each["code"] for each in said.every if str(TP) in each["partitions"]} - {"KFX205"}
    assert not others, said.out
    return said, found


def test_a_topic_without_a_znode_is_found_while_it_works_and_its_restored_znodes_heal_it(kfix, cluster, operator):
    with served(cluster, [1, 2, 3]) as znodes:
        znodes.client.delete(ROOT, recursive=True)
        time.sleep(2)
        said, found = found_by(kfix, "served without a record")
        assert (said.code, found["severity"]) == (20, "warning"), said.out
        assert cluster.access.produce_error(TOPIC, 0, "all") == ""

        cluster.lab.kill(1)
        said, found = found_by(kfix, "leaderless without a record")
        assert (said.code, found["severity"]) == (21, "critical"), said.out
        cluster.lab.restart(1)
        said, found = found_by(kfix, "leaderless without a record")
        assert cluster.access.produce_error(TOPIC, 0, "all") != ""

        znodes.restore()
        operator.healed(operator.plan("controller-reelect"))
        wait_until(lambda: cluster.access.produce_error(TOPIC, 0, "all") == "", "writes again", 30)
        kfix.until(lambda said: "KFX205" not in said.findings, "no finding")
        assert cluster.end(cluster.access.state(*TP).leader, TP).offset >= 11


def test_other_replicas_in_the_znode_are_found_and_a_reassignment_writes_them_again(kfix, cluster):
    with served(cluster, [1, 2]) as znodes:
        content, _ = znodes.client.get(ROOT)
        znodes.client.set(ROOT, json.dumps(json.loads(content) | {"partitions": {"0": [1, 3]}}).encode())
        time.sleep(2)
        _, found = found_by(kfix, "other replicas")
        assert "[1, 3] instead of [1, 2]" in found["summary"]
        cluster.access.reassign({TP: (1, 2)})
        kfix.until(lambda said: "KFX205" not in said.findings, "no finding")
        assert cluster.access.assignment(TOPIC)[0] == (1, 2)
