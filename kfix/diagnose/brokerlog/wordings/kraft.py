"""The KRaft controller (`QuorumController`, `ReplicationControlManager`, 3.3 and later, all of 4.x)."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording, partition


def _active(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    node, epoch = int(match["node"]), int(match["epoch"])
    text = f"node {node} became the active controller, epoch {epoch}"
    key = f"controller:{node}:{epoch}"
    event = Event(line.at, Theme.CONTROLLER, Tone.NOTE, text, source, None, None, node, key)
    return LogStatement((event,), controller=Observation(line.at, line.at, node, epoch, None, epoch))


def _renounced(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    node = int(match["node"])
    text = f"node {node} resigned as active controller of epoch {match['epoch']}"
    return LogStatement((Event(line.at, Theme.CONTROLLER, Tone.BAD, text, source, None, None, node),))


def _fenced(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    broker = int(match["broker"])
    text = f"broker {broker} was fenced: its session timed out"
    event = Event(line.at, Theme.BROKER, Tone.BAD, text, source, None, None, broker)
    return LogStatement((event,), brokers=((broker, Observation(line.at, line.at, -1, -1, None)),))


def _unfenced(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    broker = int(match["broker"])
    event = Event(line.at, Theme.BROKER, Tone.GOOD, f"broker {broker} was unfenced", source, None, None, broker)
    return LogStatement((event,), brokers=((broker, Observation(line.at, line.at, broker, -1, None)),))


def _unclean(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    tp = partition(match["tp"] or match["changed"])
    text = "an unclean election was triggered: records that only the lost replicas had are gone"
    return LogStatement((Event(line.at, Theme.LOSS, Tone.BAD, text, source, None, tp),), unclean=tp)


_AT = r"\[QuorumController id=(?P<node>\d+)\] "
WORDINGS = (
    Wording(
        "active controller",
        ("QuorumController",),
        re.compile(_AT + r"Becoming the active controller at epoch (?P<epoch>\d+)"),
        _active,
        (
            (
                "lab, 4.3.1; the same constants in 3.9.2",
                "[QuorumController id=102] Becoming the active controller at epoch 1, next write offset 1.",
            ),
        ),
    ),
    Wording(
        "renounced",
        ("QuorumController",),
        re.compile(_AT + r"Renouncing the leadership .*?We were the leader at epoch (?P<epoch>\d+)"),
        _renounced,
        (
            (
                "constants of QuorumController in 3.9.2",
                (
                    "[QuorumController id=3000] Renouncing the leadership due "
                    "to a metadata log event. We were the leader "
                    "at epoch 5, but in the new epoch 6, the leader is "
                    "OptionalInt[3001]. Reverting to last stable offset "
                    "120."
                ),
            ),
        ),
    ),
    Wording(
        "fenced",
        ("ReplicationControlManager",),
        re.compile(r"(?:\[.*?\] )?Fencing broker (?P<broker>\d+)(?: at epoch \d+)? because its session has timed out"),
        _fenced,
        (
            (
                "constants of ReplicationControlManager in 3.9.2",
                "[QuorumController id=3000] Fencing broker 2 because its session has timed out.",
            ),
            ("lab, 4.3.1", "[QuorumController id=102] Fencing broker 1 at epoch 27 because its session has timed out."),
        ),
    ),
    Wording(
        "unfenced",
        ("BrokerHeartbeatManager",),
        re.compile(r"(?:\[.*?\] )?The request from broker (?P<broker>\d+) to unfence has been granted"),
        _unfenced,
        (
            (
                "lab, 4.3.1; the same constants in 3.9.2",
                (
                    "[QuorumController id=102] The request from broker 1 to unfence has been granted because it has "
                    "caught up with the offset of its register broker record 409."
                ),
            ),
        ),
    ),
    Wording(
        "unclean election",
        ("ReplicationControlManager",),
        re.compile(
            r"(?:\[.*?\] )?(?:Triggering unclean leader election for offline partition (?P<tp>\S+-\d+?)\.?$|"
            r"UNCLEAN partition change for (?P<changed>\S+-\d+) with topic ID )"
        ),
        _unclean,
        (
            (
                "constants of ReplicationControlManager in 3.9.2",
                "[QuorumController id=3000] Triggering unclean leader election for offline partition ledger-0.",
            ),
            (
                "lab, 4.3.1",
                (
                    "[QuorumController id=102] UNCLEAN partition change for ledger-0 with topic ID "
                    "z76B0h7-RqSg6Hv9nDMvmw: isr: [] -> [2], leader: -1 -> 2, leaderRecoveryState: RECOVERED -> "
                    "RECOVERING, leaderEpoch: 1 -> 2, elr: [1] -> [], lastKnownElr: [1] -> [], partitionEpoch: 3 -> 4"
                ),
            ),
        ),
    ),
)
