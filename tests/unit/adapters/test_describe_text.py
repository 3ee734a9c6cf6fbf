"""Pasted descriptions, in all the shapes people paste."""

import pytest

from kfix.adapters.describe_text import parse_describe_text
from kfix.errors import InvalidFileError
from kfix.model.cluster.snapshot import Assignment, Mode, PartitionView, Snapshot, TopicPartition
from kfix_diagnostics.engine import diagnose


def read(text: str) -> Snapshot:
    return parse_describe_text(text, "paste.txt", 1_800_000_000.0)


def rows(text: str) -> dict[TopicPartition, PartitionView]:
    [view] = read(text).views.values()
    return dict(view.partitions)


X0 = TopicPartition("x", 0)
WITHOUT = PartitionView(-1, -1, (1, 3, 2), (2,), (), 5)
LED = PartitionView(2, -1, (1, 3, 2), (2, 3), (), 0)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("\tTopic: x\tPartition: 0\tLeader: none\tReplicas: 1,3,2\tIsr: 2", WITHOUT),
        ("    Topic: x  Partition: 0    Leader: -1  Replicas: 1,3,2 Isr: 2", WITHOUT),
        ("Topic: x Partition: 0 Leader: 2 Replicas: 1, 3, 2 Isr: 2, 3", LED),
        ("Topic:x\tPartition:0\tLeader:2\tReplicas:1,3,2\tIsr:2,3", LED),
        ("\tTopic: x\tPartition: 0\tLeader: 2\tReplicas: 1,3,2\tIsr: 2,3\tElr: \tLastKnownElr: ", LED),
        ("\tTopic: x\tPartition: 0\tLeader: 2\tReplicas: 1,3,2\tIsr: 2,3\tElr: N/A\tLastKnownElr: N/A", LED),
        ("\tTopic: x\tPartition: 0\tLeader: 2\tReplicas: 1,3,2\tIsr: 2,3\tOffline: 1", LED._replace(offline=(1,))),
        ("\tTopic: x\tPartition: 0\tLeader: 2\tReplicas: 1,3,2\tIsr: 2,3\tOffline: \tLiveObservers: ", LED),
        ("\tTopic: x\tPartition: 0\tLeader: none\tReplicas: 1,3,2\tIsr:", WITHOUT._replace(isr=())),
        ("Topic: x\tPartition: 0\tLeader: none\tReplicas: 1,3,2\tIsr: \tElr: 2\tLastKnownElr: ",
         WITHOUT._replace(isr=())),
        ("\tTopic: x\tPartition: 0\tLeader: 65633\tReplicas: 1001,65633\tIsr: 65633",
         PartitionView(65633, -1, (1001, 65633), (65633,), (), 0)),
    ],
)  # fmt: skip
def test_every_variant_of_a_row_is_read(line: str, wanted: PartitionView) -> None:
    assert rows(line) == {X0: wanted}


def test_rows_without_a_topic_belong_to_the_header_above() -> None:
    text = (
        "Topic: x\tTopicId: 7nrQw\tPartitionCount: 1\tReplicationFactor: 9\tConfigs: min.insync.replicas=2,a.b=c\n"
        "\tPartition: 0\tLeader: 2\tReplicas: 1,3,2\tIsr: 2,3\n"
    )
    snapshot = read(text)
    assert rows(text) == {X0: LED}
    assert snapshot.topic_configs == {"x": {"min.insync.replicas": "2", "a.b": "c"}}


def test_reassignments_are_read() -> None:
    line = "Topic: x Partition: 0 Leader: 2 Replicas: 1,2,4 Isr: 2 Adding Replicas: 4 Removing Replicas: 1"
    assert read(line).reassignments == {X0: Assignment((1, 2, 4), (4,), (1,))}


def test_a_kcat_listing_tells_who_is_alive() -> None:
    snapshot = read(
        "Metadata for all topics (from broker 2: localhost:9092/2):\n 2 brokers:\n"
        "  broker 2 at localhost:9092 (controller)\n  broker 3 at localhost:9093\n 1 topics:\n"
        '  topic "x" with 2 partitions:\n    partition 0, leader 2, replicas: 1,3,2, isrs: 2,3\n'
        "    partition 1, leader -1, replicas: 1,3,2, isrs: 2, Broker: Leader not available\n"
    )
    view = snapshot.views[2]
    assert view.controller == 2
    assert set(view.alive) == {2, 3}
    assert view.partitions == {X0: LED, TopicPartition("x", 1): WITHOUT}
    assert snapshot.failed_sources == ()
    assert {"KFX102", "KFX401"} <= {f.code for f in diagnose(snapshot).walk()}


def test_znodes_are_read_with_the_path_before_them_in_any_order() -> None:
    text = (
        "[zk: localhost:2181(CONNECTED) 0] get /brokers/topics/x\n"
        '{"version":2,"partitions":{"0":[1,3,2]},"adding_replicas":{},"removing_replicas":{}}\n'
        "[zk: localhost:2181(CONNECTED) 1] get /brokers/topics/x/partitions/0/state\n"
        '{ "controller_epoch": 1, "leader": -1, "version": 1, "leader_epoch": 4, "isr": [2] }\n'
        '/brokers/topics/x/partitions/1/state {"controller_epoch":1,"leader":3,"leader_epoch":0,"isr":[3]}\n'
    )
    assert rows(text) == {
        X0: PartitionView(-1, 4, (1, 3, 2), (2,), (), 5),
        TopicPartition("x", 1): PartitionView(3, 0, (), (3,), (), 0),
    }


def test_a_text_knows_neither_mode_nor_who_lives() -> None:
    snapshot = read("Topic: x Partition: 0 Leader: none Replicas: 1,3,2 Isr: 2")
    assert snapshot.cluster.mode is Mode.UNKNOWN
    assert snapshot.origin == "paste.txt"
    assert [s.name for s in snapshot.failed_sources] == ["list of live brokers"]
    diagnosis = diagnose(snapshot)
    assert {f.code for f in diagnosis.walk()} == {"KFX107", "KFX901"}
    assert diagnosis.could_not_read == ("list of live brokers: the text has none",)


def test_prompts_warnings_and_blank_lines_do_not_matter() -> None:
    row = "Topic: x Partition: 0 Leader: 2 Replicas: 1,3,2 Isr: 2,3\n"
    text = f"$ kafka-topics.sh --describe\n\n[2026-01-01] WARN something\n{row}"
    assert rows(text) == {X0: LED}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["paste.txt:1: no partition in this text"]),
        ("hello\nworld\n", ["paste.txt:1: no partition in this text"]),
        (
            "\nTopic: x Partition: a Leader: 1 Replicas: 1 Isr: 1\nTopic: x Partition: 1 Leader: 1 Replicas: q Isr: 1",
            ["paste.txt:2: Partition is 'a', wanted a number", "paste.txt:3: Replicas is 'q', wanted broker ids"],
        ),
        ("Partition: 0 Leader: 1 Replicas: 1 Isr: 1", ["paste.txt:1: a partition row before any topic"]),
        ("Topic: x Partition: 0 Replicas: 1 Isr: 1", ["paste.txt:1: a partition row without a Leader"]),
        ('{"leader":1}', ["paste.txt:1: JSON without its path"]),
        ('/brokers/topics/x/partitions/0/state {"leader":1}', ["paste.txt:1: not the content of such a znode"]),
        ("/brokers/topics/x/partitions/0/state {oops}", ["paste.txt:1: not JSON"]),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, problems: list[str]) -> None:
    with pytest.raises(InvalidFileError) as raised:
        read(text)
    assert len(raised.value.problems) == len(problems)
    for said, wanted in zip(raised.value.problems, problems, strict=True):
        assert said.startswith(wanted)
    assert "kcat" in raised.value.hint
