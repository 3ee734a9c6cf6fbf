"""Elections, registrations, deletions and unclean elections as logged by controllers.

On ZooKeeper (2.x and 3.x) these are `kafka.controller.KafkaController` and `TopicDeletionManager`, on KRaft (3.3 and
later, all of 4.x) `QuorumController`, `ReplicationControlManager` and `BrokerHeartbeatManager`.
"""

import re
from dataclasses import replace

from kfix.core.events import Event, LogStatement, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Interpret, Wording, ids, partition, said

#: Assumed duration of a deletion in seconds; an unavailable broker delays it further.
_TAKES = 30.0


def _elected(text: str) -> Interpret:
    event = said(Theme.CONTROLLER, Tone.NOTE, text, "controller:{broker}:{epoch}")

    def interpret(match: re.Match[str], line: Entry, source: str) -> LogStatement:
        node, epoch = int(match["broker"]), int(match["epoch"])
        return replace(event(match, line, source), controller=Observation(line.at, line.at, node, epoch, None, epoch))

    return interpret


def _is(tone: Tone, text: str) -> Interpret:
    """Returns what makes an event of a message that a broker is there (`Tone.GOOD`), or is not."""
    event = said(Theme.BROKER, tone, text)

    def interpret(match: re.Match[str], line: Entry, source: str) -> LogStatement:
        broker = int(match["broker"])
        seen = Observation(line.at, line.at, broker if tone is Tone.GOOD else -1, -1, None)
        return replace(event(match, line, source), brokers=((broker, seen),))

    return interpret


def _changed(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    gone, came, back = ids(match["gone"]), ids(match["came"]), ids(match["bounced"])
    changes = (
        *((b, Tone.BAD, "gone", "is no longer registered in ZooKeeper") for b in gone),
        *((b, Tone.GOOD, "up", "registered") for b in came),
        *((b, Tone.BAD, "up", "re-registered: it restarted, or its session expired") for b in back),
    )
    events = tuple(
        Event(line.at, Theme.BROKER, tone, f"broker {b} {text}", source, broker=b, key=f"{kind}:{b}", lasting=False)
        for b, tone, kind, text in changes
    )
    known = tuple((b, Observation(line.at, line.at, -1, -1, None)) for b in gone)
    return LogStatement(events, brokers=known)


_DELETION = said(Theme.CONFIG, Tone.ACT, "deletion of topic {topic} began", "delete:{topic}", lasting=False)
_UNCLEAN = "an unclean election was triggered: records that only the lost replicas had are gone"


def _deleted(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    return replace(_DELETION(match, line, source), deleted=(match["topic"], line.at, line.at + _TAKES))


def _unclean(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    tp = partition(match["triggered"] or match["changed"])
    return LogStatement((Event(line.at, Theme.LOSS, Tone.BAD, _UNCLEAN, source, partition=tp),), unclean=tp)


_AT = r"\[QuorumController id=(?P<broker>\d+)\] "
WORDINGS = (
    Wording(
        "elected",
        ("KafkaController",),
        re.compile(
            r"\[Controller id=\d+\] (?P<broker>\d+) successfully elected as the controller\. "
            r"Epoch incremented to (?P<epoch>\d+)"
        ),
        _elected("broker {broker} became the controller, epoch {epoch}"),
    ),
    Wording(
        "resigned",
        ("KafkaController",),
        re.compile(r"\[Controller id=(?P<broker>\d+)\] Resigned$"),
        said(Theme.CONTROLLER, Tone.NOTE, "broker {broker} resigned as controller"),
    ),
    Wording(
        "moved",
        ("KafkaController",),
        re.compile(r"\[Controller id=(?P<broker>\d+)\] Controller moved to another broker"),
        said(
            Theme.CONTROLLER,
            Tone.BAD,
            "broker {broker} noticed that the controller had moved to another broker",
        ),
    ),
    Wording(
        "deletion began",
        ("TopicDeletionManager",),
        re.compile(r"\[Topic Deletion Manager \d+\] Deletion of topic (?P<topic>\S+) \(re\)started"),
        _deleted,
    ),
    Wording(
        "brokers changed",
        ("KafkaController",),
        re.compile(
            r"\[Controller id=\d+\] Newly added brokers: (?P<came>[\d,]*), deleted brokers: (?P<gone>[\d,]*), "
            r"bounced brokers: (?P<bounced>[\d,]*), all live brokers:"
        ),
        _changed,
    ),
    Wording(
        "active controller",
        ("QuorumController",),
        re.compile(_AT + r"Becoming the active controller at epoch (?P<epoch>\d+)"),
        _elected("node {broker} became the active controller, epoch {epoch}"),
    ),
    Wording(
        "renounced",
        ("QuorumController",),
        re.compile(_AT + r"Renouncing the leadership .*?We were the leader at epoch (?P<epoch>\d+)"),
        said(Theme.CONTROLLER, Tone.BAD, "node {broker} resigned as active controller of epoch {epoch}"),
    ),
    Wording(
        "fenced",
        ("ReplicationControlManager",),
        re.compile(r"(?:\[.*?\] )?Fencing broker (?P<broker>\d+)(?: at epoch \d+)? because its session has timed out"),
        _is(Tone.BAD, "broker {broker} was fenced: its session timed out"),
    ),
    Wording(
        "unfenced",
        ("BrokerHeartbeatManager",),
        re.compile(r"(?:\[.*?\] )?The request from broker (?P<broker>\d+) to unfence has been granted"),
        _is(Tone.GOOD, "broker {broker} was unfenced"),
    ),
    Wording(
        "unclean election",
        ("ReplicationControlManager",),
        re.compile(
            r"(?:\[.*?\] )?(?:Triggering unclean leader election for offline partition (?P<triggered>\S+-\d+?)\.?$|"
            r"UNCLEAN partition change for (?P<changed>\S+-\d+) with topic ID )"
        ),
        _unclean,
    ),
)
