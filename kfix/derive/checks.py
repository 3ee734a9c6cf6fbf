"""The two kinds of check. Each check has its own file, whose module docstring is its page of documentation.

A `PartitionCheck` is a condition over one row of facts, so it runs in the shared loop and in SQL; only the rows that
match are described, all at once, so that 400 partitions with one cause become one finding. A `ClusterCheck` is for
everything that does not concern a single partition.

A check with `prevention` reports a latent risk: it runs in the audit and with `kfix diagnose --prevention`, and never
with a severity above WARNING. Its condition may also name `expected_rf` and `expected_min_isr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kfix.derive.casefile import CaseFile
from kfix.derive.partition_facts import PartitionFacts
from kfix.model.diagnosis.finding import Finding, Severity

Rows = tuple[PartitionFacts, ...]


class Debounce(StrEnum):
    """What a second snapshot must show before a finding counts: a starting broker can look like KFX101."""

    NONE = "none"
    HELD = "held"  # the condition holds in both snapshots
    SAME = "same"  # and nothing was written to the partition in between


@dataclass(frozen=True, slots=True)
class PartitionCheck:
    """`severity` is the worst severity it may report; `reads` names the attributes of the case file that it reads."""

    code: str
    slug: str
    title: str
    severity: Severity
    when: str
    describe: Callable[[Rows, CaseFile], Iterator[Finding]]
    debounce: Debounce = Debounce.SAME
    reads: tuple[str, ...] = ()
    prevention: bool = False


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    code: str
    slug: str
    title: str
    severity: Severity
    check: Callable[[CaseFile], Iterator[Finding]]
    debounce: Debounce = Debounce.HELD
    reads: tuple[str, ...] = ()
    prevention: bool = False


Check = PartitionCheck | ClusterCheck
