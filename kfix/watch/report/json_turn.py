"""A change as JSON, `kfix.watch/v1`: one object a line of `kfix watch --json`, written when the change is seen.

schema        "kfix.watch/v1"
kind          "new", "worse", "better", "explained", "fixed"; of the cluster "lost" (no source answers), "back"
at, since     when it was seen, and when the finding or the loss began; seconds since the epoch, UTC
cluster       id, or address if the id is unknown; "" while the cluster has not answered yet
name          what people call the cluster: its name in the inventory, else its id or address
key           key of the finding; "unreachable" for lost and back
severity      after the change, and before it if nothing is left to act on: "info", "warning", "critical"
worst         the most severe that it was since it began
text          the change as one sentence
explained_by  key of the finding that explains this one, "" if kind is not "explained"
error         why no source answers, "" if kind is not "lost"
finding       the finding as it was last seen, same shape as in `kfix diagnose --json`; null for lost and back
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kfix.diagnose.report.json_findings import finding_dict
from kfix.watch.model import Turn, TurnKind, WatchState
from kfix.watch.report.words import trouble_texts, turn_text

SCHEMA: Final = "kfix.watch/v1"


class WatchJson:
    """Writes each change by `write`, which gets one object and must write it at once.

    `warn` gets a line if the watch can no longer record or notify, and another one when it can again.
    """

    def __init__(self, write: Callable[[Mapping[str, Any]], None], warn: Callable[[str], None]) -> None:
        self._write, self._warn = write, warn
        self._troubles: tuple[str, ...] = ()

    def show(self, state: WatchState) -> None:
        for turn in state.turns:
            self._write(turn_json(turn, state))
        troubles = tuple(trouble_texts(state))
        for text in troubles:
            if text not in self._troubles:
                self._warn(text)
        for text in self._troubles:
            if text not in troubles:
                self._warn(f"resolved: {text}")
        self._troubles = troubles


def turn_json(turn: Turn, state: WatchState) -> Mapping[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": turn.kind.value,
        "at": turn.at,
        "since": turn.since,
        "cluster": state.cluster,
        "name": state.name,
        "key": turn.key,
        "severity": turn.severity.word,
        "worst": turn.worst.word,
        "text": turn_text(turn),
        "explained_by": turn.text if turn.kind is TurnKind.EXPLAINED else "",
        "error": turn.text if turn.kind is TurnKind.LOST else "",
        "finding": None if turn.finding is None else finding_dict(turn.finding),
    }
