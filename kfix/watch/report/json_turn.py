"""A change as JSON, `kfix.watch/v1`: one object a line of `kfix watch --json`, written when the change is seen."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from kfix.core.declared import Pattern, Seconds
from kfix.core.diagnosis.finding import Severity
from kfix.core.documents.outputs import written
from kfix.diagnose.report.json_findings import FindingJson, finding_dict
from kfix.watch.model import Turn, TurnKind, WatchState
from kfix.watch.report.words import trouble_texts, turn_text


class TurnJson:
    """One change: a line of kfix watch --json"""

    schema: Literal["kfix.watch/v1"]
    kind: Annotated[TurnKind, "lost (no source answers) and back are of the cluster"]
    at: Annotated[Seconds, "when it was seen"]
    since: Annotated[Seconds, "when the finding or the loss began"]
    cluster: Annotated[str, 'id, or address if the id is unknown; "" while the cluster has not answered yet']
    name: Annotated[str, "its name in the inventory, else its id or address"]
    key: Annotated[str, Pattern("^(KFX[0-9]{3}:|unreachable$)"), '"unreachable" for lost and back']
    severity: Annotated[Severity, "after the change; before it where nothing is left to act on"]
    worst: Annotated[Severity, "the most severe that it was since it began"]
    text: Annotated[str, Pattern("."), "the change as one sentence"]
    explained_by: Annotated[str, 'key of the finding that explains this one, "" if kind is not "explained"']
    error: Annotated[str, 'why no source answers, "" if kind is not "lost"']
    finding: Annotated[FindingJson | None, "as it was last seen; null for lost and back"]


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
    return written(
        TurnJson,
        turn,
        cluster=state.cluster,
        name=state.name,
        text=turn_text(turn),
        explained_by=turn.text if turn.kind is TurnKind.EXPLAINED else "",
        error=turn.text if turn.kind is TurnKind.LOST else "",
        finding=None if turn.finding is None else finding_dict(turn.finding),
    )
