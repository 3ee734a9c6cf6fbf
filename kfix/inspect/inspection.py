"""The result of `kfix inspect log-dir`, and its verdict."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from kfix.core.derive.divergence import Comparison, Divergence
from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.disk.model import Grade, LogDir, Oddity, StoredGroups


@dataclass(frozen=True)
class Inspection:
    """All findings on disk; `groups` of the chosen replicas; `read_later` holds the remarks made while reading them."""

    dirs: tuple[LogDir, ...]
    comparisons: tuple[Comparison, ...]
    groups: tuple[StoredGroups, ...] = ()
    read_later: tuple[Oddity, ...] = ()

    @cached_property
    def cluster(self) -> str:
        return next((d.cluster for d in self.dirs if d.cluster), "")

    @cached_property
    def oddities(self) -> tuple[Oddity, ...]:
        """Returns the remarks, worst first, each once."""
        order = (Grade.UNREAD, Grade.ODD, Grade.NOTE)
        every = dict.fromkeys((*(o for d in self.dirs for o in d.oddities), *self.read_later))
        return tuple(sorted(every, key=lambda o: order.index(o.grade)))

    def graded(self, grade: Grade) -> tuple[Oddity, ...]:
        return tuple(o for o in self.oddities if o.grade is grade)

    @cached_property
    def counts(self) -> Counter[Divergence]:
        return Counter(c.verdict for c in self.comparisons)

    @property
    def exit_code(self) -> int:
        """Returns the exit code; records that only a losing replica has are critical, even with unread files."""
        if self.counts[Divergence.DIVERGENT]:
            return CRITICAL
        if self.graded(Grade.UNREAD):
            return CANNOT_TELL
        odd = self.graded(Grade.ODD) or self.counts[Divergence.BEHIND] or self.counts[Divergence.APART]
        return WARNINGS if odd else HEALTHY
