"""Chooses preferred leaders so that they are spread as evenly as possible."""

from collections import deque
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from kfix.core.snapshot.snapshot import TopicPartition


def even_leaders(
    options: Mapping[TopicPartition, Sequence[int]],
    start: Mapping[TopicPartition, int],
    fixed: Mapping[int, int],
) -> dict[TopicPartition, int]:
    """Returns one of its options for each partition, as even over the brokers as the options allow.

    `start` are leaders to keep where that costs nothing, `fixed` the number of leaderships that cannot be changed.
    The result is a semi-matching without a cost-reducing path, and such a one is optimal (Harvey, Ladner, Lovasz,
    Tamir: Semi-Matchings for Bipartite Graphs and Load Balancing, 2003).
    """
    table = _Table(options, fixed)
    undecided = []
    for tp in sorted(options):
        if start.get(tp) in options[tp]:
            table.lead(tp, start[tp])
        else:
            undecided.append(tp)
    for tp in undecided:
        table.lead(tp, min(options[tp], key=lambda b: (table.load.get(b, 0), b)))
    while table.improve():
        pass
    return table.leader


class _Table:
    """`edges[a][b]`: partitions led by a that b could lead. Entries go stale when another takes over; see `_edge`."""

    def __init__(self, options: Mapping[TopicPartition, Sequence[int]], fixed: Mapping[int, int]) -> None:
        self._options = options
        self.load = dict(fixed)
        self.leader: dict[TopicPartition, int] = {}
        self._edges: dict[int, dict[int, list[TopicPartition]]] = {}

    def lead(self, tp: TopicPartition, broker: int) -> None:
        if tp in self.leader:
            self.load[self.leader[tp]] -= 1
        self.leader[tp] = broker
        self.load[broker] = self.load.get(broker, 0) + 1
        for other in self._options[tp]:
            if other != broker:
                self.load.setdefault(other, 0)
                heappush(self._edges.setdefault(broker, {}).setdefault(other, []), tp)

    def improve(self) -> bool:
        """Passes one leadership along a chain to a broker that has at least 2 fewer; returns False where none can."""
        for source in sorted(self.load, key=lambda b: (-self.load[b], b)):
            chain = self._chain(source)
            if chain:
                for tp, broker in chain:
                    self.lead(tp, broker)
                return True
        return False

    def _chain(self, source: int) -> list[tuple[TopicPartition, int]]:
        came: dict[int, tuple[int, TopicPartition] | None] = {source: None}
        queue = deque([source])
        while queue:
            broker = queue.popleft()
            for other in sorted(self._edges.get(broker, ()), key=lambda b: (self.load[b], b)):
                tp = self._edge(broker, other)
                if other in came or tp is None:
                    continue
                came[other] = (broker, tp)
                if self.load[other] <= self.load[source] - 2:
                    return self._back(came, other)
                queue.append(other)
        return []

    def _edge(self, broker: int, other: int) -> TopicPartition | None:
        heap = self._edges[broker][other]
        while heap and self.leader[heap[0]] != broker:
            heappop(heap)
        return heap[0] if heap else None

    @staticmethod
    def _back(came: Mapping[int, tuple[int, TopicPartition] | None], end: int) -> list[tuple[TopicPartition, int]]:
        chain: list[tuple[TopicPartition, int]] = []
        step = came[end]
        while step is not None:
            chain.append((step[1], end))
            end = step[0]
            step = came[end]
        return chain
