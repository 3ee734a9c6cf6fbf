"""Partition states as written by the controller and received by brokers (logger `state.change.logger`)."""

import re

from kfix.core.events import Event, LogStatement, Observation, Theme, Tone
from kfix.diagnose.brokerlog.lines import Entry
from kfix.diagnose.brokerlog.wording import Interpret, Wording, ids, partition, said


def _leading(match: re.Match[str], line: Entry, source: str) -> LogStatement:
    """Reads who leads: as the controller wrote it, or as a broker learned it some milliseconds later.

    On KRaft only brokers log the leaders, and the message of a follower has no ISR.
    """
    parts = match.groupdict()
    tp, leader, epoch = partition(parts["tp"]), int(parts["leader"]), int(parts["epoch"])
    isr = None if parts.get("isr") is None else ids(parts["isr"])
    version = int(parts.get("version") or -1)
    tone, what = (Tone.BAD, "lost its leader") if leader < 0 else (Tone.PLAIN, f"leader {leader}")
    text, key = f"{what}, leader epoch {epoch}", f"leader:{tp}:{epoch}"
    event = Event(line.at, Theme.LEADER, tone, text, source, partition=tp, key=key)
    return LogStatement((event,), partitions=((tp, Observation(line.at, line.at, leader, epoch, isr, version)),))


def _wording(name: str, pattern: str, interpret: Interpret = _leading) -> Wording:
    return Wording(name, ("logger",), re.compile(pattern), interpret)


WORDINGS = (
    _wording(
        "partition changed",
        r"\[Controller id=\d+ epoch=\d+\] Changed partition (?P<tp>\S+-\d+) from \w+ to OnlinePartition with state "
        r"LeaderAndIsr\(leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>-?\d+), "
        r"isr(?:WithBrokerEpoch)?=\w*[(\[](?P<isr>.*?)[)\]], (?:leaderRecoveryState=\w+, )?"
        r"(?:zkVersion|partitionEpoch)=(?P<version>\d+)\)",
    ),
    _wording(
        "replica taken out",
        r"\[Controller id=\d+ epoch=\d+\] Partition (?P<tp>\S+-\d+) state changed to \(Leader:(?P<leader>-?\d+),"
        r"ISR:(?P<isr>[\d,]*),(?:LeaderRecoveryState:\w+,)?LeaderEpoch:(?P<epoch>-?\d+),"
        r"(?:ZkVersion:(?P<version>\d+),)?ControllerEpoch:\d+\) after removing replica",
    ),
    _wording(
        "leader starts",
        r"\[Broker id=(?P<leader>\d+)\] Leader (?P<tp>\S+-\d+)(?: with topic id .*?)? starts at leader epoch "
        r"(?P<epoch>\d+) from offset \d+(?: with partition epoch (?P<version>\d+),)?.*?"
        r"(?: ISR \[(?P<isr>[\d, ]+)\]|$)",
    ),
    _wording(
        "follower starts",
        r"\[Broker id=\d+\] Follower (?P<tp>\S+-\d+) starts at leader epoch (?P<epoch>\d+) from offset \d+ .*?"
        r"Current leader is (?P<leader>-?\d+)",
    ),
    _wording(
        "cannot follow",
        r"\[Broker id=(?P<broker>\d+)\] Received LeaderAndIsrRequest with correlation id \d+ from controller \d+ "
        r"epoch \d+ for partition (?P<tp>\S+-\d+) .*but cannot become follower since the new leader -1 is",
        said(Theme.LEADER, Tone.BAD, "broker {broker} received a state without a leader and cannot follow"),
    ),
    _wording(
        "no leader elected",
        r"\[Controller id=\d+ epoch=\d+\] Controller \d+ epoch \d+ failed to change state for partition "
        r"(?P<tp>\S+-\d+) from \w+ to OnlinePartition",
        said(Theme.LEADER, Tone.BAD, "the controller could not elect a leader", "no-election:{tp}"),
    ),
)
