"""The incident on which each runbook of KRaft is carried out, and what a person does meanwhile."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import confluent_kafka

from kfix.lab.clients.asking_controllers import set_feature
from tests.cluster.recovering import Survivor
from tests.cluster.remedy import moves_file, site_of
from tests.deaths.chain import DRIVER
from tests.matrix.remedies import Scene, start_brokers, start_controllers
from tests.waiting import seconds

Words = tuple[object, ...]


def _nothing(_scene: Scene) -> Words:
    return ()


@dataclass(frozen=True)
class Case:
    """`params` are the runbook's, with details of the incident in braces, and `options` the incident's.

    `prepare` makes what the incident does not, and returns further words of `runbook plan`; `after` takes it back.
    `before` are runbooks that are carried out first. `by_hand` is what a person does when the run waits for one.
    """

    incident: str
    params: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    prepare: Callable[[Scene], Words] = _nothing
    after: Callable[[Scene], None] | None = None
    before: tuple[str, ...] = ()
    by_hand: Callable[[Scene], None] | None = None


def _a_topic_to_move(scene: Scene) -> Words:
    with scene.lab.access() as access:
        access.create_topic("cargo", [[1], [2]], {})
    return "--json-in", moves_file(scene.operator, {("cargo", 0): [2, 3], ("cargo", 1): [3, 1]})


def offsets_to_restore(scene: Scene) -> Words:
    """Saves the offsets of the group and sets them back to 0 since."""
    operator, group = scene.operator, scene.broken.group
    path = operator.folder / f"{operator.name}-offsets.json"
    said = operator.on("offsets", "save", "--partition", "all", "--output-file", path)
    assert said.code == 0, said.out + said.err
    assert group is not None
    with scene.lab.access() as access:
        admin = access.admin()
        [stored] = admin.list_consumer_group_offsets([confluent_kafka.ConsumerGroupTopicPartitions(group)]).values()
        found = stored.result(10).topic_partitions
        assert any(each.offset > 0 for each in found)
        earlier = [confluent_kafka.TopicPartition(each.topic, each.partition, 0) for each in found]
        asked = confluent_kafka.ConsumerGroupTopicPartitions(group, earlier)
        [done] = admin.alter_consumer_group_offsets([asked]).values()
        done.result(10)
    return "--offsets", path


_PLACE = ("orders", 0)


def _a_record_to_skip(scene: Scene) -> Words:
    """The group stands at the first record of its topic, which is saved."""
    operator = scene.operator
    offsets_to_restore(scene)
    path = operator.folder / f"{operator.name}-record.json"
    said = operator.on("offsets", "record", "{}-{}@0".format(*_PLACE), "--output-file", path)
    assert said.code == 0, said.out + said.err
    params = {"group": scene.broken.group, "partition": "{}-{}".format(*_PLACE), "offset": 0}
    params["sha256"] = json.loads(path.read_text())["sha256"]
    return tuple(word for name, value in params.items() for word in ("-p", f"{name}={value}"))


def _a_group_with_offsets(scene: Scene) -> Words:
    """The group has committed an offset of the topic, and is behind by its few records."""
    offsets_to_restore(scene)
    return ()


def _reads_on(scene: Scene) -> None:
    """Commits the end of the log, as a consumer of the group does that has read on."""
    own = {"bootstrap.servers": scene.lab.bootstrap_servers, "group.id": scene.broken.group}
    consumer = confluent_kafka.Consumer(own | {"enable.auto.commit": False})
    try:
        _, end = consumer.get_watermark_offsets(confluent_kafka.TopicPartition(*_PLACE), timeout=10)
        consumer.commit(offsets=[confluent_kafka.TopicPartition(*_PLACE, end)], asynchronous=False)
    finally:
        consumer.close()


def _group_version(scene: Scene, version: int) -> None:
    """Without the feature, a coordinator that gave its partition up is one that does not answer; its log is clean."""
    assert set_feature(scene.lab.address(scene.lab.broker_ids[0]), "group.version", version) == 0


def _a_log_without_the_record(scene: Scene) -> Words:
    planned = scene.operator.plan("coordinator-failed")
    words = ("runbook", "apply", "--plan", planned.path, *planned.answers("step", typed=True))
    going = scene.operator.going(*words, through=(sys.executable, DRIVER, "-step.intent:reorder"))
    going.process.wait(seconds(120))
    run = scene.operator.ran(planned)
    assert scene.operator.on("runbook", "abort", run.id, "--reason", "a test").code == 0
    scene.operator.moves_house("another")
    _group_version(scene, 0)
    return ()


def _a_controller_that_is_stopped(scene: Scene) -> Words:
    survivor = Survivor(scene.lab)
    survivor.stop()
    return tuple(word for name, value in survivor.params.items() for word in ("-p", f"{name}={value}"))


def _a_voter_that_was_removed(scene: Scene) -> Words:
    """The voter of the controller is removed, and nothing added."""
    quorum, number = scene.lab.quorum, int(scene.broken.details["controller"])
    assert quorum is not None
    quorum.remove_voter(number)
    return ()


def _start_it(scene: Scene) -> None:
    Survivor(scene.lab).start()


def _a_site_with_a_command(scene: Scene) -> Words:
    """The controller that the incident killed is started; the operator's own inventory names the lab's command."""
    start_controllers(scene)
    os.environ["XDG_CONFIG_HOME"] = str(scene.operator.folder / "config")
    scene.operator.where = site_of(scene.lab, scene.operator.folder / "config")
    return ()


def _no_site(_scene: Scene) -> None:
    del os.environ["XDG_CONFIG_HOME"]


def _newer_software(scene: Scene) -> Words:
    for process in scene.lab.status().processes:
        if process.role in {"broker", "controller"}:
            scene.lab.upgrade(process.id, "4.4.0", role=process.role)
    return ()


_LEDGER = {"topic": "ledger"}

CASES: Mapping[str, Case] = {
    "abort-transaction": Case("pending-offsets"),
    "cancel-reassignment": Case("stuck-reassignment"),
    "coordinator-failed": Case("coordinator-failed"),
    "coordinator-not-answering": Case(
        "coordinator-failed",
        {"settle": "2s"},
        prepare=_a_log_without_the_record,
        after=lambda scene: _group_version(scene, 1),
    ),
    "durable-defaults": Case("weak-topic", _LEDGER, before=("raise-topic-rf",)),
    "end-hanging-transaction": Case("transaction-marker-lost"),
    "evict-member": Case("rebalance-held", {"group": "{group}", "member": "{member}"}),
    "hold-retention": Case("healthy", {"topic": _PLACE[0], "group": "{group}"}, prepare=_a_group_with_offsets),
    "isr-dead": Case("offsets-rf1", {"within": "90s"}, by_hand=start_brokers),
    "leader-balance": Case("leader-skew"),
    "move-replicas": Case("healthy", prepare=_a_topic_to_move),
    "quorum-add-voter": Case("voter-wrong-directory", {"node": "{controller}"}, prepare=_a_voter_that_was_removed),
    "quorum-replace-voter": Case("voter-wrong-directory", {"node": "{controller}"}),
    "quorum-recover": Case("quorum-majority-lost", prepare=_a_controller_that_is_stopped, by_hand=_start_it),
    "raise-offsets-rf": Case("offsets-rf1", {"batch": "2"}, options={"kill": "no"}),
    "raise-topic-rf": Case("weak-topic", _LEDGER),
    "remove-ghost-registration": Case("ghost-registration", {"broker": "{ghost}", "dead_for": "3s", "settle": "1s"}),
    "replace-broker": Case("broker-ids-gone", {"renamed": "{dead}={new_id}"}, options={"copies": "2"}),
    "restore-offsets": Case("healthy", {"group": "{group}"}, prepare=offsets_to_restore),
    "rolling-restart": Case("quorum-at-risk", prepare=_a_site_with_a_command, after=_no_site),
    "rolling-upgrade": Case("quorum-at-risk", {"version": "4.4.0"}, prepare=_a_site_with_a_command, after=_no_site),
    "skip-record": Case("healthy", prepare=_a_record_to_skip, by_hand=_reads_on),
    "spread-replicas": Case("replicas-in-one-rack"),
    "sweep-throttles": Case("left-over-throttles"),
    "unclean-election": Case("elr-struck", {"max_loss": "-1"}),
    "under-min-isr": Case("under-min-isr", {"settle": "1s", "bring_back_within": "90s"}, by_hand=start_brokers),
    # The last one of its lab, whose software it leaves newer than it was.
    "raise-metadata-version": Case("healthy", {"version": "4.4.0"}, prepare=_newer_software),
}
