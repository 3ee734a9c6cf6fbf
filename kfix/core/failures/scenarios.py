"""The failures to judge: the requested one, or every broker, every rack and every pair of brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.forecast import Failure
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import brokers_named

#: With more live brokers than this, pairs are left out: their number grows with the square.
MOST_FOR_PAIRS: Final = 30


def live_of(case: CaseFile) -> frozenset[int]:
    """Returns the live brokers. Raises UnreachableError if no source shows them: then nothing can be judged."""
    if not case.live:
        raise UnreachableError(
            "no source shows which brokers are alive, so no failure can be judged",
            hint="take a snapshot of the live cluster: kfix snapshot save FILE --bootstrap-server HOST:PORT",
        )
    return case.live


def failure_of(down: str, case: CaseFile) -> Failure:
    """Returns the failure that `broker=3`, `broker=3,4` or `rack=b` names.

    Raises UsageError for anything else, and names the existing ones.
    """
    live = live_of(case)
    kind, _, names = down.partition("=")
    members = tuple(dict.fromkeys(name.strip() for name in names.split(",")))
    if kind not in {"broker", "rack"} or not all(members):
        raise UsageError(f"--down {down!r}: broker=ID, broker=ID,ID or rack=NAME")
    if kind == "rack":
        racks = racks_of(case)
        if unknown := [name for name in members if name not in racks]:
            known = (
                f"the racks of live brokers are {', '.join(sorted(racks))}" if racks else "no live broker has a rack"
            )
            raise UsageError(f"--down {down}: no rack {unknown[0]!r}; {known}")
        return Failure(frozenset[int]().union(*(racks[name] for name in members)), tuple(sorted(members)))
    brokers = {str(broker): broker for broker in live}
    if unknown := [name for name in members if name not in brokers]:
        dead = " is already down" if unknown[0] in map(str, case.dead) else " does not exist"
        raise UsageError(f"--down {down}: broker {unknown[0]}{dead}; alive: {brokers_named(live)}")
    return Failure(frozenset(brokers[name] for name in members))


def every_failure(case: CaseFile) -> tuple[Failure, ...]:
    """Returns every live broker and every rack; with few brokers also every pair. No set of brokers occurs twice."""
    found: dict[frozenset[int], Failure] = {}
    for failure in _all(case):
        known = found.get(failure.brokers)
        found[failure.brokers] = failure if known is None else Failure(failure.brokers, (*known.racks, *failure.racks))
    return tuple(found.values())


def _all(case: CaseFile) -> Iterator[Failure]:
    live = sorted(live_of(case))
    for broker in live:
        yield Failure(frozenset({broker}))
    for rack, brokers in sorted(racks_of(case).items()):
        yield Failure(brokers, (rack,))
    if len(live) <= MOST_FOR_PAIRS:
        for pair in combinations(live, 2):
            yield Failure(frozenset(pair))


def racks_of(case: CaseFile) -> Mapping[str, frozenset[int]]:
    """Returns {rack: its live brokers}."""
    found: dict[str, set[int]] = {}
    for broker in live_of(case):
        if rack := case.racks.get(broker):
            found.setdefault(rack, set()).add(broker)
    return {rack: frozenset(brokers) for rack, brokers in found.items()}


def quorum_lost(case: CaseFile, down: frozenset[int]) -> bool | None:
    """Returns whether ZooKeeper loses its quorum if the hosts of these brokers go down with them.

    None unless the addresses show for enough servers of the ensemble whether they share a host with a broker.
    """
    if case.kraft or not case.ensemble or case.live is None:
        return None
    voters = [node for node in case.ensemble if node.mode != "observer"]
    at = {broker: case.address(broker).rpartition(":")[0] for broker in case.live}
    staying = {host for broker, host in at.items() if broker not in down}
    lost_hosts = {at[broker] for broker in down} - staying - {""}
    serving = [node.address.rpartition(":")[0] for node in voters if node.serves]
    kept = sum(host in staying for host in serving)
    lost = sum(host in lost_hosts for host in serving)
    if kept * 2 > len(voters):
        return False
    return True if (len(serving) - lost) * 2 <= len(voters) else None


def unknown_of(case: CaseFile) -> Iterator[str]:
    """Yields what the snapshot cannot show, in sentences; each could change the fate of a partition."""
    snapshot = case.snapshot
    if snapshot.cluster.mode is Mode.KRAFT or (snapshot.zookeeper is not None and snapshot.zookeeper.migrating):
        yield (
            "KRaft: the controller quorum and eligible leader replicas are not part of the forecast; a partition "
            "without a live in-sync replica is therefore unknown, and so is who becomes the controller"
        )
    elif snapshot.zookeeper is None:
        yield (
            "ZooKeeper was not read: partitions whose record differs from the controller's memory, which a failure "
            "would strand, are unknown"
        )
    if not snapshot.views:
        yield "no broker's metadata was read, so the controller's memory is unknown"
    for source in case.failed_sources:
        yield f"not read: {source.name}: {source.error}" if source.error else f"not read: {source.name}"
    if case.cut is not None:
        yield "the network is cut (kfix diagnose names where), so the forecast may differ from what each side will do"
