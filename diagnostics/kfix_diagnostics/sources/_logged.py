"""What errors in a pasted text mean: the finding that a diagnosis of the cluster itself has, and its remedies.

Each kind of error that `kfix/diagnose/pasted` recognizes has one row here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kfix.core.diagnosis.finding import Confidence, Severity

_C, _W = Severity.CRITICAL, Severity.WARNING
#: The code of findings about partitions without a leader.
NO_LEADER: Final = "KFX107"
_THROTTLES: Final = "replication throttles are left over"
_CERTAIN, _LIKELY, _POSSIBLE = Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE


@dataclass(frozen=True, slots=True)
class Meaning:
    """`{names}` are partitions or groups, `{broker}`, `{node}` and `{voter}` nodes. `{detail}` is what else the lines
    name, `{more}` the same behind a colon, if there is anything.

    `[runs|run]` is singular or plural by the number of brokers. Summary, cause, remedies and `never` are sentences
    without the final period. `blocked` says which clients wait.
    `about` is what the finding is about where the text names neither partition nor broker.
    """

    code: str
    severity: Severity
    about: str
    summary: str
    cause: str
    confidence: Confidence
    remedies: tuple[str, ...]
    never: str
    blocked: str = ""
    runbook: str = ""
    repairs: str = ""

    @property
    def of_partitions(self) -> bool:
        return "{names}" in self.summary and self.about not in {"a group", "a topic id", _THROTTLES}

    @property
    def of_brokers(self) -> bool:
        return "{broker}" in self.summary and "{names}" not in self.summary


_DISK = "Do not restart it with an empty disk while it has the only in-sync replica of a partition"
_META = "Do not delete meta.properties and do not format the log directories: they hold the partitions"
_CLEAN = "Do not trigger an unclean election: a broker with all records may be alive, or can be started"
_MIN_ISR: Final = Meaning(
    "KFX301", _C, "partitions", "producers with acks=all fail for {names}: fewer replicas are in sync than "
    "min.insync.replicas requires{more}", "replicas are dead or lag, or the topic has too few of them", _POSSIBLE,
    ("Start the brokers of the missing replicas with their old disks, never with an empty one",
     "If the topic has fewer replicas than min.insync.replicas requires, give it more, or lower the setting"),
    "Do not trigger an election of any kind: the partitions have leaders, and an election brings no replica back",
    "producers with acks=all", "under-min-isr",
    "The runbook names the broker to start and verifies recovery. Last resort: lower min.insync.replicas",
)  # fmt: skip
MEANINGS: Final = {
    "offline": Meaning(
        NO_LEADER, _C, "partitions", "{names} {have} no leader: the controller found no replica that may lead. "
        "The text shows neither its replicas nor its ISR", "no in-sync replica is alive", _LIKELY,
        ("Describe the topic, which shows the replicas and the ISR: kafka-topics.sh --describe",
         "Start the brokers of the ISR with their old disks; one of them leads by itself then"),
        _CLEAN, "producers and consumers of these partitions",
    ),
    "rebalancing": Meaning(
        "KFX111", _W, "a group", "{names} is in a rebalance: none of its members gets records until it ends{more}",
        "a member joins or left, or one does not answer the coordinator", _POSSIBLE,
        ("Ask again in a minute: an ordinary rebalance is over by then",
         "If it lasts, find the member that does not poll: kafka-consumer-groups.sh --describe --members"),
        "Do not restart all consumers: each start begins another rebalance", "consumers of the group",
    ),
    "late commit": Meaning(
        "KFX304", _W, "a group", "a commit of {names} was not finished in time{more}: the coordinator waits until all "
        "in-sync replicas of its partition of __consumer_offsets have it",
        "a replica of that partition is slow or dead and still in the ISR, or the coordinator is overloaded", _POSSIBLE,
        ("Describe __consumer_offsets, which shows its ISRs: kafka-topics.sh --describe",
         "If they are whole, compare the load and the disks of the brokers that hold the partition of the group"),
        "Do not reset the offsets of the group: the commits before are kept", "commits of the group",
    ),
    "storm": Meaning(
        "KFX111", _W, "a group", "{names} does not settle{more}: each removal begins another rebalance",
        "members crash, hang, or need longer than max.poll.interval.ms for one poll", _LIKELY,
        ("Find the member that the reasons name, and read its log at these times",
         "If it processes slowly: lower max.poll.records, or raise max.poll.interval.ms"),
        "Do not restart all consumers: each start begins another rebalance", "consumers of the group",
    ),
    "slow poll": Meaning(
        "KFX111", _W, "a group", "a consumer of {names} left the group: it took longer than max.poll.interval.ms "
        "between two polls, and its partitions went to the others",
        "processing what one poll returned takes too long, or hangs",
        _LIKELY,
        ("Lower max.poll.records, or raise max.poll.interval.ms; a thread dump of the consumer shows where it hangs",),
        "Do not restart brokers because of it: they removed a consumer that did not poll",
    ),
    "unstable": Meaning(
        "KFX108", _C, "a group",
        "{names} waits for a transaction that does not end{more}: its committed offsets are not stable",
        "a producer died or hangs within a transaction", _LIKELY,
        ("Find the transaction: kafka-transactions.sh --bootstrap-server HOST:PORT find-hanging --broker-id BROKER",
         "Start the application with its transactional.id again, which aborts the transaction"),
        "Do not reset the offsets of the group: it would skip or repeat records", "consumers of the group",
    ),
    "hanging": Meaning(
        "KFX116", _C, "a transaction", "a hanging transaction holds back the last stable offset of {names} ({detail}): "
        "consumers with isolation.level=read_committed are stuck there",
        "its coordinator has no record of it, so nothing ends it", _LIKELY,
        ("Start the application with its transactional.id again, which aborts the transaction",
         "If that does not end it, abort it with kafka-transactions.sh abort and the numbers above"),
        "Do not restart brokers because of it: the transaction stays open", "consumers with read_committed",
    ),
    "min isr": _MIN_ISR,
    "commits": replace(
        _MIN_ISR, code="KFX304", blocked="commits of the groups of these partitions",
        summary=_MIN_ISR.summary.replace("producers with acks=all fail for", "commits of groups fail at"),
    ),
    "shrunk": Meaning(
        "KFX302", _W, "partitions", "{broker} left the ISR of {names} and did not rejoin it in this text",
        "the replica is dead, slow, or cut off from the leader", _POSSIBLE,
        ("Check whether {broker} [runs|run], and that the leader can reach [it|them]",), _CLEAN,
    ),
    "log dir": Meaning(
        "KFX406", _W, "a log directory",
        "a log directory of {broker} failed ({detail}): its replicas there are offline",
        "the disk failed, was unmounted, or its file system reports errors", _LIKELY,
        ("Repair the disk or the file system, then restart {broker}: it reads its directories at the start",), _DISK,
    ),
    "all log dirs": Meaning(
        "KFX406", _C, "log directories", "{broker} stopped [itself: all its|themselves: all their] log directories "
        "failed ({detail})",
        "the disk failed, is full, was unmounted, or its file system reports errors", _LIKELY,
        ("Repair the disk or the file system with its old data, then start {broker}",), _DISK,
        "partitions whose only in-sync replica is there",
    ),
    "disk full": Meaning(
        "KFX406", _C, "a disk", "a disk of {broker} is full ({detail}): the broker stops or takes its log directory "
        "offline", "the disk is full", _CERTAIN,
        ("Enlarge the file system, then start {broker}. Otherwise remove files that are not Kafka's",
         "Then lower the retention of the largest topics"),
        "Do not delete segment files by hand: the log of the partition is corrupt then",
        "partitions whose only in-sync replica is there",
    ),
    "files": Meaning(
        "KFX402", _W, "a broker", "{broker} [has|have] no file descriptor left ({detail}): connections are refused, "
        "and log directories go offline", "the limit of open files is too low for the partitions and connections",
        _LIKELY, ("Raise the limit of open files (LimitNOFILE, ulimit -n), then restart {broker}",), _DISK,
    ),
    "stopped": Meaning(
        "KFX401", _W, "a broker", "{broker} stopped with an error: {detail}", "the error that the log shows", _LIKELY,
        ("Read the stack trace of the error, and mend its cause before the start",),
        "Do not start [it|them] with an empty disk: [it|they] may have the only copy of a record",
    ),
    "memory": Meaning(
        "KFX402", _W, "a broker", "{broker} ran out of memory ({detail}): it stops, or goes on with dead threads "
        "and leaves requests without an answer",
        "the heap is too small for the partitions, connections and requests", _LIKELY,
        ("Raise the heap (KAFKA_HEAP_OPTS), then restart the broker with its old disk",), _DISK,
    ),
    "tls port": Meaning(
        "KFX402", _W, "a client", "a client ran out of memory while it read an answer ({detail}): it probably speaks "
        "plaintext to a TLS listener",
        "the first bytes of TLS are taken for the length of an answer of 300 MB (KAFKA-4493)", _LIKELY,
        ("Set security.protocol of the client to that of the listener, SSL or SASL_SSL",
         "If the listener is plaintext, raise the heap of the client"),
        "Do not change the heap of the brokers because of it: a client ran out of memory",
    ),
    "fenced": Meaning(
        "KFX117", _W, "a producer", "a transactional producer was fenced{more}: another one with the same "
        "transactional.id started, or its transaction timed out",
        "two instances share a transactional.id, or one paused longer than transaction.timeout.ms", _POSSIBLE,
        ("Once after a restart or a rebalance is ordinary: the new instance works",
         "If it repeats, give each instance a transactional.id of its own, and look for long pauses of the fenced one"),
        "Do not send the records of the fenced producer again without a check: the new one may have sent them",
    ),
    "producer id": Meaning(
        "KFX117", _W, "a producer", "a producer waits in vain for its producer id: {detail}",
        "the transaction coordinator does not answer, or its partition of __transaction_state has no leader or too "
        "few in-sync replicas", _POSSIBLE,
        ("Describe __transaction_state, for partitions without a leader and short ISRs: kafka-topics.sh --describe",),
        "Do not change the transactional.id: transactions of the old one may be open", "the producer",
    ),
    "out of range": Meaning(
        "KFX113", _W, "partitions", "a consumer asked {names} for an offset that the log does not have{more}",
        "retention deleted the records before they were read, or an unclean election or a new topic made the log "
        "shorter", _POSSIBLE,
        ("Compare the committed offsets with the log: kafka-consumer-groups.sh --describe --group GROUP",
         "See what auto.offset.reset did: latest skips records, earliest reads them again"),
        "Do not reset the offsets of the group before it is known which records were skipped",
    ),
    "shutting down": Meaning(
        "KFX401", _W, "a broker", "{broker} [shuts|shut] down, and the text shows no later start",
        "somebody stopped [it|them], or an error that the log shows above", _POSSIBLE,
        ("Start {broker} again with [its old disk|their old disks] if nobody stopped [it|them] on purpose",),
        "Do not start [it|them] with an empty disk",
    ),
    "gone": Meaning(
        "KFX401", _W, "a broker", "{broker} left the cluster, and the text shows no later registration",
        "the broker is dead, frozen, or cut off", _LIKELY,
        ("If {broker} [does|do] not run, start [it with its old disk|them with their old disks]",), _CLEAN,
    ),
    "pod": Meaning(
        "KFX401", _W, "a pod", "{detail} is not ready", "the broker in it is starting, recovers its logs, or fails",
        _POSSIBLE,
        ("Read the log of the pod: kubectl logs {first}, with --previous if it restarts",
         "Wait if the log shows that it recovers its partitions: that needs time"),
        "Do not delete the volume of the pod: it holds the log directories",
    ),
    "process": Meaning(
        "KFX401", _W, "a process", "a process does not run, or is unhealthy: {detail}",
        "it ended or was stopped; 137 and 9 are a kill, often for lack of memory, 143 and 15 a stop", _POSSIBLE,
        ("Read the end of its log: docker logs --tail 100 {first}, or journalctl -u {first}",
         "Start it again with its old volume, never with an empty one, unless it was stopped on purpose"),
        "Do not remove its volume: it holds the log directories",
    ),
    "new id": Meaning(
        "KFX105", _W, "broker ids", "{broker} runs and has no replica of the partitions without a leader: {detail}. "
        "Its id may have changed", "the broker lost its volume or its broker.id, and got a new id at the start",
        _POSSIBLE,
        ("Find the volume with the old id (broker.id or node.id in meta.properties), and start the broker with it",),
        "Do not trigger an unclean election: no replica is on {broker}",
    ),
    "id taken": Meaning(
        "KFX401", _W, "a broker id", "{broker} [does not start: its id is|do not start: their ids are] registered "
        "already",
        "another process has the same id, or the session of the old one has not expired yet", _LIKELY,
        ("Wait for the session timeout and start it again; if that is refused, find the other process with this id",),
        "Do not delete the registration by hand: the other process may be alive",
    ),
    "locked": Meaning(
        "KFX401", _W, "a log directory", "{broker} does not start: {detail}",
        "another process uses the log directory, such as a broker that has not stopped yet", _LIKELY,
        ("Find the process that has the directory open (fuser, lsof), and end it if it is an old broker",),
        "Do not delete the file .lock: two brokers that write one directory destroy its logs",
    ),
    "broker id": Meaning(
        "KFX105", _C, "a broker id", "{broker} [does not start: its configured id is|do not start: their configured "
        "ids are] not the one in meta.properties "
        "({detail})", "the configuration has another id, or the disk belongs to another broker", _LIKELY,
        ("Set broker.id or node.id to the id in meta.properties, and check which volume is mounted",), _META,
    ),
    "cluster id": Meaning(
        "KFX817", _W, "cluster id", "{broker} [does not start: the cluster id that it finds|do not start: the "
        "cluster id that they find] is not the "
        "one in meta.properties ({detail})",
        "ZooKeeper has lost its data, zookeeper.connect names another ensemble, or the disk is of another cluster",
        _LIKELY,
        ("Check zookeeper.connect or controller.quorum.voters, and which volume is mounted",
         "If ZooKeeper or the controllers have lost their data: bring the data back from their disks or a backup"),
        "Do not delete meta.properties and do not format the log directories: the broker would join a cluster that "
        "does not know its partitions",
    ),
    "topic id": Meaning(
        "KFX201", _W, "a topic id", "{broker} [has|have] another topic id than the controllers ({names})",
        "the topic was deleted and created again while the broker was away", _LIKELY,
        ("Compare the id in partition.metadata on the broker with that of kafka-topics.sh --describe",),
        "Do not delete the directory of the partition before another replica is in sync",
    ),
    "stale record": Meaning(
        "KFX201", _W, "partitions", "{broker} [leads|lead] {names} by a record that is older than the one in "
        "ZooKeeper: ISR changes are refused", "the broker lost its session and did not notice the new leader", _LIKELY,
        ("Check which broker ZooKeeper names as leader",
         "If it is another one, restart {broker} once all partitions have another in-sync replica"),
        "Do not edit the state znode by hand",
    ),
    "edited": Meaning(
        "KFX201", _W, "partitions", "the state of {names} in ZooKeeper is changed by hand in this text: no "
        "broker is notified of it", "a hand edit", _CERTAIN,
        ("Diagnose the cluster itself: it compares the record with what the brokers have in memory",),
        "Do not edit the state znode again: an election by the controller is the only safe change",
    ),
    "fetch refused": Meaning(
        "KFX203", _W, "partitions", "followers of {names} get an error from {broker} ({detail}): [it does not know "
        "that it leads|they do not know that they lead] them", "the partition is being made or deleted, or the leader "
        "has a stale view", _POSSIBLE,
        ("Check whether {broker} [is the leader|are the leaders]: kafka-topics.sh --describe",
         "If so and the error lasts, restart {broker} while the partition has another in-sync replica"), _CLEAN,
    ),
    "fetcher dead": Meaning(
        "KFX302", _W, "a fetcher", "a fetcher thread from {broker} died: the follower no longer copies what {broker} "
        "leads", "an error that the thread does not survive", _LIKELY,
        ("Restart the follower whose log this is; its replicas catch up by themselves",), _CLEAN,
    ),
    "fetch failed": Meaning(
        "KFX302", _W, "partitions", "the replica of {names} on {broker} was marked as failed: it no longer follows",
        "an error in its log, such as a failed truncation", _LIKELY,
        ("Read the error above it in the log, then restart {broker}",), _CLEAN,
    ),
    "truncation refused": Meaning(
        "KFX809", _W, "partitions", "{broker} stopped [itself: its log|themselves: their logs] of {names} [is|are] "
        "longer than that of the leader "
        "({detail}). The records beyond it exist only on {broker}",
        "an unclean election chose a replica that lacked records", _LIKELY,
        ("Save the log of {names} on {broker} first: it is the only copy", "Then start {broker}"),
        "Do not start it with unclean.leader.election.enable=true, which truncates the log, before it is saved",
    ),
    "truncated": Meaning(
        "KFX809", _W, "partitions", "{broker} truncated {names} {detail}: committed records are gone there",
        "an unclean election, or a replica that lost its disk", _LIKELY,
        ("Find a replica that still has the records: kfix inspect reads the log directories of each broker",), _CLEAN,
    ),
    "unclean": Meaning(
        "KFX809", _W, "partitions", "an unclean election chose the leader of {names}: records that only other replicas "
        "had are lost", "no in-sync replica was alive, and unclean elections are allowed", _CERTAIN,
        ("Keep the disks of the other replicas: only they have the records",),
        "Do not start the former leader before its log is saved: it truncates to the new leader",
    ),
    "once leaderless": Meaning(
        "KFX204", _W, "partitions", "a log shows {names} without a leader, and another output of this text shows one",
        "the partition lost its leader and has one again, or the other output is older", Confidence.UNKNOWN,
        ("Diagnose the cluster itself: the text does not show which of both is later",),
        "Do not act on either before you know which of them is current",
    ),
    "offsets topic": Meaning(
        "KFX117", _C, "__consumer_offsets", "__consumer_offsets cannot be created ({detail}). "
        "No group works until then",
        "too few brokers are alive, or offsets.topic.replication.factor is too high", _CERTAIN,
        ("Start the other brokers with their old disks",
         "On a cluster of fewer brokers set offsets.topic.replication.factor to their number"),
        "Do not create __consumer_offsets by hand: its settings differ from those of other topics", "all groups",
    ),
    "too few brokers": Meaning(
        "KFX117", _W, "a topic", "a topic cannot be created: {detail}",
        "too few brokers are alive, or the topic is given too many replicas", _LIKELY,
        ("Start the brokers that are down with their old disks",
         "On a cluster of fewer brokers create the topic with as many replicas as there are brokers"), _CLEAN,
    ),
    "not loaded": Meaning(
        "KFX118", _C, "partitions", "the coordinator on {broker} failed to load {names} and refuses its groups",
        "a record that the coordinator cannot read", _LIKELY,
        ("Move the leadership to another in-sync replica, which loads it again",),
        "Do not delete the partition: it holds the committed offsets", "the groups of these partitions",
    ),
    "no voters": Meaning(
        "KFX811", _C, "controller quorum", "the quorum of {node} has no voters: no controller can be "
        "elected", "the node was formatted without voters, and controller.quorum.voters is not set", _LIKELY,
        ("Set controller.quorum.voters to the same list on every node again",
         "For a dynamic quorum: format a new cluster with kafka-storage.sh --initial-controllers"),
        "Do not format a controller that has metadata: it may be the only copy", "every change of metadata",
    ),
    "quorum": Meaning(
        "KFX811", _C, "controller quorum", "the controller quorum has no leader, so no partition gets another leader"
        "{more}", "too few voters are alive, or they do not reach each other", _LIKELY,
        ("Start controllers until a majority of the voters runs",),
        "Do not format the log directory of a controller: it may hold metadata that no other voter has",
        "every change of metadata",
    ),
    "voter": Meaning(
        "KFX812", _W, "a voter", "{voter} of the controller quorum [does|do] not fetch metadata{more}",
        "the controller is dead, or cut off from the active one", _LIKELY,
        ("Start {node}: one more loss may stop the quorum",),
        "Do not remove the voter while others are missing",
    ),
    "voter lags": Meaning(
        "KFX812", _W, "a voter", "{voter} of the controller quorum [lags|lag]: {detail}",
        "a slow disk or network of the controller, or a long pause", _POSSIBLE,
        ("Compare the disk, network and log of {node} with the others': the quorum can lose one voter less meanwhile",),
        "Do not restart another controller before it has caught up",
    ),
    "controllers": Meaning(
        "KFX813", _W, "a broker", "{broker} [does|do] not reach the active controller, or [is|are] refused by it "
        "({detail})", "the controllers have no leader, are cut off from the broker, or do not answer in time", _LIKELY,
        ("See whether the quorum has a leader: kafka-metadata-quorum.sh --bootstrap-server HOST:PORT describe --status",
         "If it has, check that {broker} [reaches|reach] the controllers, by the addresses in [its|their] settings"),
        "Do not restart the other brokers: without the controllers they do not start",
    ),
    "corrupt": Meaning(
        "KFX117", _W, "partitions", "{broker} [has|have] a corrupt record of {names}: {detail}",
        "the disk or the file system returned other bytes than were written, or an unclean stop", _POSSIBLE,
        ("Check that another replica is in sync: kafka-topics.sh --describe",
         "If so, move the leadership to it, and look at the disk of {broker} before the replica is copied anew"),
        "Do not delete segment files while this broker has the only in-sync replica",
    ),
    "expired": Meaning(
        "KFX117", _W, "a client", "a client gave up on {names} after a timeout ({detail})",
        "the leader does not answer or is slow, or replicas that acks=all waits for lag", _POSSIBLE,
        ("Describe the topic: check for partitions without a leader and for short ISRs: kafka-topics.sh --describe",
         "If it is well, look at the client: more records than its connection takes, or long pauses"),
        "Do not restart brokers because of it: nothing shows that one is at fault",
    ),
    "standing": Meaning(
        "KFX123", _W, "partitions", "nothing of {names} was read between two outputs of this text, while the member "
        "that has it read its other partitions{more}",
        "a record there fails its consumer each time, or its processing takes long", _POSSIBLE,
        ("Read the log of the consumer for the error at this offset: which record it is, and why it fails",
         "Mend the consumer: it reads on from there by itself"),
        "Do not reset the offsets of the group: it skips or repeats records of every partition",
    ),
    "unsteady": Meaning(
        "KFX815", _W, "controller", "the controller changes again and again ({detail} in this text)",
        "sessions or heartbeats time out: long garbage collections, slow disks, or the network", _POSSIBLE,
        ("Compare the times of the elections with the garbage collections of the controllers",),
        "Do not restart controllers one after the other: each restart is another election",
    ),
    "controller": Meaning(
        "KFX202", _C, "no controller", "ZooKeeper has no controller, so no leader is elected", "the text shows it",
        _CERTAIN,
        ("Check that at least one broker is registered: the first one that registers becomes the controller",),
        "Do not delete znodes below /brokers: the next controller reads the state of the partitions there",
    ),
    "migration": Meaning(
        "KFX819", _W, "migration to KRaft", "the migration to KRaft waits: {node} logs: {detail}",
        "brokers lack zookeeper.metadata.migration.enable or controller.quorum.voters, or do not reach the controller",
        _LIKELY,
        ("On the brokers that are not registered: set zookeeper.metadata.migration.enable=true and the voters",
         "Restart them one after the other"),
        "Do not switch ZooKeeper off: it has the only record of the cluster",
    ),
    "zookeeper": Meaning(
        "KFX806", _C, "ZooKeeper", "{broker} cannot connect to ZooKeeper ({detail})",
        "ZooKeeper is down, has no quorum, or is cut off from the broker", _LIKELY,
        ("Start the ZooKeeper servers until a majority runs; brokers register again by themselves",),
        "Do not restart brokers before that: without ZooKeeper they do not start",
    ),
    "session": Meaning(
        "KFX806", _W, "ZooKeeper", "{broker} lost its ZooKeeper session ({detail}), and the text shows no later one",
        "a pause longer than zookeeper.session.timeout.ms, such as a garbage collection, or ZooKeeper was cut off",
        _POSSIBLE, ("Check that {broker} [is|are] registered: ls /brokers/ids in zookeeper-shell.sh",), _CLEAN,
    ),
    "no metadata": Meaning(
        "KFX117", _W, "a client", "a client waits in vain for metadata: {detail}",
        "the topic does not exist, the client may not describe it, or it reaches no broker", _POSSIBLE,
        ("Check that the topic exists: kafka-topics.sh --describe",
         "Check that the client reaches the address that the brokers advertise"),
        "Do not restart brokers because of it: nothing shows that one is at fault",
    ),
    "login": Meaning(
        "KFX402", _W, "a broker", "connections to {broker} fail at the authentication: {detail}",
        "wrong credentials, or a certificate that one side does not trust or that has expired", _LIKELY,
        ("Compare the credentials and certificates of both sides, and their dates of expiry",),
        "Do not restart the broker for this alone: it runs, and refuses",
    ),
    "advertised": Meaning(
        "KFX402", _W, "advertised.listeners", "{broker} [advertises|advertise] {detail}, which clients on other "
        "hosts cannot reach",
        "advertised.listeners is not set, or names localhost", _LIKELY,
        ("Set advertised.listeners of {broker} to an address that its clients reach, then restart it",),
        "Do not restart the broker for this alone: it runs", "clients on other hosts",
    ),
    "unreachable": Meaning(
        "KFX402", _W, "a broker", "{broker} [refuses or closes|refuse or close] connections ({detail})",
        "the broker stopped, restarts, or is cut off from this client", _POSSIBLE,
        ("Check whether {broker} [runs|run], and which partitions [it leads|they lead]: kafka-topics.sh --describe",),
        _CLEAN,
    ),
    "tiered": Meaning(
        "KFX117", _W, "tiered storage", "{broker} cannot copy segments of {names} to tiered storage: local retention "
        "frees nothing, and the local disk fills", "the remote storage refuses, or a segment cannot be copied", _LIKELY,
        ("Read the stack trace below the error in the log of {broker}, and watch the free space of its disks",),
        "Do not delete local segments: they have no copy in tiered storage",
    ),
    "election": Meaning(
        "KFX117", _W, "partitions", "the election of a leader of {names} failed: {detail}",
        "no replica that may lead is alive, or the preferred one is not in sync", _LIKELY,
        ("Start the brokers of the replicas in the ISR with their old disks; a clean election follows by itself",),
        _CLEAN,
    ),
    "throttled": Meaning(
        "KFX503", Severity.INFO, _THROTTLES,
        "replicas of topic {names} are marked as throttled, and no reassignment of it is under way",
        "the tool that set the throttles was killed, or did not remove them", _LIKELY,
        (), "Do not remove throttles while replicas are being moved: the copy takes the bandwidth of the clients",
        runbook="sweep-throttles",
        repairs="Remove the throttles. The runbook refuses while anything is being moved",
    ),
    "reassignment": Meaning(
        "KFX501", _W, "partitions", "the reassignment of {names} failed{more}",
        "a broker of the new replicas is not alive", _POSSIBLE,
        ("Check that all brokers of the new assignment are alive, then run kafka-reassign-partitions.sh again",),
        "Do not delete /admin/reassign_partitions by hand",
    ),
}  # fmt: skip
