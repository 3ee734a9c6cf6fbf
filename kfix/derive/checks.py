"""The two shapes of a check. Each lives in a file of its own, whose module docstring is its page of documentation.

A `PartitionCheck` is a condition over one row of facts, so it runs in the shared loop, in Spark and in SQL; only the
rows that match are described, all at once, so that 400 partitions with one cause become one finding. A `ClusterCheck`
is the way out for everything that is no matter of one partition.

Both declare one thing, `rows`: the condition that picks the rows of facts which the check is given. Live diagnosis, the
judging of stored clusters and the table in diagnostics/README.md all use this declaration, and a check cannot reach any
other row.

A check of `prevention` tells what works today and will bite one day: it runs in the nightly audit and where it is asked
for (`kfix diagnose --prevention`), and never with a severity above WARNING. Its condition may name `expected_rf` and
`expected_min_isr` beside the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kfix.derive.casefile import CaseFile
from kfix.derive.partitions import Rows
from kfix.model.diagnosis.finding import Finding, Severity

__all__ = ["Check", "ClusterCheck", "Debounce", "PartitionCheck", "Rows"]


class Debounce(StrEnum):
    """What a second look, some seconds later, must show before a finding counts (baselines 5: starts look like A1)."""

    NONE = "none"
    HELD = "held"  # the condition holds in both looks
    SAME = "same"  # and nothing was written to the partition in between


@dataclass(frozen=True, slots=True)
class PartitionCheck:
    """`severity` is the worst it may give; every row that meets `rows` is at fault, and `describe` explains them."""

    code: str
    slug: str
    title: str
    severity: Severity
    rows: str
    describe: Callable[[Rows, CaseFile], Iterator[Finding]]
    debounce: Debounce = Debounce.SAME
    prevention: bool = False


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """`check` is called once per cluster with the rows that meet `rows`; without a condition it gets none."""

    code: str
    slug: str
    title: str
    severity: Severity
    check: Callable[[Rows, CaseFile], Iterator[Finding]]
    rows: str = ""
    debounce: Debounce = Debounce.HELD
    prevention: bool = False


Check = PartitionCheck | ClusterCheck
