"""`kafka-metadata-quorum describe`: `--status` and `--replication`: the controller, and which nodes still fetch."""

from __future__ import annotations

import re
from typing import Final

from kfix.core.snapshot.snapshot import Mode
from kfix.diagnose.pasted.gathered import NOBODY, Gathered, number
from kfix.diagnose.pasted.lines import PastedLine

NAME: Final = "kafka-metadata-quorum"
_STATUS: Final = re.compile(
    r"(?P<key>ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|"
    r"CurrentObservers):\s*(?P<value>.*)"
)
_HEADER: Final = re.compile(r"NodeId\s+(?:DirectoryId\s+)?LogEndOffset\s+Lag\s+LastFetchTimestamp")
_ROW: Final = re.compile(
    r"(?P<node>\d+)\s+(?:\S{22}\s+)?-?\d+\s+(?P<lag>-?\d+)\s+(?P<fetch>-?\d+(?: ms ago)?)\s+"
    r"(?P<caught>-?\d+(?: ms ago)?)\s+"
    r"(?P<status>Leader|Follower|Observer)$"
)
#: With `--human-readable` a time is an age; kfix subtracts it from this one.
_NOW_MS: Final = 10**15
#: This many records behind, a voter that has not caught up with the leader yet is not only new.
_FAR_BEHIND: Final = 1_000
#: Milliseconds: a node whose last fetch is this much older than the newest has stopped; brokers fetch every second.
_STILL_MS: Final = 30_000
_OBSERVER: Final = "Observer"


class QuorumFormat:
    """Reads the quorum; nodes are compared with the one that fetched last, since a text has no time of its own."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._fetched: dict[int, tuple[int, PastedLine, str]] = {}
        self._behind: PastedLine | None = None
        self._lag = 0

    def take(self, line: PastedLine) -> bool:
        if row := _ROW.match(line.text):
            node, fetched, caught = (_milliseconds(row[key]) for key in ("node", "fetch", "caught"))
            self._fetched[number(row["node"], "NodeId")] = (fetched, line, row["status"])
            if row["status"] != _OBSERVER and row["lag"] != "0" and 0 <= caught < fetched - _STILL_MS:
                late = f"{row['lag']} records behind, caught up last {(fetched - caught) // 1000} s before it fetched"
                self._gathered.complain("voter lags", str(node), -1, line, broker=node, detail=late)
            self._gathered.mode = Mode.KRAFT
            return True
        status = _STATUS.match(line.text)
        if status is None:
            return _HEADER.match(line.text) is not None
        key, value = status["key"], status["value"]
        if key == "ClusterId":
            self._gathered.cluster_id = value[:40]
        elif key == "LeaderId":
            self._leader(number(value, "LeaderId"), line)
        elif key == "MaxFollowerLag" and value.isdigit():
            self._lag = int(value[:18])
        elif key == "MaxFollowerLagTimeMs" and value.isdigit() and int(value[:18]) > _STILL_MS:
            self._behind = line
        elif key == "MaxFollowerLagTimeMs" and value == "-1" and self._lag > _FAR_BEHIND:
            late = f"{self._lag} records behind, and has not caught up with this leader yet"
            self._gathered.complain("voter lags", "", -1, line, detail=late)
        return True

    def _leader(self, leader: int, line: PastedLine) -> None:
        self._gathered.mode = Mode.KRAFT
        if leader >= 0:
            self._gathered.controls(leader, "quorum", line)
        else:
            self._gathered.controller = NOBODY
            self._gathered.complain("quorum", "", -1, line)

    def end_block(self) -> None:
        """Keeps the table, because state and table are outputs of two commands."""

    def finish(self) -> None:
        """Compares when the nodes fetched last."""
        newest = max((at for at, _, _ in self._fetched.values()), default=-1)
        voters = [node for node, (_, _, status) in self._fetched.items() if status != _OBSERVER]
        still = [node for node in voters if 0 <= newest - self._fetched[node][0] <= _STILL_MS]
        for node, (at, line, status) in self._fetched.items():
            if newest - at <= _STILL_MS:
                self._gathered.say_alive(node, f"fetches metadata ({line.where})")
                continue
            late = f"last fetched metadata {(newest - at) // 1000} s before the newest node"
            sign = f"{late if at >= 0 else 'never fetched metadata'} ({line.where})"
            if at >= 0 or status == _OBSERVER:
                self._gathered.say_dead(node, sign)
            if status != _OBSERVER:
                detail = f"{len(still)} of {len(voters)} voters fetch metadata"
                self._gathered.complain("voter", str(node), -1, line, broker=node, detail=detail)
        if voters and 2 * len(still) <= len(voters):
            last = self._fetched[voters[-1]][1]
            self._gathered.complain("quorum", "", -1, last, detail=f"{len(still)} of {len(voters)} voters are there")
        if self._behind is not None and not self._fetched:
            self._gathered.complain("voter", "", -1, self._behind)


def _milliseconds(text: str) -> int:
    age = text.removesuffix(" ms ago")
    return _NOW_MS - int(age[:15]) if age != text else int(text[:18])
