"""Each format by itself: what it takes from a line, and what it leaves to others."""

import pytest

from kfix.core.snapshot.snapshot import Assignment, Mode, TopicPartition
from kfix.diagnose.pasted.clients import error_code
from kfix.diagnose.pasted.lines import bare_line
from tests.each import for_each
from tests.unit.diagnose.pasted.gathering import gather

ROW = "Topic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2\n"
X0 = TopicPartition("x", 0)


@for_each(
    ("raw", "bare"),
    [
        ("> > Topic: x", "Topic: x"),
        ("broker-1  | \tTopic: x", "Topic: x"),
        ("     7\tTopic: x", "Topic: x"),
        ("2026-11-23T01:00:00Z Topic: x", "Topic: x"),
        ("\x1b[1mTopic:\u00a0x\x1b[0m", "Topic: x"),
        ('"Topic: x"', "Topic: x"),
        ("- Topic: x", "Topic: x"),
        ("-1", "-1"),
        ("2\t2901\t0", "2\t2901\t0"),
        ("```", ""),
        ("kafka-2 kafka java.lang.RuntimeException: x", "java.lang.RuntimeException: x"),
    ],
)
def test_what_surrounds_a_line_is_removed(raw: str, bare: str) -> None:
    assert bare_line(raw)[0] == bare


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("error response NOT_COORDINATOR.", 16),
        ("Offset commit failed: The coordinator is not available.", 15),
        ("kafka server: Offset's topic has not yet been created", 15),
        ("% ERROR: Broker: Leader not available", 5),
        ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", 20),
        ("all is well", None),
    ],
)
def test_errors_are_known_in_the_words_of_each_client(text: str, code: int | None) -> None:
    assert error_code(text) == code


def test_a_coordinator_that_a_client_was_given_need_not_be_alive() -> None:
    """Any broker answers from its metadata who coordinates a group."""
    line = "[Consumer clientId=c, groupId=g] Discovered group coordinator h:9092 (id: 2147483644 rack: null)"
    found = gather(line)
    assert (found.alive, found.groups) == ({}, {"g": ""})


def test_an_error_in_prose_concerns_no_group() -> None:
    found = gather("we see COORDINATOR_NOT_AVAILABLE again\n" + ROW)
    assert (found.complaints, found.skipped.lines, list(found.read)) == ({}, 1, [X0])


def test_the_last_log_line_about_a_broker_counts_and_a_description_outweighs_a_log() -> None:
    log = "[2026-11-22 03:10:3{},402] INFO [Controller id=2] Newly added brokers: {}, deleted brokers: {}, bounced "
    log += "brokers: , all live brokers: 2,3 (kafka.controller.KafkaController)\n"
    state = (
        "[2026-11-22 03:10:33,530] INFO [Controller id=2 epoch=7] Partition x-0 state changed to (Leader:-1,ISR:1,"
        "LeaderEpoch:5,ControllerEpoch:7) after removing replica 1 from the ISR as part of transition to "
        "OfflineReplica (state.change.logger)\n"
    )
    found = gather(log.format(1, "", "1") + log.format(2, "1", "") + state + ROW)
    assert (set(found.alive), set(found.dead)) == ({1}, set())
    assert found.read[X0].view.leader == 1
    assert not found.two_rows
    assert gather(state).read[X0].view.isr == (1,)


def test_the_quorum_names_the_controller_and_the_mode() -> None:
    found = gather("ClusterId:   abc\nLeaderId:     3001\nLeaderEpoch:  4\n")
    assert (found.controller, found.mode, found.cluster_id) == (3001, Mode.KRAFT, "abc")


def test_groups_come_from_each_table_of_the_tool() -> None:
    text = (
        "$ kafka-consumer-groups.sh --bootstrap-server h:9092 --describe --group old\n"
        "TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID\norders  0  1  2  1  -\n\n"
        "GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID\n"
        "new  orders  0  1  2  1  -  -  -\n"
        "GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS\nbusy  h:9092 (3)  range  Stable  2\n"
        "Consumer group 'idle' has no active members.\nConsumer group 'typo' does not exist.\n"
    )
    found = gather(text)
    assert found.groups == {"old": "", "new": "", "busy": "Stable", "idle": "Empty"}
    assert found.alive == {3: "coordinates group busy"}
    assert found.skipped.lines == 0


def test_a_row_keeps_configs_with_commas_and_json() -> None:
    constraints = 'confluent.placement.constraints={"version":1,"replicas":[{"count":2}]}'
    found = gather(f"Topic: x PartitionCount: 1 Configs: cleanup.policy=compact,delete,{constraints},a.b=c\n{ROW}")
    assert found.configs["x"]["cleanup.policy"] == "compact,delete"
    assert found.configs["x"]["a.b"] == "c"
    assert found.configs["x"]["confluent.placement.constraints"].endswith("}]}")


def test_reassignments_are_read_in_both_spellings() -> None:
    for adding, removing in (("Adding Replicas", "Removing Replicas"), ("AddingReplicas", "RemovingReplicas")):
        found = gather(f"{ROW.strip()} {adding}: 2 {removing}: 1")
        assert found.moves == {X0: Assignment((1, 2), (2,), (1,))}


@pytest.mark.parametrize(
    "text",
    [
        "get /brokers/topics/x/partitions/0/state\n{",
        'Metadata for all topics (from broker 1: h:1/1):\n  topic "x" with 1',
        "Received log directory information from brokers 1\n{",
    ],
)
def test_what_is_cut_off_is_a_problem_with_its_line(text: str) -> None:
    [problem] = gather(text).problems
    assert problem.startswith(("1: ", "2: "))
    assert "cut off" in problem


@pytest.mark.parametrize(
    ("without", "again"),
    [
        ("get /controller\nNode does not exist: /controller\n", 'get /controller\n{"version":1,"brokerid":2}\n'),
        ("LeaderId: -1\n", "LeaderId: 2\n"),
    ],
)
def test_the_last_record_of_the_controller_counts(without: str, again: str) -> None:
    found = gather(without + again)
    assert (found.controller, found.lasting()) == (2, ())
    found = gather(again + without)
    assert (found.controller, len(found.lasting())) == (-1, 1)


@pytest.mark.parametrize("name", ["$GROUP", '"$GROUP"', "<group>", "%GROUP%"])
def test_a_variable_in_a_command_is_not_the_name_of_a_group(name: str) -> None:
    error = "Error: Executing consumer group command failed due to The coordinator is not available.\n"
    found = gather(f"$ kafka-consumer-groups.sh --bootstrap-server a:1 --describe --group {name}\n{error}")
    assert [(c.about, c.name) for c in found.lasting()] == [("group", "")]


def test_a_long_line_is_shortened_visibly() -> None:
    assert gather("x" * 100).skipped.shown == f"line 1: {'x' * 80} ..."
    assert gather("x" * 80).skipped.shown == f"line 1: {'x' * 80}"


@pytest.mark.parametrize("prompt", ["C:\\kafka> ", "C:\\Program Files (x86)\\kafka>", "PS C:\\kafka> ", "me@host:~$ "])
def test_a_filter_in_the_command_leaves_rows_out_whatever_the_prompt(prompt: str) -> None:
    command = "bin\\windows\\kafka-topics.bat --describe --under-replicated-partitions"
    assert "--under-replicated-partitions" in gather(f"{prompt}{command}\n{ROW}").partial
