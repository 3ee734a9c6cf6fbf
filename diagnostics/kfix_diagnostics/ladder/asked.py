"""What every rung rests on: one group, its coordinator, the findings that concern it, and its readings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.memory import APART
from kfix.core.diagnosis.finding import Diagnosis, Evidence, Finding, Remedy, Rung, RungState
from kfix.core.snapshot.group_reading import GroupReading
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition
from kfix_diagnostics._advice import diagnose_group
from kfix_diagnostics._words import error_name

#: TOPIC, GROUP and CLUSTER_AUTHORIZATION_FAILED.
NOT_ALLOWED = frozenset({29, 30, 31})
NO_ANSWER = -1
#: Findings of partitions without a leader.
NO_LEADER = ("KFX101", "KFX102", "KFX103", "KFX104", "KFX105", "KFX107")
#: Errors of the group's own clients, which need no probe to confirm them.
PASTED_ERRORS = "KFX117"


@dataclass(frozen=True, slots=True)
class Asked:
    """`probe` may be that of another group of the same offsets partition `tp`. `readings` are oldest first."""

    group: str
    tp: TopicPartition
    case: CaseFile
    diagnosis: Diagnosis
    probe: CoordinatorProbe | None
    readings: tuple[GroupReading, ...]

    @property
    def latest(self) -> GroupReading | None:
        return self.readings[-1] if self.readings else None

    @property
    def earlier(self) -> GroupReading | None:
        return self.readings[-2] if len(self.readings) > 1 else None

    @property
    def remembered(self) -> GroupReading | None:
        """The positions that this host read shortly before: a single snapshot shows motion by them."""
        known = (each for each in self.case.snapshot.memory.positions if each.group == self.group)
        now = self.latest.taken_at if self.latest is not None else 0.0
        return next((each for each in known if 0 < now - each.taken_at <= 2 * APART), None)

    @property
    def seconds(self) -> float:
        """The time between the last two readings; 0 if there is only one."""
        return self.readings[-1].taken_at - self.readings[-2].taken_at if len(self.readings) > 1 else 0.0

    def of_partition(self, codes: Collection[str]) -> Finding | None:
        """Returns the finding of one of these codes that concerns the group's offsets partition."""
        return self._first(codes, lambda f: self.tp in f.partitions)

    def of_group(self, code: str) -> Finding | None:
        return self._first((code,), lambda f: self.group in f.blocked.groups or f.facts.get("group") == self.group)

    def of_any(self, tps: Collection[TopicPartition], codes: Collection[str]) -> Finding | None:
        """Returns the finding of one of these codes that concerns any of the partitions."""
        return self._first(codes, lambda f: not set(tps).isdisjoint(f.partitions))

    def _first(self, codes: Collection[str], concerns: Callable[[Finding], bool]) -> Finding | None:
        return next((f for f in self.diagnosis.walk() if f.code in codes and not f.unsettled and concerns(f)), None)

    def why_unread(self, *questions: str) -> str:
        """Returns why the group was not read: the error of these questions, or that the group was not asked for."""
        if self.latest is None:
            return "this snapshot was taken without the name of the group"
        return next((self.latest.errors[q] for q in questions if q in self.latest.errors), "no coordinator to ask")

    def again(self) -> Remedy:
        return diagnose_group(self.case, self.group, "Ask the cluster itself")


def clear(name: str, said: str, evidence: Iterable[Evidence] = ()) -> Rung:
    return Rung(name, RungState.CLEAR, said, tuple(evidence))


def unread(name: str, why: str, *next_steps: Remedy) -> Rung:
    return Rung(name, RungState.UNREAD, why, (), next_steps)


def in_doubt(name: str, said: str, *next_steps: Remedy) -> Rung:
    return Rung(name, RungState.OPEN, said, (), next_steps)


def fails(name: str, cause: Finding | str, evidence: Iterable[Evidence] = ()) -> Rung:
    """Returns a rung that fails because of a finding, with its remedies, or for a reason that no finding has."""
    if isinstance(cause, str):
        return Rung(name, RungState.FAILS, cause, tuple(evidence))
    said, rows = f"{cause.code}: {cause.summary}", tuple(evidence) or cause.evidence
    return Rung(name, RungState.FAILS, said, rows, cause.remedies[:1], cause.code)


def refused(errors: Iterable[int | None]) -> str:
    """Returns the name of the first error that says kfix's own user lacks a right; "" if there is none."""
    return next((error_name(error) for error in errors if error in NOT_ALLOWED), "")
