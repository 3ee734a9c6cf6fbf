"""A case file over a stored cluster: the same answers as over the snapshot, from columns and from what was worked out
when the cluster was stored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow.compute as pc

from kfix.adapters.fleet.columns import Columns
from kfix.adapters.fleet.lazy import Raw, StoredFacts, StoredMapping, assignment_in, state_in, view_in
from kfix.adapters.fleet.places import document_place, place_of
from kfix.adapters.fleet.rows import with_partitions
from kfix.adapters.fleet.runs import parse_document
from kfix.adapters.fleet.schema import PARTITIONS, SAMPLE
from kfix.adapters.fleet.sieve import Sieve
from kfix.adapters.saved.decode import decode
from kfix.adapters.saved.shape import COLUMNS, SnapshotShape
from kfix.derive.background import background_of
from kfix.derive.casefile import CaseFile
from kfix.derive.partition_facts import PartitionFacts
from kfix.derive.predicate import parse
from kfix.documents.shapes import read_json
from kfix.errors import UsageError
from kfix.model.expected import EXPECTED, Expected, values_of

_BLOCKED = parse("(leaderless or n_isr < min_isr and n_isr < n_replicas) and not deleting", "CaseFile.nothing_blocked")
_ODD = parse("not deleting and (n_isr < n_replicas or not views_agree or not zk_agrees)", "Overview.odd")
_OFFSETS = parse("offsets", "CaseFile.offsets_partitions")


class StoredCluster:
    """What is stored of one cluster. Columns are read when they are needed; `names` are needed in any case."""

    def __init__(self, table: str, names: Iterable[str] = (), expected: Expected = EXPECTED) -> None:
        self.table = table
        place = place_of(table)
        self.document = parse_document(document_place(place))
        self.columns = Columns(place, [*names])
        if self.document.get("partitions") != self.columns.rows:
            raise UsageError(
                f"{table}: has {self.columns.rows} rows, its cluster's document tells of "
                f"{self.document.get('partitions')}: the two are not of one look",
                hint="collect the cluster again",
            )
        self.facts = StoredFacts(self.columns)
        self.raw = Raw(self.columns)
        self.expected = expected
        self._fetched: dict[int, PartitionFacts] = {}
        self.sieve = Sieve(self.columns.__getitem__, self.columns.rows, values_of(expected))

    def fetch(self, numbers: Iterable[int]) -> None:
        """These rows in one go, facts and raw state, so that `at` finds them."""
        wanted = sorted(set(numbers) - self._fetched.keys())
        if wanted:
            self.columns.read(PARTITIONS.names)
            self._fetched.update(zip(wanted, self.raw.fetch(wanted), strict=True))

    def at(self, numbers: Sequence[int]) -> tuple[PartitionFacts, ...]:
        self.fetch(numbers)
        return tuple(self._fetched[n] for n in numbers)

    @cached_property
    def sample_numbers(self) -> list[int]:
        """The rows that stand for every leader and set of replicas in sync with it."""
        found: list[int] = pc.indices_nonzero(self.columns[SAMPLE]).to_pylist()
        return found

    @cached_property
    def samples(self) -> tuple[PartitionFacts, ...]:
        return self.at(self.sample_numbers)

    @cached_property
    def offsets_partitions(self) -> int:
        return len(self.sieve.rows_of([_OFFSETS]))

    @cached_property
    def odd(self) -> tuple[PartitionFacts, ...]:
        return self.at(self.sieve.rows_of([_ODD]))

    @cached_property
    def nothing_blocked(self) -> bool:
        return not self.sieve.rows_of([_BLOCKED])

    @cached_property
    def leads(self) -> Mapping[int, int]:
        counts = self.columns["leader"].value_counts()
        return Counter(dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)))

    @cached_property
    def holds(self) -> Mapping[int, int]:
        return Counter({int(b): int(n) for b, n in self.document["holds"].items()})

    @cached_property
    def left(self) -> Mapping[int, int]:
        return {int(b): int(at) for b, at in self.document["left"].items()}


@dataclass(frozen=True)
class StoredCase(CaseFile):
    """`facts` may be all rows or some; what is said of all rows is taken from `cluster`."""

    cluster: StoredCluster | None = None

    @property
    def _all(self) -> StoredCluster:
        assert self.cluster is not None
        return self.cluster

    def looking_at(self, facts: Sequence[PartitionFacts]) -> StoredCase:
        """The same case for a check that walks through these rows only."""
        return replace(self, facts=facts)

    def gone_for(self, broker: int) -> float | None:
        left = self._all.left.get(broker)
        return None if left is None else self._age(left)

    @cached_property
    def nothing_blocked(self) -> bool:
        return self._all.nothing_blocked

    @cached_property
    def odd(self) -> Sequence[PartitionFacts]:
        return self._all.odd

    @cached_property
    def leads(self) -> Mapping[int, int]:
        return self._all.leads

    @cached_property
    def holds(self) -> Mapping[int, int]:
        return self._all.holds

    @cached_property
    def offsets_partitions(self) -> int:
        return self._all.offsets_partitions


def open_stored(cluster: StoredCluster, restart_grace: float) -> StoredCase:
    """UsageError where the document is not what a writer of this format makes."""
    try:
        return _opened(cluster, cluster.document, restart_grace)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise UsageError(
            f"{document_place(place_of(cluster.table))}: is damaged: {type(error).__name__} at {error}",
            hint="collect the cluster again",
        ) from None


def _opened(cluster: StoredCluster, document: Mapping[str, Any], restart_grace: float) -> StoredCase:
    raw = cluster.raw
    # Written and read once more: only as JSON are a list and a row of a table the same to the strict shape.
    bare = decode(read_json(json.dumps(document["snapshot"]), SnapshotShape, COLUMNS), str(document["origin"]))
    snapshot = with_partitions(
        bare,
        {
            int(b): StoredMapping(raw, lambda row, b=int(b): view_in(b, row), n)  # type: ignore[misc]
            for b, n in document["known_to"].items()
        },
        StoredMapping(raw, assignment_in, document["assignments"]),
        StoredMapping(raw, state_in, document["states"]),
    )
    assigned = frozenset(document["assigned"])
    background = background_of(bare)
    background = replace(
        background,
        assigned=assigned,
        lost={int(b): (heir, same) for b, (heir, same) in document["lost"].items()},
        n_brokers=len(assigned | (background.live or frozenset())),
    )
    return StoredCase(snapshot, cluster.facts, background, restart_grace, cluster.expected, cluster)
