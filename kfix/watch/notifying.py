"""Turns the changes of a round into notices and passes them to the receivers; only changes are sent.

A maintenance window raises no alert: a finding that begins or worsens in it is withheld, and sent after the window if
it still stands. The end of a finding that was sent before is sent in the window, too.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kfix.core.diagnosis.finding import Diagnosis, Severity
from kfix.diagnose.report.screen import triage_of
from kfix.diagnose.report.table import sentence
from kfix.watch.model import Notice, ReceiverState, Turn, TurnKind, WatchState
from kfix.watch.notify.delivery import ReceiverQueue
from kfix.watch.notify.settings import Receiver
from kfix.watch.turns import active

#: Seconds that a watch that ends waits for messages.
_PATIENCE = 5.0


class Notifying:
    """Sends each change once to every receiver for which it is severe enough."""

    def __init__(self, receivers: Iterable[Receiver]) -> None:
        self._deliveries = [ReceiverQueue(receiver) for receiver in receivers]
        self._withheld = WithheldTurns()

    @property
    def states(self) -> tuple[ReceiverState, ...]:
        return tuple(delivery.state for delivery in self._deliveries)

    def send(self, state: WatchState) -> None:
        turns = self._withheld.due(state)
        lasting = []
        if state.confirmed or state.watched.lost is not None:
            lasting = [turn for turn in active(state.watched) if self._withheld.was_sent(turn.key)]
        for delivery in self._deliveries:
            least = delivery.receiver.least
            delivery.send(notices_of([t for t in turns if _concerns(t, least)], state))
            delivery.repeat(notices_of([t for t in lasting if t.severity >= least], state))

    def close(self) -> None:
        until = time.monotonic() + _PATIENCE  # For all receivers together.
        for delivery in self._deliveries:
            delivery.close(until)


class WithheldTurns:
    """Decides which changes to send: in a maintenance window no new alert; after it, once, those that still stand.

    If a withheld change ends before the window does, neither is ever sent.
    """

    def __init__(self) -> None:
        #: {key: severity when it was last sent} of the standing findings
        self._sent: dict[str, Severity] = {}
        self._kept: dict[str, Turn] = {}

    def was_sent(self, key: str) -> bool:
        return key in self._sent

    def due(self, state: WatchState) -> list[Turn]:
        """Returns the changes of this round to send and, outside of a window, the withheld ones that stand."""
        due = [turn for turn in state.turns if self._is_due(turn, at_work=bool(state.maintenance))]
        if not state.maintenance and self._kept:
            due += self._released(state)
        return due

    def _is_due(self, turn: Turn, *, at_work: bool) -> bool:
        sent = self._sent.get(turn.key)
        if turn.kind.over:
            self._kept.pop(turn.key, None)
            self._sent.pop(turn.key, None)
            return sent is not None
        if turn.kind is TurnKind.EXPLAINED:
            self._kept.pop(turn.key, None)
            return sent is not None
        if turn.kind is TurnKind.BETTER:
            if sent is None or turn.severity >= sent:
                return False
        elif at_work or turn.key in self._kept:
            self._kept[turn.key] = turn
            return False
        self._sent[turn.key] = turn.severity
        return True

    def _released(self, state: WatchState) -> Iterator[Turn]:
        kept, self._kept = self._kept, {}
        for turn in active(state.watched):
            sent = self._sent.get(turn.key)
            if turn.key not in kept or (sent is not None and turn.severity <= sent):
                continue
            self._sent[turn.key] = turn.severity
            if turn.kind is TurnKind.LOST:
                yield kept[turn.key]
            else:
                yield turn if sent is None else replace(turn, kind=TurnKind.WORSE)


def _concerns(turn: Turn, least: int) -> bool:
    """Whether a receiver wants this change. After a notification it gets every later change of that finding."""
    milder = turn.kind.over or turn.kind in {TurnKind.BETTER, TurnKind.EXPLAINED}
    return (turn.worst if milder else turn.severity) >= least


def notices_of(turns: Sequence[Turn], state: WatchState) -> list[Notice]:
    cluster = state.diagnosis.cluster if state.diagnosis is not None else state.cluster or state.name
    return [_notice(turn, cluster, state) for turn in turns]


def _notice(turn: Turn, cluster: str, state: WatchState) -> Notice:
    finding = turn.finding
    notice = Notice(
        # A finding that begins before the first answer has to end under the same name.
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
    if finding is None or turn.kind.over or turn.kind is TurnKind.EXPLAINED:
        return notice
    every = state.diagnosis or Diagnosis(cluster, turn.at, (finding,))
    triage = triage_of(finding, every)
    remedy = triage.next
    step = "" if remedy is None else remedy.command or sentence(remedy.text)
    return replace(notice, blocked="; ".join(triage.blocked), why=sentence(finding.summary), next=step)
