"""Answers from one place that a snapshot from another place puts in doubt: the server's present state is unknown.

Two places may differ because a network is cut, or because the server failed in between. Snapshots that are more than a
debounce apart do not show which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kfix.core.derive.merging.parts import has_quorum
from kfix.core.derive.merging.snapshots import Snapshots, place
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import TIMING

_ZOOKEEPER = "zookeeper"
_CONTROLLERS = "the active controller"


def gone_since(now: Snapshots, ruling: Snapshot) -> dict[int, str]:
    """Returns {broker: the place that it answered} of those whose registration ended after they had answered.

    The snapshot in which such a broker answered lists it as registered. So the answer does not show that it runs
    without a registration, as a broker does that is cut off from ZooKeeper.
    """
    if ruling.zookeeper is None or not has_quorum(ruling):
        return {}
    answered = {b: each for each in now for b in each.views}
    return {
        b: _named(each)
        for b, each in sorted(answered.items())
        if b not in ruling.zookeeper.registrations
        and each.zookeeper is not None
        and has_quorum(each)
        and b in each.zookeeper.registrations
    }


def outdated(now: Snapshots, gone: Mapping[int, str]) -> Iterator[str]:
    """Yields a sentence for each source that answered one place, and later not another one, and for each of `gone`."""
    for broker, where in gone.items():
        yield f"broker {broker}: answered at {where}, and is not registered any more; save the snapshots again"
    answers = [(each, _answers(each)) for each in now]
    for name in sorted({name for _, found in answers for name in found}):
        read = [each for each, found in answers if found.get(name) is True]
        failed = [each for each, found in answers if found.get(name) is False]
        if not read or not failed:
            continue
        apart = failed[-1].taken_at - read[-1].taken_at
        if apart > TIMING.debounce:
            where = f"answered at {_named(read[-1])}, and not at {_named(failed[-1])} {apart:.0f} s later"
            yield f"{name}: {where}; save the snapshots within {TIMING.debounce:.0f} s"


def _answers(snapshot: Snapshot) -> Mapping[str, bool]:
    """Returns {source: whether it answered}; servers of one ensemble, and controllers, are one source each."""
    found: dict[str, bool] = {}
    for source in snapshot.sources:
        if source.name.startswith(_ZOOKEEPER):
            found[_ZOOKEEPER] = snapshot.zookeeper is not None
        elif source.name.startswith("broker "):
            found[source.name] = source.ok
    if snapshot.quorum is not None:
        found[_CONTROLLERS] = snapshot.quorum.read
    return found


def _named(snapshot: Snapshot) -> str:
    return " + ".join(place(snapshot))
