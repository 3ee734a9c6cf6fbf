"""What each wording of brokers, controllers and clients shows, and what a later line settles."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kfix.core.errors import InvalidFileError, UsageError
from kfix.diagnose.pasted import signs
from kfix.diagnose.pasted.folder import parse_folder
from kfix.diagnose.pasted.reader import parse_pasted
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnose.brokerlog.test_reading import MESSAGES
from tests.unit.diagnose.pasted.gathering import gather

AT = "[2026-11-22 03:10:3{},402] "
GROUP = "INFO [Consumer clientId=c, groupId=g] "
FENCED = (
    "INFO [QuorumController id=102] Fencing broker 1 at epoch 27 because its session has timed out. "
    "(org.apache.kafka.controller.ReplicationControlManager)"
)
UNFENCED = (
    "INFO [QuorumController id=102] The request from broker 1 to unfence has been granted because it has caught up. "
    "(org.apache.kafka.controller.BrokerHeartbeatManager)"
)
GONE = "INFO [Controller id=2] Newly added brokers: {}, deleted brokers: {}, bounced brokers: , all live brokers: 1 "


@given(st.sampled_from((*signs.SERVER, *signs.ENDS)), st.data())
def test_each_text_that_a_sign_matches_contains_its_needle(sign: signs.Sign, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(sign.pattern))
    assert sign.needle in text
    assert sign.needle, f"{sign.pattern.pattern}: give alternatives as patterns of their own"


@given(st.sampled_from(signs.ENDS), st.data())
def test_an_entry_of_level_info_that_ends_a_fault_is_read(sign: signs.Sign, data: st.DataObject) -> None:
    assert not signs.is_quiet(f" INFO [Consumer groupId=g] {data.draw(st.from_regex(sign.pattern))}")


#: Of messages that Kafka prints as WARN or ERROR.
LOUD = ("failed to", "Fatal error", "conflicting entries")


@for_each("example", [e for w in MESSAGES.values() for e in w.values() if not any(loud in e for loud in LOUD)])
def test_an_entry_of_level_info_that_a_post_mortem_reads_is_read(example: str) -> None:
    assert not signs.is_quiet(f" INFO {example}")


def _rows(file: str) -> list[list[str]]:
    lines = Path(__file__).with_name(file).read_text().splitlines()
    return [line.replace("\\n", "\n").split("\t") for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(("kind", "name", "broker", "entry"), _rows("server-entries.tsv"))
def test_an_entry_of_a_server_names_its_fault(kind: str, name: str, broker: str, entry: str) -> None:
    [found] = gather(AT.format(1) + entry).lasting()
    assert (found.about, found.name, found.broker) == (kind, name, int(broker))


@pytest.mark.parametrize(("about", "name", "code", "line"), _rows("client-entries.tsv"))
def test_each_client_names_its_group_or_topic_in_its_own_place(about: str, name: str, code: str, line: str) -> None:
    [found] = gather(line).lasting()
    assert (found.about, found.name, found.code) == (about, name, int(code))


@pytest.mark.parametrize(
    "line",
    [
        "%7|1593460123.747|REQERR|rdkafka#c-1| [thrd:m]: failed: Broker: Not coordinator for group: actions Go",
        "2026-11-26 12:00:00,000 ERROR consume failed error=LEADER_NOT_AVAILABLE, retry",
        # Of a process that is neither a broker nor a client.
        'Exception in thread "main" java.lang.OutOfMemoryError: heap\n    at com.example.Main.main(M.java:5)',
    ],
)
def test_a_word_behind_an_error_is_no_name(line: str) -> None:
    assert gather(line).lasting() == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{GROUP}Group coordinator k:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: x",
         f"{GROUP}Discovered group coordinator k:9092 (id: 2147483645 rack: null)"),
        (f"{GROUP}Offset commit failed on partition t-0 at offset 7: This is not the correct coordinator.",
         f"{GROUP}Successfully joined group with generation 5"),
        (GONE.format("", "2") + "(kafka.controller.KafkaController)",
         GONE.format("2", "") + "(kafka.controller.KafkaController)"),
        ("ERROR [KafkaServer id=2] Fatal error during KafkaServer startup. (kafka.server.KafkaServer)",
         "INFO [KafkaServer id=2] started (kafka.server.KafkaServer)"),
        ("INFO [RaftManager id=1] Re-elect as candidate after election backoff has completed (x)",
         "INFO [RaftManager id=2] Completed transition to Leader(localId=2, epoch=92, epochStartOffset=1) from x (x)"),
        ("WARN [KafkaServer id=1] Session 0x0 for sever z/10.0.0.1:2181, Closing socket connection. (x)",
         "INFO [KafkaServer id=1] Session establishment complete on server z/10.0.0.1:2181, session id = 0x1 (x)"),
        ("WARN [ReplicaFetcher replicaId=3, leaderId=2, fetcherId=0] Partition t-0 marked as failed (x)",
         "INFO [ReplicaFetcherManager on broker 3] Added fetcher to broker 1 for partitions Map(t-0 -> Initial (x)"),
        ("WARN [RaftManager id=101] Connection to node 1 (/10.0.0.1:9093) could not be established. (x)",
         "INFO [BrokerServer id=1] Transition from STARTING to STARTED (kafka.server.BrokerServer)"),
        (FENCED, UNFENCED),
        ("INFO [Partition t-0 broker=1] Shrinking ISR from 1,2 to 1. (kafka.cluster.Partition)",
         "INFO [Partition t-0 broker=1] ISR updated to [1,2] and zkVersion updated to [5] (kafka.cluster.Partition)"),
    ],
)  # fmt: skip
def test_a_later_entry_settles_an_error_by_its_time_and_not_by_its_line(before: str, after: str) -> None:
    error, end = AT.format(1) + before + "\n", AT.format(5) + after + "\n"
    assert gather(error + end).lasting() == gather(end + error).lasting() == ()
    late = AT.format(7) + before + "\n"
    assert len(gather(error + end + late).lasting()) == 1


def test_the_newest_epoch_of_a_partition_counts_in_the_logs_of_two_brokers() -> None:
    led = (
        f"{AT.format(5)}INFO [Controller id=2 epoch=7] Changed partition x-0 from OfflinePartition to OnlinePartition "
        "with state LeaderAndIsr(leader=2, leaderEpoch=6, isr=List(2, 3), zkVersion=9) (state.change.logger)\n"
    )
    lost = (
        f"{AT.format(1)}INFO [Controller id=1 epoch=7] Partition x-0 state changed to (Leader:-1,ISR:1,LeaderEpoch:5,"
        "ControllerEpoch:7) after removing replica 1 from the ISR as part of transition to OfflineReplica "
        "(state.change.logger)\n"
    )
    for text in (led + lost, lost + led):
        [read] = gather(text).read.values()
        assert (read.view.leader, read.view.leader_epoch) == (2, 6)


def test_a_folder_of_logs_is_one_text_and_names_who_stopped(tmp_path: Path) -> None:
    for broker in (1, 2):
        (tmp_path / f"broker-{broker}").mkdir()
        lines = [f"INFO [KafkaServer id={broker}] started (kafka.server.KafkaServer)"]
        lines += ["INFO [Log partition=t-0, dir=/data/a] Rolled new log segment (kafka.log.Log)"] * 100
        if broker == 2:
            lines += ["ERROR Shutdown broker because all log dirs in /data/a have failed (kafka.log.LogManager)"]
        text = "".join(f"{AT.format(n % 10)}{line}\n" for n, line in enumerate(lines))
        (tmp_path / f"broker-{broker}" / "server.log").write_text(text)
    [finding] = [f for f in diagnose(parse_folder(tmp_path, "logs")).findings if f.code != "KFX901"]
    assert (finding.code, finding.obj) == ("KFX406", "broker 2")
    assert finding.evidence[0].what == "broker-2/server.log:102"


def test_a_folder_without_anything_to_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        parse_folder(tmp_path, "logs")
    (tmp_path / "notes.txt").write_text("hello\n")
    with pytest.raises(InvalidFileError):
        parse_folder(tmp_path, "logs")


def test_an_unknown_error_is_shown_before_prose_and_is_never_healthy() -> None:
    text = (
        f"Hi all\n{AT.format(1)}WARN odd (a.B)\n{AT.format(2)}ERROR odder (a.B)\n{AT.format(3)}ERROR odd again (a.B)\n"
    )
    snapshot = parse_pasted(text, "paste.txt", 0.0)
    assert snapshot.pasted is not None
    assert (snapshot.pasted.skipped, snapshot.pasted.first_skipped[:7]) == (4, "line 3:")
    assert "errors in the text" in [source.name for source in snapshot.failed_sources]


LEFT = "[Partition orders-4 broker=2] Shrinking ISR from 2,1,3 to 2"
FATAL = "[KafkaServer id={}] Fatal error during KafkaServer startup. Prepare to shutdown (kafka.server.KafkaServer)"
LOCK = "org.apache.kafka.common.KafkaException: Socket server failed to bind to k1:9092: Address already in use"
LAGS = (
    "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
    "g t 0 {} {} 9 c-1 /h c\ng t 1 500 {} 9 c-1 /h c\n\n"
)
SHRUNK = "Topic: {} Partition: 0 Leader: 2 Replicas: 2,3 Isr: 2 Elr: 3\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MaxFollowerLagTimeMs:   1200111", ["a voter of the controller quorum does not"]),
        (f"{AT.format(1)}INFO {LEFT}. Leader: x (kafka.cluster.Partition)",
         ["Check whether brokers 1, 3 run, and that the leader can reach them"]),
        (f"{AT.format(1)}FATAL {FATAL.format(1)}\nx.RuntimeException: outer\nCaused by: {LOCK}",
         [f"broker 1 stopped with an error: Fatal error during KafkaServer startup: {LOCK.rpartition('.common.')[2]}"]),
        ("\n".join(f"{AT.format(n)}INFO [KafkaServer id={n}] shutting down (x)" for n in (1, 2)),
         ["brokers 1, 2 shut down, and the text shows no later start", "if nobody stopped them on purpose"]),
        ("Topic: x Partition: 0 Leader: none Replicas: 1,2 Isr: 2",
         ["Start broker 2 first with its old disk, never with an empty one, if not running: it is in the ISR of x-0"]),
        ("$ kafka-topics.sh --describe --under-min-isr-partitions\n"
         + SHRUNK.format("__consumer_offsets") + SHRUNK.format("x"),
         ["commits of groups fail at __consumer_offsets-0: fewer", "producers with acks=all fail for x-0: fewer"]),
        ("$ date\nSun Nov 22 12:00:00 UTC 2026\n" + LAGS.format(1000, 1010, 1500) + "Sun Nov 22 12:02:00 UTC 2026\n"
         + LAGS.format(3000, 3010, 3500),
         ["group g stands in t-1 at offset 500 for 2 min or longer, 3000 records behind, and reads its other"]),
        ("kafka-2 exited with code 137\n", ["docker logs --tail 100 kafka-2"]),
    ],
)  # fmt: skip
def test_a_finding_names_each_object_in_its_number_and_the_cause_that_the_log_shows(text: str, said: list[str]) -> None:
    findings = list(diagnose(parse_pasted(text, "paste.txt", 1_800_000_000.0)).walk())
    sentences = "\n".join(part for f in findings for part in (f.summary, *(r.text for r in f.remedies)))
    assert [each for each in said if each not in sentences] == []


def test_a_process_that_ended_is_no_finding_beside_the_reason_in_its_log() -> None:
    log = f"kafka-2  | {AT.format(1)}ERROR x in kafka-request-handler-3 (k.K)\n"
    log += "kafka-2  | java.lang.OutOfMemoryError: Java heap space\n"
    findings = diagnose(parse_pasted(f"{log}kafka-2 exited with code 3\n", "paste.txt", 1_800_000_000.0)).findings
    assert [f.code for f in findings if f.code != "KFX901"] == ["KFX402"]


LEDGER = (
    '[zk: z:2181(CONNECTED) 1] get /brokers/topics/ledger/partitions/0/state\n{"controller_epoch":4,"leader":-1,'
    '"version":1,"leader_epoch":9,"isr":[1]}\n[zk: z:2181(CONNECTED) 2] ls /brokers/ids\n'
)


@for_each(("brokers", "found"), [("[2, 3]", "KFX107:likely dead"), ("[1, 2]", "KFX102:ledger-0")])
def test_a_state_without_its_replicas_beside_a_list_of_brokers_is_judged(brokers: str, found: str) -> None:
    findings = diagnose(parse_pasted(f"{LEDGER}{brokers}\n", "paste.txt", 1_800_000_000.0)).findings
    assert [f.key for f in findings if f.code != "KFX901"] == [found]


@for_each(
    ("below", "about"),
    [
        ("org.apache.kafka.common.errors.TimeoutException: Expiring 1 record(s) for t-4:9 ms has passed", ["expired"]),
        ('cimpl.KafkaException: KafkaError{code=_ALL_BROKERS_DOWN,str="3/3 brokers are down"}', ["unreachable"]),
        # An ordinary end of a connection, and of a broker.
        ("org.apache.kafka.common.errors.DisconnectException", []),
    ],
)  # fmt: skip
def test_an_exception_below_an_entry_of_another_program_is_read(below: str, about: list[str]) -> None:
    found = gather(f"{AT.format(1)}INFO a line of another kind (com.acme.Main)\n{below}\n")
    assert [error.about for error in found.lasting()] == about


def test_an_exception_of_a_client_hides_no_error_above_it() -> None:
    error = "WARN [Producer clientId=p] Got error produce response on topic-partition t-4. Error: NOT_ENOUGH_REPLICAS"
    below = "org.apache.kafka.common.errors.TimeoutException: Expiring 1 record(s) for t-4:120000 ms has passed"
    found = gather(f"{AT.format(1)}{error} (o.a.k.Sender)\n{below}\n").lasting()
    assert [each.about for each in found] == ["expired", "topic"]


def test_an_exception_below_an_entry_of_a_folder_that_is_left_out_is_not_of_an_earlier_one(tmp_path: Path) -> None:
    entries = [f"{AT.format(1)}WARN [ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0] odd (k.F)",
               *[f"{AT.format(2)}INFO [Log partition=t-0, dir=/data] Rolled new log segment (kafka.log.Log)"] * 60,
               f"{AT.format(3)}INFO [Log partition=t-0, dir=/data] Closing (kafka.log.Log)",
               "java.io.IOException: No space left on device", "\tat x.Y.z(Y.java:1)"]  # fmt: skip
    (tmp_path / "server.log").write_text("\n".join(entries) + "\n")
    pasted = parse_folder(tmp_path, "logs").pasted
    assert pasted is not None
    assert pasted.complaints == ()


def test_an_exception_class_in_prose_is_an_unknown_error() -> None:
    assert gather(f"pykafka.exceptions.LeaderNotAvailable\n{LEDGER}[1]\n").errors.lines == 1


def test_a_group_in_a_table_of_states_is_reported_once() -> None:
    table = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\nbilling k:9092 (2) range PreparingRebalance 4\n"
    findings = diagnose(parse_pasted(table, "paste.txt", 1_800_000_000.0)).findings
    assert [f.key for f in findings if f.code != "KFX901"] == ["KFX111:group billing"]


FOLLOWS = "INFO [Broker id=2] Follower t-0 starts at leader epoch {} from offset 21 with partition epoch 3 and high {}"


def test_brokers_of_kraft_log_a_partition_that_has_no_leader_until_a_later_epoch_has_one() -> None:
    none = FOLLOWS.format(1, "watermark 21. Current leader is -1. Previous leader Some(1) (state.change.logger)")
    led = FOLLOWS.format(2, "watermark 21. Current leader is 3. Previous leader Some(-1) (state.change.logger)")
    assert [(c.about, c.name) for c in gather(AT.format(1) + none).lasting()] == [("offline", "t-0")]
    assert gather(f"{AT.format(1)}{none}\n{AT.format(2)}{led}").lasting() == ()


def test_a_replica_that_rejoins_the_isr_settles_nothing_about_another_one() -> None:
    at = "[Partition t-0 broker=1] "
    lines = (f"INFO {at}Shrinking ISR from 1,2,3 to 1. (kafka.cluster.Partition)",
             f"INFO {at}Expanding ISR from 1 to 1,2 (kafka.cluster.Partition)")  # fmt: skip
    text = "\n".join(AT.format(n) + line for n, line in enumerate(lines))
    assert [error.broker for error in gather(text).lasting()] == [3]


REGISTERED = "INFO Registered broker 3 at path /brokers/ids/3 with addresses: x (kafka.zk.KafkaZkClient)"


def test_a_new_controller_shows_which_brokers_are_gone_as_it_saw_none_of_them_leave() -> None:
    active = "INFO [Controller id=2] Currently active brokers in the cluster: Set(1, 2) (x)"
    found = gather(f"{AT.format(1)}{REGISTERED}\n{AT.format(2)}{active}")
    assert (sorted(found.alive), sorted(found.dead)) == ([1, 2], [3])


def test_a_broker_that_refuses_connections_after_it_registered_is_not_likely_alive() -> None:
    refused = "WARN [ReplicaFetcher replicaId=1] Connection to node 3 (/10.0.0.3:9092) could not be established. (x)"
    assert gather(f"{AT.format(1)}{REGISTERED}\n{AT.format(2)}{refused}").alive == {}


UNKNOWN = (
    "WARN [ReplicaFetcher replicaId=1, leaderId=3] Received UNKNOWN_TOPIC_OR_PARTITION from the leader for partition"
)


@for_each(
    ("last", "errors"),
    [
        ("INFO [Topic Deletion Manager 2] Deletion of topic t (re)started (kafka.controller.TopicDeletionManager)", 0),
        ("INFO [Topic Deletion Manager 2] Deletion of topic u (re)started (kafka.controller.TopicDeletionManager)", 2),
    ],
)
def test_a_topic_that_was_deleted_has_no_faults(last: str, errors: int) -> None:
    failed = "[Controller id=2 epoch=2] x failed to change state for partition t-0 from Offline to OnlinePartition"
    lines = (f"{UNKNOWN} t-0. (x)", f"ERROR {failed} (state.change.logger)", last)
    assert len(gather("\n".join(AT.format(n) + line for n, line in enumerate(lines))).lasting()) == errors


@for_each(("second", "node", "errors"), [("39", 1, 1), ("49", 1, 0), ("49", 2, 1)])
def test_an_error_that_a_node_repeats_is_over_once_its_log_goes_on_without_it(
    second: str, node: int, errors: int
) -> None:
    late = f"[2026-11-22 03:10:{second},402] INFO [Controller id={node}] Resigned (kafka.controller.KafkaController)"
    assert len(gather(f"{AT.format(1)}{UNKNOWN} t-0. (x)\n{late}").lasting()) == errors


REMOVED = "INFO [GroupCoordinator 1]: Member c-2 in group g has failed, removing it from the group (k.GroupCoordinator)"
PREPARING = (
    "INFO [GroupCoordinator 1]: Preparing to rebalance group g in state PreparingRebalance with old generation 6 "
    "(__consumer_offsets-11) (reason: {}) (k.GroupCoordinator)"
)
SLOW = "Removing member c-2 on LeaveGroup; client reason: consumer poll timeout has expired."


@pytest.mark.parametrize(
    ("entries", "stormy"),
    [
        ([REMOVED] * 3, True),
        ([REMOVED] * 2, False),
        ([PREPARING.format(SLOW)] * 3, True),
        ([PREPARING.format("Adding new member c-2 with group instance id None")] * 9, False),
    ],
)
def test_a_group_does_not_settle_if_members_are_removed_again_and_again(entries: list[str], *, stormy: bool) -> None:
    text = "".join(f"[2026-11-22 03:1{minute}:00,402] {entry}\n" for minute, entry in enumerate(entries))
    assert [(error.about, error.name) for error in gather(text).lasting()] == ([("storm", "g")] if stormy else [])


STABILIZED = "INFO [GroupCoordinator 1]: Stabilized group g generation 7 (__consumer_offsets-11) (k.GroupCoordinator)"
EMPTY = "INFO [GroupCoordinator 1]: Group g with generation 7 is now empty (__consumer_offsets-11) (k.Coordinator)"
STARTS = PREPARING.format("Adding new member c-2 with group instance id None")
LATER = "INFO x (k.GroupCoordinator)"


@for_each(
    ("entries", "lasts"),
    [
        ([STABILIZED, STARTS], False),
        ([STABILIZED, STARTS, LATER], True),
        ([STABILIZED, STARTS, STABILIZED, STARTS], True),
        ([STABILIZED, STARTS, STARTS, EMPTY], False),
        ([STARTS, LATER], False),
    ],
)
def test_a_group_that_does_not_come_out_of_its_rebalance_is_named(entries: list[str], *, lasts: bool) -> None:
    text = "".join(f"[2026-11-22 03:1{minute}:00,402] {entry}\n" for minute, entry in enumerate(entries))
    assert [(error.about, error.name) for error in gather(text).lasting()] == [("rebalancing", "g")] * lasts


def test_a_broker_that_is_not_restarted_because_of_a_short_isr_names_who_left_it() -> None:
    text = (
        "2021-12-16 16:05:22 INFO  KafkaAvailability:135 - Reconciliation #70(timer) Kafka(a/k): __consumer_offsets/27 "
        "will be under-replicated (ISR={0}, replicas=[0,4,5], min.insync.replicas=1) if broker 0 is restarted."
    )
    found = [(error.about, error.name, error.broker) for error in gather(text).lasting()]
    assert found == [("shrunk", "__consumer_offsets-27", 4), ("shrunk", "__consumer_offsets-27", 5)]


def test_one_removal_in_two_entries_counts_once() -> None:
    twice = PREPARING.format("removing member c-2 on heartbeat expiration")
    text = "".join(f"{AT.format(1)}{entry}\n" for entry in (REMOVED, twice) * 3)
    assert gather(text).lasting() == ()


MIN_ISR = (
    "ERROR [ReplicaManager broker=1] Error processing append operation on partition t-0 (k.ReplicaManager)\n"
    "x.NotEnoughReplicasException: The size of the current ISR Set(1) is insufficient to satisfy the min.isr "
    "requirement of {} for partition t-0"
)
GROWN = "INFO [Partition t-0 broker=1] ISR updated to 1,2  and version updated to 7 (kafka.cluster.Partition)"


@pytest.mark.parametrize(("minimum", "lasts"), [(2, False), (3, True)])
def test_an_isr_that_grows_to_the_minimum_ends_the_error_about_it(minimum: int, *, lasts: bool) -> None:
    found = gather(f"{AT.format(1)}{MIN_ISR.format(minimum)}\n{AT.format(2)}{GROWN}\n").lasting()
    assert [error.about for error in found] == (["min isr"] if lasts else [])


def test_a_broker_that_is_back_in_an_isr_is_reachable() -> None:
    lost = "java.io.IOException: Connection to 2 was disconnected before the response was read"
    text = f"{AT.format(1)}WARN [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Error (x)\n{lost}\n"
    assert [error.about for error in gather(text).lasting()] == ["unreachable"]
    assert gather(f"{text}{AT.format(2)}{GROWN}\n").lasting() == ()
