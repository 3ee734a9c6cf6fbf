"""The faults that a log entry shows, in the wordings of brokers, controllers and clients.

A name comes only from the place where its client prints names. The constants of brokers and controllers are those of
Kafka 2.7.1 and 4.3.1; if one of them differs, both wordings are here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_TP: Final = r"(?P<tp>[\w.-]{1,249}-\d{1,9})"
_SLASHED: Final = r"(?P<topic>[\w.-]{1,249})/(?P<partition>\d{1,9})"
_DIR: Final = r"(?P<detail>/\S*?)(?=[.,;:)\]]?(?:\s|$))"


#: An entry below the level WARN must contain one of these to match a wording; most entries do not.
_QUIET: Final = (" INFO ", " DEBUG ", " TRACE ")
_HINTS: Final = (
    "groupId=", 'Group "', " brokers:", "Registered broker", "elected", "Resigned", "ontroller moved", "state changed",
    "Changed partition", "starts at", "become follower", "encing broker", "unfence", "nclean", "UNCLEAN",
    "active controller", "Renouncing", "oters", "aiting for", "Truncating", "started", "STARTED", "shutting",
    "shut down", " ISR ", "zkVersion", "Socket error", "Session ", "Connected.", "ransition to", " elect", "-elect",
    "Election", "Deletion of", "Added fetcher", "active brokers", "xception", "copying log", "Stabilized group",
    "to rebalance group", "has failed, removing", "nable to register", "RPC got timed out", "is now empty",
    "oined group", "replicated (", " for group ", "created znode at", "state change to [retrying]",
)  # fmt: skip


def is_quiet(line: str, hints: Iterable[str] = _HINTS) -> bool:
    """Returns whether no wording matches an entry in this line: a quick test, since logs are long."""
    return any(map(line.__contains__, _QUIET)) and not any(map(line.__contains__, hints))


def hints_in(text: str) -> tuple[str, ...]:
    """Returns the hints of `is_quiet` that any of the lines in a text contains."""
    return tuple(hint for hint in _HINTS if hint in text)


class Sign(NamedTuple):
    """A wording: `kind` is its subject (`kfix_diagnostics/sources/_logged.py`).

    Its groups name the faulty object: `tp`, `topic` and `partition`, `broker`, and `detail`. Only a text that contains
    `needle` can match, and searching for a string is far quicker than for a pattern.
    """

    kind: str
    pattern: re.Pattern[str]
    needle: str


def signs_in(signs: tuple[Sign, ...], text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yields the kind of each sign that matches, in their order."""
    for kind, pattern, needle in signs:
        if needle in text and (match := pattern.search(text)):
            yield kind, match


def _sign(kind: str, *patterns: str) -> tuple[Sign, ...]:
    return tuple(Sign(kind, re.compile(pattern), needle_of(pattern)) for pattern in patterns)


_PART: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[\d,]*\}|.")
#: A group that is there once and has no alternatives: its content is as good as text outside.
_PLAIN_GROUP: Final = re.compile(r"\((?:\?P<\w+>|\?:)((?:\\.|[^()|\\])*)\)(?![?*{])")


def needle_of(pattern: str) -> str:
    """Returns the longest text that each match of a pattern contains; empty if the pattern has alternatives."""
    while (unwrapped := _PLAIN_GROUP.sub(r"\1", pattern)) != pattern:
        pattern = unwrapped
    texts, depth = [""], 0
    for part in _PART.findall(pattern):
        depth += {"(": 1, ")": -1}.get(part, 0)
        escaped = part[0] == "\\" and not part[1].isalnum()
        if depth:
            texts.append("")
        elif part == "|":
            return ""
        elif escaped or part[0] not in "()[{?*+.^$\\":
            texts[-1] += part[-1]
        else:
            if part[0] in "?*{":
                texts[-1] = texts[-1][:-1]  # the character before may be missing
            texts.append("")
    return max(texts, key=len)


#: A topic cannot be created; the offsets topic has to be named.
_TOO_FEW: Final = (
    r"(?P<detail>[Rr]eplication factor: \d+ larger than available brokers: \d+)",
    r"(?P<detail>target replication factor of \d+ cannot be reached because only \d+ broker\(s\))",
)
_FENCED: Final = ("ProducerFenced", "InvalidProducerEpoch")
#: Wordings of brokers and controllers; the first match counts, so a cause precedes its consequences.
SERVER: Final = (
    *_sign(
        "cluster id",
        r"Cluster ID (?P<detail>\S+ doesn't match stored clusterId (?:Some\()?[\w-]+\)?)",
        r"Invalid cluster\.id in: (?P<detail>\S+ Expected \S+, but read \S+)",
        # A controller that refuses a broker does not name it.
        r"registerBroker: event failed with InconsistentClusterIdException(?P<broker>) .*"
        r"(?P<detail>Expected cluster ID \S+, but got cluster ID [\w-]+)",
        r"INCONSISTENT_CLUSTER_ID",
        r"InconsistentClusterIdException",
        r'The given id "(?P<detail>[^"]+" doesn\'t match the cluster id "[^"]+)',
    ),
    *_sign(
        "broker id",
        r"Configured broker\.id (?P<broker>\d+) doesn't match stored broker\.id (?P<detail>\S*\d+)",
        r"Stored node id (?P<detail>\d+) doesn't match previous node id (?P<broker>\d+)",
        r"InconsistentBrokerIdException",
    ),
    *_sign(
        "id taken",
        r"A broker is already registered on the path /brokers/ids/(?P<broker>\d+)",
        r"NodeExists(?:Exception)?(?::.*)? for /brokers/ids/(?P<broker>\d+)",
        r"Error while creating ephemeral at /brokers/ids/(?P<broker>\d+), node already exists",
        r"DUPLICATE_BROKER_REGISTRATION",
        r"DuplicateBrokerRegistrationException",
        r"Another broker is registered with that",
    ),
    *_sign("topic id", rf"INCONSISTENT_TOPIC_ID.*?{_TP}", r"InconsistentTopicIdException", r"INCONSISTENT_TOPIC_ID",
           rf"[Tt]opic [Ii][Dd] in memory: .*? for partition {_TP} does not match"),
    *_sign(
        "all log dirs",
        rf"[Ss]hutdown broker because all log dirs in {_DIR}",
        rf"[Ss]hutdown broker because none of the specified log dirs from {_DIR}",
    ),
    *_sign("files", r"Error while accepting connection(?s:.*)(?P<detail>Too many open files)",
           r"(?:log dir|in dir|directory) /(?s:.*)(?P<detail>Too many open files)"),
    *_sign("locked", r"(?P<detail>Failed to acquire lock on file \.lock in /[^\s]*[^\s.])"),
    *_sign("disk full", r"(?P<detail>No space left on device)", r"(?P<detail>Disk quota exceeded)"),
    *_sign(
        "log dir",
        rf"Stopping serving (?:logs|replicas) in dir {_DIR}",
        rf"[Ff]ailed log directory {_DIR}",
        rf"(?:Error|Failed|Exception|Disk error) .*?\b(?:in (?:dir|log dir)|log dir|directory) {_DIR}",
        r"(?P<detail>Input/output error)", r"(?P<detail>Read-only file system)",
        r"(?P<detail>Structure needs cleaning)", r"(?P<detail>Stale file handle)",
    ),
    *_sign(
        "truncation refused",
        rf"log truncation is not allowed for partition {_TP}, current (?P<detail>leader's latest offset \d+ is less "
        r"than replica's latest offset \d+)",
    ),
    *_sign("truncated", rf"Truncating (?:partition )?{_TP} .*?(?P<detail>below high watermark \d+)"),
    *_sign("unclean", rf"Triggering unclean leader election for offline partition {_TP}",
           rf"UNCLEAN partition change for {_TP}"),
    *_sign("offsets topic",
           r"(?P<detail>alive brokers '\d+' does not meet the required replication factor '\d+')",
           *(f"__consumer_offsets(?s:.*){pattern}" for pattern in _TOO_FEW),
           # Created for the first group that asks for its coordinator.
           *(f"{pattern}(?s:.*)handle{api}CoordinatorRequest" for pattern in _TOO_FEW for api in ("Group", "Find"))),
    *_sign("too few brokers", *_TOO_FEW),
    *_sign("min isr", rf"insync replicas for partition {_TP} is (?P<detail>\[\d+\], below required minimum \[\d+\])",
           rf"current ISR .*?(?P<detail>insufficient to satisfy the min\.isr requirement of \d+) for .*?{_TP}",
           # An operator that does not restart a broker because of it.
           rf"{_SLASHED} is already under-?replicated \((?P<detail>[^)]*min\.insync\.replicas=\d+)"),
    *_sign("no voters", r"Starting voters are VoterSet\(voters=\{\}\)", r"UnattachedState\(.*?voters=\[\]"),
    *_sign("quorum", r"Election timed out before receiving sufficient vote responses",
           r"No controller appears to be active", r"Re-elect as candidate after election backoff",
           r"Election has timed out, backing off", r"Insufficient remaining votes to become leader"),
    *_sign("migration", r"KRaftMigrationDriver[^\]]*\] (?P<detail>(?:No brokers are known to KRaft|Still waiting).*)"),
    *_sign("tiered", rf"Error occurred while copying log segments of partition:? (?:[\w-]{{22}}:)?{_TP}"),
    *_sign("not loaded", rf"Failed to load metadata from {_TP} with epoch", rf"Error loading offsets from {_TP}"),
    *_sign("fetch refused", rf"Error for partition (?:\[(?P<topic>[\w.-]+),(?P<partition>\d+)\]|{_TP}) to broker "
           r"(?P<broker>\d+):(?P<detail>[\w.$]+)",
           rf"leaderId=(?P<broker>\d+).*?\] Error for partition {_TP} at offset \d+\s*(?P<detail>[\w.$]*)",
           rf"leaderId=(?P<broker>\d+).*?\] Received (?P<detail>\w+) from the leader for partition {_TP}"),
    *_sign("fetcher dead", r"ReplicaFetcher[^\]]*leaderId=(?P<broker>\d+)[^\]]*\][,:]? Error due to",
           r"ReplicaFetcherThread-\d+-(?P<broker>\d+)\][,:]? Error due to"),
    *_sign("fetch failed", rf"Partition {_TP} marked as failed",
           rf"(?:Unexpected error occurred|Error) while processing data for partition {_TP}"),
    *_sign("stale record", rf"\[Partition {_TP} broker=(?P<broker>\d+)\] Cached zkVersion"),
    *_sign("offline", rf"failed to change state for partition {_TP} from \w+ to OnlinePartition",
           rf"error during state change of partition {_TP} from \w+ to Online",
           rf"Failed to elect leader for partition {_TP} under strategy",
           r"Topic (?P<topic>[\w.-]{1,249}) partition (?P<partition>\d+) Leader -1"),
    *_sign("expired", rf"Expiring \d+ record\(s\) for {_TP}: ?(?P<detail>\d+ ms has passed)",
           rf"(?P<detail>Timeout of \d+ms expired) before the position for partition {_TP} could be determined"),
    *_sign("no metadata", r"(?P<detail>Topic [\w.-]{1,249} not present in metadata after \d+ ms)",
           r"(?P<detail>Failed to update metadata after [\d.]+ m?s)",
           r"(?P<detail>Timeout expired while fetching topic metadata)"),
    *_sign("producer id", r"(?P<detail>Failed to initialize Producer ID: [\w: ]+)",
           r"(?P<detail>Timeout expired after \d+ ?ms while awaiting InitProducerId)"),
    *_sign("login", r"onnection to node (?P<broker>-?\d+) \(\S+\) failed authentication due to: (?P<detail>.{1,120})",
           r"(?P<detail>SASL authentication error: [\w :,.-]{1,120})",
           r"(?P<detail>SSL handshake failed: [\w :,.-]{1,120})"),
    *_sign("advertised", r"onnection to node (?P<broker>\d+) \((?P<detail>(?:localhost|127\.)\S*)\) could not"),
    *_sign("unreachable", r"onnection to node (?P<broker>\d+) \((?P<detail>\S+)\) could not be established",
           r"onnection to (?P<broker>\d+) was disconnected before"),
    *_sign("zookeeper", r"Socket error occurred: (?P<detail>\S+): Connection refused",
           r"[Tt]imed out waiting for connection while in state: (?P<detail>\w+)",
           r"(?:server|sever) (?P<detail>\S+?), (?:unexpected error|Closing socket connection)"),
    *_sign("session", r"Unable to reconnect to ZooKeeper service, session (?P<detail>\w+) has expired"),
    *_sign("controllers", r"Broker (?P<broker>\d+) sent a heartbeat request but received error (?P<detail>\w+)",
           r"Unable to register broker (?P<broker>\d+) because the controller returned error (?P<detail>\w+)",
           r"(?P<detail>Unable to send a heartbeat because the RPC got timed out)",
           r"(?P<detail>Unable to register the broker because the RPC got timed out)"),
    *_sign("tls port", r"kafka-(?:producer-network|admin-client|coordinator-heartbeat)-thread(?s:.*?)"
           r"(?P<detail>OutOfMemoryError: [\w ]+)",
           r"(?P<detail>OutOfMemoryError: [\w ]+)(?s:.{0,900}?)kafka\.clients\.NetworkClient\.poll"),
    *_sign("fenced", *(rf"transactionalId=(?P<detail>[^\s,\]]+)(?s:.*?){name}Exception" for name in _FENCED),
           *(f"{name}Exception" for name in _FENCED),
           r"This instance has been fenced by a newer instance", r"Producer attempted .{1,40} an old epoch"),
    *_sign("out of range", rf"etch (?:position|offset) (?P<detail>.{{1,300}}?) is out of range for partition {_TP}",
           rf"OffsetOutOfRangeException: (?s:.{{0,200}}?)partitions: \{{{_TP}=(?P<detail>\d+)",
           r"(?<![\w.-])(?P<topic>[\w.-]{1,249}) \[(?P<partition>\d+)\]: offset reset \(at (?P<detail>offset \d+)"
           r".*?out of range",
           r"consuming (?P<topic>[\w.-]{1,249})/(?P<partition>\d+): .*?outside the range of offsets",
           r"is out of range for topic-partition TopicPartition\(topic=u?'(?P<topic>[\w.-]{1,249})', "
           r"partition=(?P<partition>\d+)",
           r"KafkaError\{.*?Broker: Offset out of range"),
    *_sign("stopped", r"(?P<detail>Fatal error during \w+ startup)", r"(?P<detail>Fatal error during \w+ shutdown)",
           r"(?P<detail>Received a fatal error while waiting for [\w ]+)",
           r"(?P<detail>There was an error in one of the threads during logs loading: .{1,150})",
           r"(?P<detail>Shutting down because we were unable to register with the controller quorum)",
           r"(?P<detail>Exiting Kafka due to fatal exception)", r"Encountered fatal fault: (?P<detail>.{1,120})"),
    *_sign("corrupt", rf"on partition {_TP}(?s:.*?)CorruptRecordException: (?P<detail>.{{1,200}})",
           r"(?P<detail>Found record size \S+ smaller than minimum record overhead \S+) in file "
           r"/\S*?/(?P<topic>[\w.-]{1,249})-(?P<partition>\d+)/"),
    # Any process on the JVM may run out of memory: a thread or a frame shows that it is a broker.
    *_sign("memory", r"kafka(?s:.*?)(?P<detail>OutOfMemoryError: [\w ]+)",
           r"(?P<detail>OutOfMemoryError: [\w ]+)(?s:.*?)\bkafka\."),
    *_sign("shutting down", r"(?:KafkaServer|BrokerServer|ControllerServer) id=(?P<broker>\d+)\] shutting down"),
    *_sign("pod", r"[Pp]od (?:resource )?(?P<detail>[\w-]+-\d+)(?: in namespace \S+)? to (?:become|be) ready"),
    *_sign("reassignment", rf"(?:Failed completing|Error completing) reassignment of partition {_TP}"),
)  # fmt: skip
#: A coordinator removes a member that does not answer or poll; a member that is stopped leaves by itself.
MEMBER_FAILED: Final = re.compile(
    r"Member (?P<member>\S+) in group (?P<group>.{1,249}?) has failed, removing it|"
    r"to rebalance group (?P<g>.{1,249}?) in state .*?reason: (?P<reason>[^)]*(?:expiration|poll timeout)[^)]*)"
)
#: A coordinator begins a rebalance of a group, and ends it.
REBALANCES: Final = re.compile(r"to rebalance group (?P<group>.{1,249}?) in state ")
SETTLED: Final = re.compile(
    r"Stabilized group (?P<a>.{1,249}?) generation \d+|Group (?P<b>.{1,249}?) with generation \d+ is now empty"
)
#: An operator prints the replicas and the ISR of a partition for whose sake it does not restart a broker.
HELD: Final = re.compile(
    rf"{_SLASHED} (?:will be|is already) under-?replicated "
    r"\(ISR=\{(?P<isr>[\d, ]*)\}, replicas=\[(?P<replicas>[\d, ]+)\], "
)
_STARTED: Final = r"(?:KafkaServer|BrokerServer) id=(?P<broker>\d+)\] (?:started$|Transition from STARTING to STARTED)"
#: {kind: the wording that shows its end}. The subject is the error's, so `group` has to be in the same entry.
ENDS: Final = (
    *_sign("group", r"Successfully (?:joined|synced) group", r"Adding newly assigned partitions", r"joined group",
           r"rebalance(?:d)? .*?new assignment"),
    *_sign("stopped", _STARTED),
    *_sign("shutting down", _STARTED),
    *_sign("memory", _STARTED),
    *_sign("controllers", _STARTED, r"The broker has been unfenced"),
    *_sign("zookeeper", r"Session establishment complete", r"\] Connected\."),
    *_sign("session", r"Session establishment complete", r"Stat of the created znode at /brokers/ids/\d+ is",
           r"Registered broker \d+ at path /brokers/ids/"),
    *_sign("quorum", r"ransition to (?:Leader|Follower)(?:State)?\(", r"Becoming the active controller at epoch"),
)  # fmt: skip
#: A coordinator was named, so there is one; the next answer shows whether it works.
DISCOVERED: Final = re.compile(
    r'Discovered (?:group )?coordinator|Group "[^"]+" coordinator is \S+ id \d+|'
    r"coordinator for (?:consumer)?group \S+ is #\d+"
)
UNAVAILABLE: Final = re.compile(
    r"[Gg]roup coordinator \S+ \(id: \d+ rack: \S*?\) is unavailable or invalid|"
    r"Marking the coordinator \S+ \(id: \d+ rack: \S*?\) dead for group|"
    r"coordinator for (?:consumer)?group \S+ is unavailable"
)
#: Places at which a client prints the name of a group.
GROUP: Final = re.compile(
    r"\bgroup(?:Id|\.id|_id)?=['\"]?(?P<a>[^\s,\]'\")]{1,249})|\b[Gg]roup \"(?P<b>[^\"]{1,249})\"|"
    r"(?:;|,) group: (?P<c>[^\s,]{1,249})|\bconsumergroup[ /](?P<d>[^\s/:]{1,249})|"
    r"(?:coordinator (?:dead .*? |\S+ \(id: .*?\) (?:dead )?)?for|join|sync|joining|leave|[Ff]ailed for) "
    r"group (?P<e>[\w.-]{1,249}?)(?:: | because |[:.]?$)|"
    r"[Ss]uccessfully (?:joined|synced) group (?P<f>[\w.-]{1,249})(?= with )"
)
#: A consumer that was removed from its group, or leaves it, since it did not poll in time.
SLOW_POLL: Final = re.compile(
    r"consumer poll timeout has expired|(?:longer|greater) than the configured max\.poll\.interval|"
    r"the consumer is not part of an active group|ommit cannot be completed since the group has already"
)
#: A consumer learns that its group is in a rebalance.
REBALANCING: Final = re.compile(
    r"because it is rebalancing|due to: group is already rebalancing|heartbeat failed since group is rebalancing"
)
#: A commit that the coordinator accepts and does not finish, since its replicas lag.
LATE_COMMIT: Final = re.compile(r"Offset commit failed on partition .*?: (?P<detail>The request timed out)")
#: Places at which a client prints a topic, with or without a partition.
METADATA: Final = re.compile(r"Error while fetching metadata with correlation id \d+ ?: \{(?P<pairs>[^}]*)\}")
PAIR: Final = re.compile(r"(?P<topic>[\w.-]{1,249})=(?P<error>[A-Z_]{8,60})(?=,|$)")
TOPIC: Final = re.compile(
    r"\b(?:topic-)?partition (?P<a>[\w.-]{1,249})-\d+\b|\bsending message to topic (?P<b>[\w.-]{1,249}) with|"
    r"(?<![\w.\"-])(?P<c>[\w.-]{1,249}) \[\d+\](?=[ :,@]|$)|\btopic=['\"]?(?P<d>[\w.-]{1,249})|"
    r"(?:;|,) topic: (?P<e>[\w.-]{1,249})|\b(?:consuming|consumer|leader)[ /](?P<f>[\w.-]{1,249})/\d+\b|"
    r"\b(?:partition \d+ of|message to topic) (?P<g>[\w.-]{1,249})(?=[:, ]|$)|"
    r"\bmessages to (?P<h>[\w.-]{1,249}) \(partition \d+|\bof topic (?P<i>[\w.-]{1,249}) partition \d+:|"
    r"\bpartition metadata for topic (?P<j>[\w.-]{1,249}) due to |\[retrying\] on (?P<k>[\w.-]{1,249})/\d+ because"
)
#: librdkafka: events of a connection with a broker whose id it knows.
CONNECTION: Final = re.compile(
    r"(?:^|[ :/])(?P<host>[\w.-]+|\[[\da-f:]+\]):(?P<port>\d+)/(?P<broker>\d+): ?"
    r"(?P<detail>Connect to \S+ failed: [\w ]+|Disconnected|Connection refused|Failed to resolve[^:]*)"
)
#: A connection with an address whose broker the client does not know yet: Go, KafkaJS, and Java's first ones.
REFUSED: Final = re.compile(
    r"dial tcp (?P<a>\S+?:\d+): (?:connect: )?(?:connection refused|i/o timeout)|connect ECONNREFUSED (?P<b>\S+:\d+)|"
    r"onnection to node -\d+ \((?P<c>\S+)\) could not be established|Bootstrap broker (?P<d>\S+) .*?disconnected|"
    r"(?P<e>\b\d+/\d+ brokers are down)"
)
#: franz-go: the same.
OPENING: Final = re.compile(
    r"open connection to broker; addr: (?P<host>[\w.-]+):(?P<port>\d+), broker: (?P<broker>\d+), err: (?P<detail>.*)"
)
#: An error that a client prints as an object, without naming its subject.
UNNAMED: Final = re.compile(
    r"KafkaError\{code=|^client/metadata found some partitions|"
    r"^org\.apache\.kafka\.common\.errors\.\w+Exception: |"
    r"\[Connection\] Response (?:Metadata|GroupCoordinator|Produce|Fetch)\(|Group Coordinator Not Available; retry|"
    r"(?:^|\[E\] |panic: )kafka server: "
)
