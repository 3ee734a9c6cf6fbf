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


def test_ages_of_a_quorum_that_is_printed_for_people_show_who_stopped() -> None:
    row = "{}\tAAAAAAAAAAAAAAAAAAAAAA\t8\t{}\t{} ms ago\t{} ms ago\t{}\n"
    rows = ((1, 0, 5, 5, "Leader"), (2, 3, 101, 101, "Follower"), (3, 112_344, 9_822_311, 9_822_311, "Follower"))
    found = gather("".join(row.format(*each) for each in rows))
    assert {(each.about, each.broker) for each in found.lasting()} == {("voter", 3)}
    assert (set(found.alive), set(found.dead)) == ({1, 2}, {3})


@for_each(("lag", "kinds"), [(8_811_002, ["voter lags"]), (3, [])])
def test_a_voter_that_is_far_behind_and_never_caught_up_is_named_by_the_status(lag: int, kinds: list[str]) -> None:
    status = f"LeaderId: 3000\nMaxFollowerLag: {lag}\nMaxFollowerLagTimeMs: -1\n"
    assert [each.about for each in gather(status).lasting()] == kinds


def test_the_end_of_a_container_is_of_the_pod_that_was_described() -> None:
    pods = "NAME READY STATUS RESTARTS AGE\nprod-kafka-1 0/1 CrashLoopBackOff 27 (2m1s ago) 12d\n"
    [found] = gather(f"{pods}$ kubectl -n kafka describe pod prod-kafka-1\n      Reason:       OOMKilled\n").lasting()
    assert (found.about, found.detail) == ("pod", "prod-kafka-1 (CrashLoopBackOff, OOMKilled)")


def test_a_broker_that_only_one_of_two_lists_has_is_not_alive_by_them() -> None:
    listing = "Metadata for x (from broker 1: b1:9092/1):\n {} brokers:\n  broker 1 at b1:9092\n"
    both = gather(listing.format(2) + "  broker 3 at b3:9092\n" + listing.format(1))
    assert set(both.alive) == {1}


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


def test_rows_that_a_terminal_has_wrapped_below_a_wrapped_header_are_whole() -> None:
    found = gather(
        "GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG\nCONSUMER-ID  HOST  CLIENT-ID\n"
        "new  orders  0  1  2  1\n-  -  -\nnew  orders  1  1  2  1\nc-1  /10.0.0.1  c\nSome prose of six words more\n"
    )
    assert (found.groups, found.skipped.lines) == ({"new": ""}, 1)


def test_endpoints_show_who_is_fenced() -> None:
    found = gather(
        "ID         HOST      PORT       RACK       STATE      ENDPOINT_TYPE\n"
        "4          localhost 29092      null       unfenced   broker\n5  localhost 39092  null  fenced  broker\n"
    )
    assert (set(found.alive), set(found.dead), found.skipped.lines) == ({4}, {5}, 0)
    assert [(error.about, error.broker) for error in found.lasting()] == [("gone", 5)]


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


DOCKER = (
    "CONTAINER ID   IMAGE                       COMMAND                  CREATED       STATUS      PORTS      NAMES\n"
    '3f1a2b3c4d5e   confluentinc/cp-kafka:7.6   "/etc/confluent/dock\u2026"   2 hours ago   {}   9092/tcp   {}\n'
)
COMPOSE = (
    "NAME       IMAGE                COMMAND                  SERVICE   CREATED       STATUS          PORTS\n"
    '{1}   apache/kafka:3.9.0   "/__cacert_entrypoin\u2026"   broker    2 hours ago   {0}   9092/tcp\n'
)
OLD_COMPOSE = (
    "   Name       Command                       State    Ports\n----------------------------------------------\n"
    "{1}   /etc/confluent/docker/run   {0}   0.0.0.0:9092->9092/tcp\n"
)


@for_each(
    ("table", "status", "name", "down"),
    [
        (DOCKER, "Exited (137) 3 minutes ago", "kafka-2", True),
        (DOCKER, "Restarting (1) 12 seconds ago", "kafka-2", True),
        (DOCKER, "Up 2 hours (unhealthy)", "kafka-2", True),
        (DOCKER, "Up 2 hours (Paused)", "kafka-2", True),
        (DOCKER, "Up 2 hours (healthy)", "kafka-2", False),
        (DOCKER, "Up About an hour", "kafka-2", False),
        # A container that had one thing to do, and one that is no node.
        (DOCKER, "Exited (0) 3 minutes ago", "kafka-2", False),
        (DOCKER, "Exited (1) 3 minutes ago", "demo-kafka-ui-1", False),
        (COMPOSE, "Exited (1) 8 minutes ago", "demo-broker-3-1", True),
        # The name looks like a tool of Kafka with an argument.
        (COMPOSE, "Exited (1) 8 minutes ago", "kafka-broker", True),
        (COMPOSE, "Up 2 hours", "demo-broker-3-1", False),
        (COMPOSE, "exited (143)", "broker", True),
        (OLD_COMPOSE, "Exit 137", "kafka2", True),
        (OLD_COMPOSE, "Up", "kafka2", False),
    ],
)
def test_a_list_of_containers_shows_which_do_not_run_and_nothing_about_the_others(
    table: str, status: str, name: str, *, down: bool
) -> None:
    found = gather(table.format(status, name))
    assert [(c.about, c.name, c.detail) for c in found.lasting()] == ([("process", name, f"{name} ({status})")] * down)
    assert (found.alive, found.registered, found.skipped.lines) == ({}, None, 0)


@for_each(
    ("line", "about", "name"),
    [
        ("Nov 22 03:10:31 h systemd[1]: kafka.service: Main process exited, code=killed, status=9/KILL", "process",
         "kafka.service"),
        ("Nov 22 03:10:29 h kernel: Out of memory: Killed process 12 (java) total-vm:9912344kB", "process", "java"),
        ("kafka-2 exited with code 3", "process", "kafka-2"),
        ("      Reason:       OOMKilled", "process", ""),
        ("Warning  BackOff  90s  kubelet  Back-off restarting failed container kafka in pod k-kafka-1_kafka(8f)", "pod",
         "k-kafka-1"),
    ],
)  # fmt: skip
def test_a_supervisor_or_the_kernel_shows_that_a_process_ended(line: str, about: str, name: str) -> None:
    assert [(c.about, c.name) for c in gather(line).lasting()] == [(about, name)]


def test_a_unit_that_was_started_again_is_no_fault() -> None:
    ended = "Nov 22 03:10:31 h systemd[1]: kafka.service: Main process exited, code=killed, status=9/KILL\n"
    assert gather(f"{ended}Nov 22 03:10:41 h systemd[1]: Started kafka.service - Apache Kafka.").lasting() == ()


@for_each(
    ("line", "errors"),
    [
        ("kafka_controller_kafkacontroller_offlinepartitionscount 2.0", 1),
        ("kafka_server_replicamanager_underreplicatedpartitions 0.0", 0),
        ("Error: Partition reassignment failed: java.util.concurrent.ExecutionException: x", 1),
    ],
)
def test_a_gauge_above_0_and_an_error_of_a_tool_are_errors_that_are_not_known(line: str, errors: int) -> None:
    assert gather(line + "\n" + ROW).errors.lines == errors


@for_each(("lag", "caught", "lags"), [(50_000, 600, True), (0, 600, False), (3, 1, False)])
def test_a_voter_that_fetches_may_still_lag(lag: int, caught: int, *, lags: bool) -> None:
    table = "NodeId LogEndOffset Lag LastFetchTimestamp LastCaughtUpTimestamp Status\n"
    table += "1 150 0 {0} {0} Leader\n2 9 {1} {0} {2} Follower"
    now = 1_700_000_000_000
    found = gather(table.format(now, lag, now - caught * 1000)).lasting()
    assert [(c.about, c.broker) for c in found] == ([("voter lags", 2)] if lags else [])


HEAD = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
GROUP_ROWS = "g t 0 {} {} 9 c-1 /h c\ng t 1 {} {} 9 {} /h c\n"
BEFORE = HEAD + GROUP_ROWS.format(1000, 1010, 500, 1500, "c-1")
AFTER = HEAD + GROUP_ROWS.format(3000, 3010, 500, 3500, "c-1")


@for_each(
    ("texts", "standing"),
    [
        ((BEFORE, AFTER), True),
        ((AFTER, BEFORE), True),
        ((BEFORE,), False),
        ((BEFORE, BEFORE), False),
        # It was read by another member, or all of it was read, or its member reads nothing at all.
        ((BEFORE, HEAD + GROUP_ROWS.format(3000, 3010, 500, 3500, "c-2")), False),
        ((BEFORE, HEAD + GROUP_ROWS.format(3000, 3010, 3500, 3500, "c-1")), False),
        ((BEFORE, HEAD + GROUP_ROWS.format(1000, 3010, 500, 3500, "c-1")), False),
        # No record came.
        ((BEFORE, HEAD + GROUP_ROWS.format(3000, 3010, 500, 1500, "c-1")), False),
    ],
)
def test_a_partition_stands_if_its_member_reads_others_between_two_descriptions(
    texts: tuple[str, ...], *, standing: bool
) -> None:
    assert [(c.about, c.name) for c in gather("\n".join(texts)).lasting()] == (
        [("standing", "t-1")] if standing else []
    )


DATES = ("Sun Nov 22 12:00:00 UTC 2026", "Sun 22 Nov 2026 12:02:00 PM UTC",
         "Every 2.0s: kafka-consumer-groups.sh --describe  h: Sun Nov 22 12:02:00 2026")  # fmt: skip


@for_each("later", DATES[1:])
def test_two_descriptions_with_times_are_two_readings_of_a_group(later: str) -> None:
    found = gather(f"{DATES[0]}\n{BEFORE}\n{later}\n{AFTER}")
    first, last = found.readings
    assert last.taken_at - first.taken_at == 120
    assert [member.assigned for member in last.members or ()] == [(TopicPartition("t", 0), TopicPartition("t", 1))]
    assert found.lasting() == ()
