"""Pasted descriptions, in all the shapes people paste."""

import pytest

from kfix.core.errors import InvalidFileError
from kfix.core.snapshot.snapshot import Assignment, Mode, PartitionView, Snapshot, TopicPartition
from kfix.diagnose.pasted.reader import parse_pasted
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnose.pasted.gathering import gather


def read(text: str) -> Snapshot:
    return parse_pasted(text, "paste.txt", 1_800_000_000.0)


def rows(text: str) -> dict[TopicPartition, PartitionView]:
    [view] = read(text).views.values()
    return dict(view.partitions)


X0 = TopicPartition("x", 0)
WITHOUT = PartitionView(-1, -1, (1, 3, 2), (2,), (), 5)
LED = PartitionView(2, -1, (1, 3, 2), (2, 3), (), 0)


@for_each(
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


def test_a_kcat_listing_shows_who_is_alive() -> None:
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
    assert [s.name for s in snapshot.failed_sources] == ["list of live brokers", "rest of the description"]
    diagnosis = diagnose(snapshot)
    assert {f.code for f in diagnosis.walk()} == {"KFX107", "KFX901"}
    assert diagnosis.could_not_read[0] == "list of live brokers: the text has none"


def test_prompts_warnings_and_blank_lines_do_not_matter() -> None:
    row = "Topic: x Partition: 0 Leader: 2 Replicas: 1,3,2 Isr: 2,3\n"
    text = f"$ kafka-topics.sh --describe\n\n[2026-01-01] WARN something\n{row}"
    assert rows(text) == {X0: LED}


@for_each(
    ("text", "problems"),
    [
        ("", ["paste.txt:1: no partition in this text"]),
        ("hello\nworld\n", ["paste.txt:1: no partition in this text"]),
        (
            "\nTopic: x Partition: a Leader: 1 Replicas: 1 Isr: 1\nTopic: x Partition: 1 Leader: 1 Replicas: q Isr: 1",
            ["paste.txt:2: Partition is 'a', wanted a number", "paste.txt:3: Replicas is 'q', wanted broker ids"],
        ),
        ("Partition: 0 Leader: 1 Replicas: 1 Isr: 1", ["paste.txt:1: a partition row before any topic"]),
        ("Topic: x Partition: 0 Replicas: 1 Isr: 1", ["paste.txt:1: a partition row without a field Leader"]),
        ('{"leader":1}', ["paste.txt:1: no partition in this text"]),
        ('/brokers/topics/x/partitions/0/state {"leader":1}', ["paste.txt:1: not the content of such a znode"]),
        ("/brokers/topics/x/partitions/0/state {oops}", ["paste.txt:1: not JSON"]),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_line(text: str, problems: list[str]) -> None:
    with pytest.raises(InvalidFileError) as raised:
        read(text)
    assert len(raised.value.problems) == len(problems)
    for said, wanted in zip(raised.value.problems, problems, strict=True):
        assert said.startswith(wanted)
    assert "kcat" in raised.value.hint


KCAT = (
    "Metadata for all topics (from broker 1: b1:9092/1):\n 3 brokers:\n  broker 1 at b1:9092 (controller)\n"
    "  broker 2 at b2:9092\n  broker 3 at b3:9092\n 1 topics:\n"
)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("leader 1, replicas: 2,3, isrs: 2,3", "leader 1 is not in the ISR [2, 3]"),
        ("leader 1, replicas: 1,2,3, isrs: 2,3", "leader 1 is not in the ISR [2, 3]"),
        ("leader 1, replicas: , isrs: ", "leader 1 is not in the ISR []"),
        ("leader 1, replicas: 1,2, isrs: 1,2,3", "ISR [1, 2, 3] has [3], but the replicas are [1, 2]"),
        ("leader 1, replicas: 1,1, isrs: 1", "Replicas [1, 1] names a broker twice"),
        ("leader 1, replicas: 1,2, isrs: 1,1", "Isr [1, 1] names a broker twice"),
    ],
)
def test_a_row_that_contradicts_itself_is_broken_and_never_healthy(row: str, why: str) -> None:
    text = KCAT + f'  topic "x" with 2 partitions:\n    partition 0, {row}\n'
    snapshot = read(text + "    partition 1, leader 1, replicas: 1,2,3, isrs: 1,2,3\n")
    assert list(snapshot.views[1].partitions) == [TopicPartition("x", 1)]
    broken = next(s for s in snapshot.failed_sources if s.name == "part of the text")
    assert f"line 8: {why}" in broken.error
    assert exit_code(diagnose(snapshot)) == 22


@pytest.mark.parametrize("topic", ["$(reboot)", "z\u00fcrich", "x" * 250, "..", "a\u202eb"])
def test_a_name_that_no_topic_can_have_is_a_broken_row(topic: str) -> None:
    with pytest.raises(InvalidFileError) as raised:
        read(f"Topic: {topic} Partition: 0 Leader: none Replicas: 1,2 Isr: 1")
    assert "which is not a valid topic name" in raised.value.problems[0]


def test_a_negative_replica_is_a_broken_row() -> None:
    with pytest.raises(InvalidFileError) as raised:
        read("Topic: x Partition: 0 Leader: 1 Replicas: -1,1 Isr: 1")
    assert "Replicas [-1, 1] has a negative broker id" in raised.value.problems[0]


def test_a_broken_row_takes_no_other_row_with_it() -> None:
    """The row after it, on the next line or on the same one, is read."""
    ends = ("\n", " ")
    for end in ends:
        text = KCAT + '  topic "x" with 2 partitions:\n    partition 0, leader 9, replicas: 1, isrs: 1' + end
        snapshot = read(text + "    partition 1, leader -1, replicas: 1,2,3, isrs: 1\n")
        assert list(snapshot.views[1].partitions) == [TopicPartition("x", 1)]


WELL = "    partition {}, leader 1, replicas: 1,2,3, isrs: 1,2,3\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (KCAT + '  topic "x" with 2 partitions:\n' + WELL.format(0) + WELL.format(7), "the text shows 1 of the 2"),
        (KCAT + '  topic "x" with 1 partitions:\n' + WELL.format(0) + WELL.format(1), "the text shows x-1, although"),
        (
            KCAT.replace("1 topics", "4 topics") + '  topic "x" with 1 partitions:\n' + WELL.format(0),
            "the text shows 1 of 4 topics of kcat -L",
        ),
        (
            KCAT.replace("3 brokers", "5 brokers") + '  topic "x" with 1 partitions:\n' + WELL.format(0),
            "the text shows 3 of 5 brokers of kcat -L",
        ),
    ],
)
def test_a_text_that_states_more_than_it_shows_is_never_healthy(text: str, why: str) -> None:
    snapshot = read(text)
    assert any(why in source.error for source in snapshot.failed_sources)
    assert exit_code(diagnose(snapshot)) == 22


def test_brokers_beyond_the_end_of_a_list_that_is_cut_off_are_not_dead() -> None:
    row = "    partition 0, leader 1, replicas: 1,4,5, isrs: 1,4,5\n"
    text = KCAT.replace("3 brokers", "5 brokers") + '  topic "x" with 1 partitions:\n' + row
    assert {f.code for f in diagnose(read(text)).walk()} == {"KFX901"}
    assert "KFX401" in {f.code for f in diagnose(read(KCAT + '  topic "x" with 1 partitions:\n' + row)).walk()}


def test_every_error_of_a_long_log_is_counted() -> None:
    lines = (f"[Consumer clientId=c, groupId=g{n}] Offset commit failed: NOT_COORDINATOR.\n" for n in range(700))
    [found] = [f for f in diagnose(read("".join(lines))).findings if f.code == "KFX117"]
    assert len(found.blocked.groups) == 700


@pytest.mark.parametrize(
    "text",
    [
        "PARTITION  LEADER  EPOCH  REPLICAS  HIGH-WATERMARK\n0          -1      4      [0 1 2]   9\n",
        "CLUSTER HEALTH OVERVIEW\n=======================\nHealthy:       false\nNodes down:    [1]\n",
        "CLUSTER\n=======\nredpanda.3cdafb1b-5c58-4a21-8a2f-1a0f8a1f1d6c\n\nID    HOST  PORT\n0*    h     9092\n",
    ],
)
def test_output_of_another_product_is_refused_by_its_name_and_is_no_part_of_a_diagnosis(text: str) -> None:
    with pytest.raises(InvalidFileError, match="rpk, the tool of Redpanda"):
        read(text)
    healthy = gather(text + "Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2\n")
    assert (list(healthy.unused), healthy.alive, healthy.complaints) == (["rpk"], {}, {})


_LISTED = "Metadata for audit (from broker 2: k2:9092/2):\n 2 brokers:\n  broker 2 at k2:9092\n  broker 3 at k3:9092\n"
_TOPIC_OF_1 = "Topic: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \nTopic: x Partition: 0 {}\n"
_LED_BY_1 = "Leader: 1 Replicas: 1,2,3 Isr: 1,2,3"


@for_each(
    "listing", [_LISTED, "[zk: x(CONNECTED) 0] ls /brokers/ids\n[2, 3]\n", _LISTED + "$ kafka-topics.sh --describe\n"]
)
def test_a_leader_that_a_list_of_brokers_lacks_is_not_dead_since_one_of_the_outputs_is_older(listing: str) -> None:
    for text in (listing + _TOPIC_OF_1.format(_LED_BY_1), _TOPIC_OF_1.format(_LED_BY_1) + listing):
        diagnosis = diagnose(read(text))
        assert {found.code for found in diagnosis.walk()} == {"KFX204", "KFX901"}, text
        assert exit_code(diagnosis) == 22


def test_a_record_of_zookeeper_names_a_leader_that_is_dead() -> None:
    command = "$ kafka-topics.sh --zookeeper zk:2181 --describe --topic x\n"
    diagnosis = diagnose(read(f"{_LISTED}{command}{_TOPIC_OF_1.format(_LED_BY_1)}"))
    assert "KFX102" in {found.code for found in diagnosis.walk()}


def test_the_evidence_marks_which_of_two_rows_is_used() -> None:
    other = _LED_BY_1.replace("Leader: 1", "Leader: 2")
    first, second = (_TOPIC_OF_1.format(row) for row in (_LED_BY_1, other))
    [found] = (each for each in diagnose(read(first + second)).walk() if each.code == "KFX204")
    [evidence] = found.evidence
    assert evidence.value.endswith("kafka-topics --describe): used")
    assert evidence.value.count(": used") == 1


def test_an_address_that_differs_from_a_localhost_is_of_the_same_broker_and_settles_nothing() -> None:
    listing = "Metadata for all topics (from broker 1: 10.0.0.5:9092/1):\n 1 brokers:\n  broker 1 at {}:9092\n"
    for hosts in (("localhost", "10.0.0.5"), ("10.0.0.5", "localhost")):
        [found] = gather("".join(map(listing.format, hosts))).lasting()
        assert (found.about, found.detail) == ("advertised", "localhost:9092 (10.0.0.5:9092 in another output)")


@for_each(
    ("row", "foreign", "code"),
    [
        ("Leader: 91 Replicas: 91,92 Isr: 91,92", True, 22),
        ("Leader: 91 Replicas: 91,1 Isr: 91", False, 22),  # broker 91 died between the two outputs, or came back
        ("Leader: none Replicas: 91,92 Isr: 91", False, 21),  # their ids changed, or all are dead
    ],
)
def test_a_topic_of_brokers_that_a_whole_list_lacks_is_of_another_cluster_unless_they_may_be_dead(
    row: str, foreign: bool, code: int
) -> None:
    brokers = "[zk: x(CONNECTED) 0] ls /brokers/ids\n[1, 2]\n"
    own = "Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2\n"
    diagnosis = diagnose(read(f"{brokers}{own}Topic: z Partition: 0 {row}\n"))
    assert any("other live brokers than those of z" in source for source in diagnosis.could_not_read) is foreign
    assert exit_code(diagnosis) == code
