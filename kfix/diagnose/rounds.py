"""Judges snapshots as they come: the previous one is the second snapshot if one alone leaves a doubt."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kfix.core.criteria import Criteria
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.diagnosis import combined

if TYPE_CHECKING:
    from kfix_diagnostics.engine import Examination

#: A snapshot older than this many intervals or debounces confirms nothing: much may have happened in between.
_TOO_OLD: Final = 3.0
#: Clocks and pauses are not exact: a second snapshot may come this many seconds early.
_SLACK: Final = 0.25
#: If snapshots come faster than this part of a debounce, only one in each part is kept.
_PARTS: Final = 4


@dataclass(frozen=True, slots=True)
class JudgeOptions(Criteria):
    """`every` is the usual pause between two snapshots, in seconds."""

    every: float = 15.0


@dataclass(frozen=True, slots=True)
class RoundVerdict:
    """`confirmed` is False if no earlier snapshot settles a doubt: then nothing is reported yet.

    `again_in` is the number of seconds after which a snapshot would settle the doubt; 0 if there is none.
    """

    diagnosis: Diagnosis
    confirmed: bool
    again_in: float = 0.0


class RoundJudge:
    """Keeps the examinations that a later snapshot may be compared with: at most those of one debounce."""

    def __init__(self, options: JudgeOptions) -> None:
        self._options = options
        self._kept: deque[Examination] = deque()

    def judge(self, snapshot: Snapshot) -> RoundVerdict:
        from kfix_diagnostics.engine import diagnose, examine, settle_seconds  # noqa: PLC0415 - as in a diagnosis

        seen = examine(snapshot, self._options)
        pause = settle_seconds(seen)
        earlier = self._earlier(snapshot, pause)
        self._keep(seen)
        if pause <= 0:
            return RoundVerdict(diagnose(seen), confirmed=True)
        if earlier is None:
            return RoundVerdict(diagnose(seen), confirmed=False, again_in=pause)
        again = combined(snapshot, earlier.case.snapshot)
        diagnosis = diagnose(examine(again, self._options), earlier=earlier)
        in_doubt = any(finding.unsettled for finding in diagnosis.walk())
        return RoundVerdict(diagnosis, confirmed=True, again_in=pause if in_doubt else 0.0)

    def _earlier(self, snapshot: Snapshot, pause: float) -> Examination | None:
        """Returns the newest examination that is old enough to settle a doubt."""
        oldest = _TOO_OLD * max(self._options.every, self._options.debounce)
        ages = ((snapshot.taken_at - _taken(kept), kept) for kept in reversed(self._kept))
        return next((kept for age, kept in ages if pause - _SLACK <= age <= oldest), None)

    def _keep(self, seen: Examination) -> None:
        at = seen.case.snapshot.taken_at
        if len(self._kept) > 1 and _taken(self._kept[-1]) - _taken(self._kept[-2]) < self._options.debounce / _PARTS:
            self._kept.pop()
        self._kept.append(seen)
        # One as old as the debounce settles every doubt; a clock that was set back makes all of them new.
        while len(self._kept) > 1 and not 0 <= at - _taken(self._kept[1]) < self._options.debounce:
            self._kept.popleft()


def _taken(seen: Examination) -> float:
    return seen.case.snapshot.taken_at
