"""The history of many audits as JSON, `kfix.history/v1`, and its episodes as CSV."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from kfix.core.declared import OrNull
from kfix.core.documents.outputs import keys_of, written
from kfix.core.harmless import for_json
from kfix.fleet.model.history import AuditHistory, Episode, ScoreChange
from kfix.fleet.report.rows import rows_csv


class EpisodeJson(Episode):
    """A finding of a cluster from the audit that first reports it to the one that reports it as fixed."""

    seconds: Annotated[OrNull[float], "ended - began"]
    shortest: Annotated[float, "the least that the distance of the runs allows"]
    longest: Annotated[float | None, "the most"]


class ScoreChangeJson(ScoreChange):
    """The fleet's score over the clusters that both audits read."""

    change: int


class _History:
    schema: Literal["kfix.history/v1"]


class HistoryJson(AuditHistory, _History):
    """The history of many audits: kfix audit history --json

    Times are ISO 8601 in UTC, durations seconds, rates by day.
    """

    episodes: tuple[EpisodeJson, ...]
    score: ScoreChangeJson | None


def history_json(history: AuditHistory, *, indent: int | None = 2) -> str:
    return for_json(history_dict(history), indent=indent)


def history_dict(history: AuditHistory) -> Mapping[str, Any]:
    score = None if history.score is None else written(ScoreChangeJson, history.score)
    episodes = [written(EpisodeJson, each) for each in history.episodes]
    return written(HistoryJson, history, episodes=episodes, score=score) | dict.fromkeys(history.unknown)


def history_csv(history: AuditHistory) -> str:
    """Returns the episodes, a row each, with a header (RFC 4180)."""
    rows = [list(written(EpisodeJson, each).values()) for each in history.episodes]
    return rows_csv([*keys_of(EpisodeJson)], rows)
