"""The two kinds of check. Each check has its own file, whose module docstring is its page of documentation and begins
with its title, and whose name is its code and its slug, `kfxNNN_its_slug`. A check decorates the function that judges.

A `PartitionCheck` is a condition over one row of facts, so it runs in the shared loop and in SQL; only the rows that
match are described, all at once, so that 400 partitions with one cause become one finding. A `ClusterCheck` is for
everything that does not concern a single partition.

Both declare `rows`, the condition that picks their rows of facts. Live diagnosis and the judging of stored clusters use
this declaration, and a check cannot reach any other row.

A check with `prevention` reports a latent risk: it runs in the audit and with `kfix diagnose --prevention`, and never
with a severity above WARNING. Its condition may also name `expected_rf` and `expected_min_isr`.

A judge is given `Rows` and the `CaseFile`, which this module exports, too.

`scope` states in which snapshots a check can find anything: a report of checks lists it as passed only for those.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Self

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.partitions import Rows
from kfix.core.diagnosis.finding import Finding, Severity
from kfix.core.snapshot.snapshot import Mode, Snapshot

__all__ = [
    "CaseFile",
    "Check",
    "ClusterCheck",
    "Debounce",
    "Documented",
    "PartitionCheck",
    "RiskOfCluster",
    "RiskOfPartitions",
    "Rows",
    "Scope",
]


class Debounce(StrEnum):
    """What a second snapshot must show before a finding counts: a starting broker can look like a stuck partition."""

    NONE = "none"
    HELD = "held"  # The condition holds in both snapshots.
    SAME = "same"  # In addition, nothing was written to the partition in between.


class Scope(StrEnum):
    """The snapshots in which a check can find anything."""

    EVERY = ""
    ZOOKEEPER = "it concerns clusters with ZooKeeper"
    KRAFT = "it concerns clusters on KRaft"
    TEXT = "it concerns pasted text"
    GROUP = "it needs --group"
    EARLIER = "it needs an earlier snapshot"

    def covers(self, snapshot: Snapshot) -> bool:
        """Whether a check of this scope judges the snapshot; if the mode of the cluster is unknown, it may."""
        match self:
            case Scope.ZOOKEEPER:
                return snapshot.cluster.mode is not Mode.KRAFT
            case Scope.KRAFT:
                return snapshot.cluster.mode is not Mode.ZOOKEEPER or snapshot.migration is not None
            case Scope.TEXT:
                return snapshot.pasted is not None
            case Scope.GROUP:
                return any(each.in_depth for each in snapshot.group_readings)
            case Scope.EARLIER:
                return bool(snapshot.samples or snapshot.memory.at_risk)
            case _:
                return True


Judge = Callable[[Rows, CaseFile], Iterator[Finding]]


def _nothing(_rows: Rows, _case: CaseFile) -> Iterator[Finding]:
    return iter(())


class Documented:
    """What a check gets from the file of its judge: code and slug from its name, the page and the title from its docs.

    The title is the first line of the page, behind code and slug.
    """

    __slots__ = ()
    judge: Callable[..., object]

    @property
    def code(self) -> str:
        return self._name[0].upper()

    @property
    def slug(self) -> str:
        return self._name[2].replace("_", "-")

    @property
    def page(self) -> str:
        return (sys.modules[self.judge.__module__].__doc__ or "").strip()

    @property
    def subject(self) -> str:
        """The folder of the file, such as "leadership"."""
        return self.judge.__module__.split(".")[1]

    @property
    def title(self) -> str:
        return self.page.partition("\n")[0].partition(": ")[2].removesuffix(".")

    @property
    def _name(self) -> tuple[str, str, str]:
        return self.judge.__module__.rpartition(".")[2].partition("_")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared(Documented):
    """`severity` is the worst that the check may report."""

    judge: Judge = _nothing
    severity: Severity = Severity.WARNING
    prevention: bool = False
    scope: Scope = Scope.EVERY

    def __call__(self, judge: Judge) -> Self:
        """Declares that the decorated function judges."""
        return replace(self, judge=judge)

    def findings(self, rows: Rows, case: CaseFile) -> Iterator[Finding]:
        """Yields what the judge finds, under the code of the check unless the finding has one of its own."""
        for found in self.judge(rows, case):
            yield replace(found, code=found.code or self.code, prevention=self.prevention)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCheck(_Declared):
    """Every row that meets `rows` is at fault, and the check explains them.

    `brokers` returns the brokers at fault for a row. Each is a fault of its own, which lasts if an earlier snapshot
    shows the same partition without the same broker; the findings about it have its id as their token.
    """

    rows: str
    debounce: Debounce = Debounce.SAME
    brokers: Callable[[PartitionFacts, CaseFile], Sequence[int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCheck(_Declared):
    """It is called once per cluster with the rows that meet `rows`; without a condition it gets none."""

    rows: str = ""
    debounce: Debounce = Debounce.HELD


Check = PartitionCheck | ClusterCheck
#: Checks for latent risks: what is set or placed badly does not pass by itself, so one snapshot is enough.
RiskOfPartitions = partial(PartitionCheck, debounce=Debounce.NONE, prevention=True)
RiskOfCluster = partial(ClusterCheck, debounce=Debounce.NONE, prevention=True)
