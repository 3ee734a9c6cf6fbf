"""Partition states as written by the controller and received by brokers (logger `state.change.logger`)."""

from __future__ import annotations

import re

from kfix.core.events import Event, LogStatement, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Wording, ids, partition


def _written(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    """Reads a write of the controller itself, so the time is exact."""
    tp, leader, epoch, isr = partition(match["tp"]), int(match["leader"]), int(match["epoch"]), ids(match["isr"])
    version = int(match["version"]) if match.groupdict().get("version") else -1
    return LogStatement(
        (_leading(line, source, tp, leader, epoch),),
        partitions=((tp, Observation(line.at, line.at, leader, epoch, isr, version)),),
    )


def _leading(line: Entry, source: str, tp: object, leader: int, epoch: int) -> Event:
    tone = Tone.BAD if leader < 0 else Tone.PLAIN
    text = f"lost its leader, leader epoch {epoch}" if leader < 0 else f"leader {leader}, leader epoch {epoch}"
    return Event(line.at, Theme.LEADER, tone, text, source, None, partition(str(tp)), key=f"leader:{tp}:{epoch}")


def _leads(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    """Reads that a broker became leader, some milliseconds after the controller's decision."""
    tp, leader, epoch = partition(match["tp"]), int(match["broker"]), int(match["epoch"])
    isr = ids(match["isr"]) if match["isr"] else None
    version = int(match["version"]) if match["version"] else -1
    return LogStatement(
        (_leading(line, source, tp, leader, epoch),),
        partitions=((tp, Observation(line.at, line.at, leader, epoch, isr, version)),),
    )


def _followed(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    """Reads whom a follower follows on KRaft, where only brokers log the leaders; its ISR is not in the message."""
    tp, leader, epoch = partition(match["tp"]), int(match["broker"]), int(match["epoch"])
    event = _leading(line, source, tp, leader, epoch)
    return LogStatement((event,), partitions=((tp, Observation(line.at, line.at, leader, epoch, None)),))


def _cannot_follow(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    broker, tp = int(match["broker"]), partition(match["tp"])
    text = f"broker {broker} received a state without a leader and cannot follow"
    return LogStatement((Event(line.at, Theme.LEADER, Tone.BAD, text, source, None, tp, broker),))


def _failed(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    tp = partition(match["tp"])
    text = "the controller could not elect a leader"
    return LogStatement((Event(line.at, Theme.LEADER, Tone.BAD, text, source, None, tp, key=f"no-election:{tp}"),))


_BY = ("logger",)
WORDINGS = (
    Wording(
        "partition changed",
        _BY,
        re.compile(
            r"\[Controller id=\d+ epoch=\d+\] Changed partition (?P<tp>\S+-\d+) from \w+ to OnlinePartition with state "
            r"LeaderAndIsr\(leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>-?\d+), "
            r"isr(?:WithBrokerEpoch)?=\w*[(\[](?P<isr>.*?)[)\]], (?:leaderRecoveryState=\w+, )?"
            r"(?:zkVersion|partitionEpoch)=(?P<version>\d+)\)"
        ),
        _written,
        (
            (
                "lab, 2.7.1",
                (
                    "[Controller id=2 epoch=1] Changed partition orders-2 from "
                    "OfflinePartition to OnlinePartition with "
                    "state LeaderAndIsr(leader=1, leaderEpoch=1, isr=List(1, 2), zkVersion=1)"
                ),
            ),
            (
                "3.2 to 3.4, LeaderAndIsr.toString",
                (
                    "[Controller id=2 epoch=1] Changed partition orders-2 from "
                    "OfflinePartition to OnlinePartition with "
                    "state LeaderAndIsr(leader=1, leaderEpoch=1, isr=List(1, 2), leaderRecoveryState=RECOVERED, "
                    "partitionEpoch=1)"
                ),
            ),
            (
                "3.5 to 3.9, LeaderAndIsr.toString",
                (
                    "[Controller id=2 epoch=1] Changed partition orders-2 from "
                    "OfflinePartition to OnlinePartition with "
                    "state LeaderAndIsr(leader=1, leaderEpoch=1, isrWithBrokerEpoch=List(BrokerState(brokerId=1, "
                    "brokerEpoch=-1), BrokerState(brokerId=2, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, "
                    "partitionEpoch=1)"
                ),
            ),
        ),
    ),
    Wording(
        "replica taken out",
        _BY,
        re.compile(
            r"\[Controller id=\d+ epoch=\d+\] Partition (?P<tp>\S+-\d+) state changed to \(Leader:(?P<leader>-?\d+),"
            r"ISR:(?P<isr>[\d,]*),(?:LeaderRecoveryState:\w+,)?LeaderEpoch:(?P<epoch>-?\d+),"
            r"(?:ZkVersion:(?P<version>\d+),)?ControllerEpoch:\d+\) after removing replica"
        ),
        _written,
        (
            (
                "lab, 2.7.1",
                (
                    "[Controller id=2 epoch=1] Partition __consumer_offsets-0 state changed to (Leader:-1,ISR:2,"
                    "LeaderEpoch:2,ControllerEpoch:1) after removing replica 3 from the ISR as part of transition to "
                    "OfflineReplica"
                ),
            ),
            (
                "constants of LeaderIsrAndControllerEpoch in 3.9.2",
                (
                    "[Controller id=2 epoch=1] Partition orders-0 state changed "
                    "to (Leader:1,ISR:1,2,LeaderRecoveryState:"
                    "RECOVERED,LeaderEpoch:1,ZkVersion:4,ControllerEpoch:1) "
                    "after removing replica 3 from the ISR as part "
                    "of transition to OfflineReplica"
                ),
            ),
        ),
    ),
    Wording(
        "leader starts",
        _BY,
        re.compile(
            r"\[Broker id=(?P<broker>\d+)\] Leader (?P<tp>\S+-\d+)(?: with topic id .*?)? starts at leader epoch "
            r"(?P<epoch>\d+) from offset \d+(?: with partition epoch (?P<version>\d+),)?.*?"
            r"(?: ISR \[(?P<isr>[\d, ]*)\]|$)"
        ),
        _leads,
        (
            (
                "lab, 2.7.1",
                (
                    "[Broker id=1] Leader orders-2 starts at leader epoch 1 "
                    "from offset 20 with high watermark 20 ISR [1,2] "
                    "addingReplicas [] removingReplicas []. Previous leader epoch was 0."
                ),
            ),
            (
                "lab, 4.3.1; the same constants in 3.9.2",
                (
                    "[Broker id=2] Leader ledger-0 with topic id "
                    "Some(z76B0h7-RqSg6Hv9nDMvmw) starts at leader epoch 2 from "
                    "offset 21 with partition epoch 4, high watermark 21, ISR [2], adding replicas [] and removing "
                    "replicas [] . Previous leader Some(-1) and previous leader epoch was 1."
                ),
            ),
        ),
    ),
    Wording(
        "follower starts",
        _BY,
        re.compile(
            r"\[Broker id=\d+\] Follower (?P<tp>\S+-\d+) starts at leader epoch (?P<epoch>\d+) from offset \d+ .*?"
            r"Current leader is (?P<broker>-?\d+)"
        ),
        _followed,
        (
            (
                "lab, 4.3.1",
                (
                    "[Broker id=2] Follower ledger-0 starts at leader epoch 1 from offset 21 with partition epoch 3 "
                    "and high watermark 21. Current leader is -1. Previous leader Some(1) and previous leader epoch "
                    "was 0."
                ),
            ),
        ),
    ),
    Wording(
        "cannot follow",
        _BY,
        re.compile(
            r"\[Broker id=(?P<broker>\d+)\] Received LeaderAndIsrRequest with correlation id \d+ from controller \d+ "
            r"epoch \d+ for partition (?P<tp>\S+-\d+) .*but cannot become follower since the new leader -1 is"
        ),
        _cannot_follow,
        (
            (
                "lab, 2.7.1; the same constants in 3.9.2",
                (
                    "[Broker id=1] Received LeaderAndIsrRequest with correlation id 7 from controller 2 epoch 1 for "
                    "partition __consumer_offsets-0 (last update controller "
                    "epoch 1) but cannot become follower since the "
                    "new leader -1 is unavailable."
                ),
            ),
        ),
    ),
    Wording(
        "no leader elected",
        _BY,
        re.compile(
            r"\[Controller id=\d+ epoch=\d+\] Controller \d+ epoch \d+ failed to change state for partition "
            r"(?P<tp>\S+-\d+) from \w+ to OnlinePartition"
        ),
        _failed,
        (
            (
                "lab, 2.7.1 (isr-gone); the trace of a StateChangeFailedException follows",
                (
                    "[Controller id=2 epoch=1] Controller 2 epoch 1 failed to "
                    "change state for partition ledger-0 from "
                    "OfflinePartition to OnlinePartition"
                ),
            ),
        ),
    ),
)
