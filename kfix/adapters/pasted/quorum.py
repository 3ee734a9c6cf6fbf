"""`kafka-metadata-quorum describe`: `--status` and `--replication`: the controller, and which nodes still fetch."""

from __future__ import annotations

import re
from typing import Final

from kfix.adapters.pasted.gathered import NOBODY, Gathered, number
from kfix.adapters.pasted.lines import PastedLine
from kfix.model.cluster.snapshot import Mode

NAME: Final = "kafka-metadata-quorum"
_STATUS: Final = re.compile(
    r"(?P<key>ClusterId|LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs|CurrentVoters|"
    r"CurrentObservers):\s*(?P<value>.*)"
)
_HEADER: Final = re.compile(r"NodeId\s+(?:DirectoryId\s+)?LogEndOffset\s+Lag\s+LastFetchTimestamp")
_ROW: Final = re.compile(
    r"(?P<node>\d+)\s+(?:\S{22}\s+)?\d+\s+-?\d+\s+(?P<fetch>-?\d+)\s+-?\d+\s+(?P<status>Leader|Follower|Observer)$"
)
#: A node that fetched this much earlier than the newest one no longer does: brokers fetch at least every second.
_STILL_MS: Final = 30_000


class QuorumFormat:
    """Reads the quorum; nodes are compared with the one that fetched last, since a text has no time of its own."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._fetched: dict[int, tuple[int, int]] = {}

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line is of this format."""
        if row := _ROW.match(line.text):
            self._fetched[number(row["node"], "NodeId")] = (int(row["fetch"][:18]), line.number)
            self._gathered.mode = Mode.KRAFT
            return True
        status = _STATUS.match(line.text)
        if status is None:
            return _HEADER.match(line.text) is not None
        if status["key"] == "ClusterId":
            self._gathered.cluster_id = status["value"][:40]
        elif status["key"] == "LeaderId":
            self._gathered.mode = Mode.KRAFT
            leader = number(status["value"], "LeaderId")
            if leader >= 0:
                self._gathered.controls(leader, "quorum")
            else:
                self._gathered.controller = NOBODY
                self._gathered.complain("quorum", "", -1, line)
        return True

    def finish(self) -> None:
        """Compares when the nodes fetched last."""
        newest = max((at for at, _ in self._fetched.values()), default=-1)
        for node, (at, where) in self._fetched.items():
            if newest - at <= _STILL_MS:
                self._gathered.say_alive(node, f"fetches metadata (line {where})")
            elif at >= 0:
                late = (newest - at) // 1000
                self._gathered.say_dead(node, f"last fetched metadata {late} s before the newest node (line {where})")
