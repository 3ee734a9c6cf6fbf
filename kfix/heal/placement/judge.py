"""Checks a placement, whether kfix, another tool or a person made it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, several
from kfix.heal.placement.world import Assignments, World, most_racks, racks_of

#: With fewer partitions a skew cannot be distinguished from chance.
_ENOUGH = 6


class PlacementSeverity(StrEnum):
    """An error must not be sent to Kafka; a warning is worse than necessary, or worse than before."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """`tp` is None where the placement as a whole is meant. `text` does not name the partition."""

    tp: TopicPartition | None
    severity: PlacementSeverity
    text: str


def judge(wanted: Assignments, world: World) -> tuple[PlacementProblem, ...]:
    """Yields all problems in the order of the partitions; those of the whole placement come last.

    A broker that is not live is an error where it is added, a warning where it already holds the partition: the
    reassignment then does not complete before that broker is back (docs/facts/controller.md).
    """
    lists: dict[TopicPartition, list[tuple[int, ...]]] = defaultdict(list)
    for tp, replicas in sorted(wanted):
        lists[tp].append(replicas)
    problems: list[PlacementProblem] = []
    for tp, given in lists.items():
        if tp not in world.assignments:
            problems.append(_error(tp, "the cluster has no such partition"))
        if len(given) > 1:
            problems.append(_error(tp, f"given {len(given)} times: {_each(given)}"))
        for replicas in dict.fromkeys(given):
            problems += _list(tp, replicas, world)
    problems += _skew([given[0] for given in lists.values()], world)
    return tuple(problems)


def _list(tp: TopicPartition, replicas: tuple[int, ...], world: World) -> Iterator[PlacementProblem]:
    if not replicas:
        yield _error(tp, "no replica at all")
        return
    twice = sorted(b for b, n in Counter(replicas).items() if n > 1)
    if twice:
        yield _error(tp, f"{_each([replicas])} names {brokers_named(twice)} more than once")
    before = world.assignments.get(tp, ())
    dead = sorted(set(replicas) - world.live.keys())
    if added := [b for b in dead if b not in before]:
        yield _error(tp, f"{brokers_named(added)} cannot take a replica: {world.live_text()}")
    if kept := [b for b in dead if b in before]:
        which = "stays and is not alive" if len(kept) == 1 else "stay and are not alive"
        text = f"{brokers_named(kept)} {which}: the move does not complete before a return"
        yield PlacementProblem(tp, PlacementSeverity.WARNING, text)
    distinct = len(set(replicas))
    if distinct < len(before):
        text = f"{len(before)} replicas become {distinct}: {_each([before])} becomes {_each([replicas])}"
        yield PlacementProblem(tp, PlacementSeverity.WARNING, text)
    racks, most = len(racks_of(world, replicas)), most_racks(world, replicas)
    if racks < most:
        text = f"{_each([replicas])} is in {several(racks, 'rack')} where {most} are possible"
        yield PlacementProblem(tp, PlacementSeverity.WARNING, text)


def _skew(lists: Sequence[tuple[int, ...]], world: World) -> Iterator[PlacementProblem]:
    """A share is at least one partition: with many brokers and few partitions some brokers lead none."""
    first = Counter(replicas[0] for replicas in lists if replicas and replicas[0] in world.live)
    if len(lists) < _ENOUGH or not world.live:
        return
    share = max(1.0, len(lists) / len(world.live))
    for broker, n in sorted(first.items()):
        if n > 2 * share:
            text = (
                f"broker {broker} would be the preferred leader of {n} of {len(lists)} partitions; "
                f"an even share of {len(world.live)} live brokers is {share:.1f}"
            )
            yield PlacementProblem(None, PlacementSeverity.WARNING, text)


def _error(tp: TopicPartition, text: str) -> PlacementProblem:
    return PlacementProblem(tp, PlacementSeverity.ERROR, text)


def _each(lists: Iterable[tuple[int, ...]]) -> str:
    return " and ".join(f"[{', '.join(map(str, replicas))}]" for replicas in lists)
