"""Turns the changes of a round into notices and hands them to the receivers; only changes are sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kfix.adapters.notify.delivery import ReceiverQueue
from kfix.adapters.notify.settings import Receiver
from kfix.model.diagnosis.finding import Diagnosis
from kfix.model.watch import Notice, ReceiverState, Turn, TurnKind, WatchState
from kfix.report.findings.screen import triage_of
from kfix.report.findings.table import sentence
from kfix.watch.turns import active

#: How long a watch that ends waits for messages, in seconds.
_PATIENCE = 5.0


class Notifying:
    """Sends each change once to every receiver for which it is severe enough."""

    def __init__(self, receivers: Iterable[Receiver]) -> None:
        self._deliveries = [ReceiverQueue(receiver) for receiver in receivers]

    @property
    def states(self) -> tuple[ReceiverState, ...]:
        return tuple(delivery.state for delivery in self._deliveries)

    def send(self, state: WatchState) -> None:
        lasting = [*active(state.watched)] if state.confirmed or state.watched.lost is not None else []
        for delivery in self._deliveries:
            least = delivery.receiver.least
            delivery.send(notices_of([t for t in state.turns if _concerns(t, least)], state))
            delivery.repeat(notices_of([t for t in lasting if t.severity >= least], state))

    def close(self) -> None:
        for delivery in self._deliveries:
            delivery.close(_PATIENCE)


def _concerns(turn: Turn, least: int) -> bool:
    """Whether a receiver wants this change. The end of what it was notified of is sent, whatever it was at last."""
    return turn.worst >= least if turn.kind.over or turn.kind is TurnKind.BETTER else turn.severity >= least


def notices_of(turns: Sequence[Turn], state: WatchState) -> list[Notice]:
    cluster = state.diagnosis.cluster if state.diagnosis is not None else state.cluster or state.name
    return [_notice(turn, cluster, state) for turn in turns]


def _notice(turn: Turn, cluster: str, state: WatchState) -> Notice:
    finding = turn.finding
    notice = Notice(
        # What begins before the first answer has to end under the same name.
        cluster=cluster if finding is not None else state.target or cluster,
        name=state.name,
        kind=turn.kind,
        key=turn.key,
        code="" if finding is None else finding.code,
        obj="the cluster" if finding is None else finding.obj,
        severity=turn.severity,
        at=turn.at,
        since=turn.since,
        summary=turn.text if finding is None else finding.summary,
    )
    if finding is None or turn.kind.over:
        return notice
    every = state.diagnosis or Diagnosis(cluster, turn.at, (finding,))
    triage = triage_of(finding, every)
    remedy = triage.remedy
    step = "" if remedy is None else remedy.command or sentence(remedy.text)
    return replace(notice, blocked=triage.blocked, why=triage.why, next=step)
