"""The failures to judge: the requested one, or every broker, every rack and every pair of brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.quorum import majority
from kfix.core.diagnosis.forecast import Failure
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import PartitionState, PartitionView, TopicPartition
from kfix.core.wording import brokers_named

#: Seconds since its last fetch after which a voter no longer counts as one that follows; it fetches twice a second.
_FOLLOWS: Final = 5.0
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


def failure_of(down: str, case: CaseFile, option: str = "--down ") -> Failure:
    """Returns the failure that `broker=3`, `broker=3,4`, `rack=b` or `controller=1` names.

    `option` stands before it on the command line.

    Raises UsageError for anything else, and names the existing ones.
    """
    live = live_of(case)
    kind, _, names = down.partition("=")
    members = tuple(dict.fromkeys(name.strip() for name in names.split(",")))
    if kind not in {"broker", "rack", "controller"} or not all(members):
        raise UsageError(f"{option}{down!r}: broker=ID, broker=ID,ID, rack=NAME or, on KRaft, controller=ID")
    if kind == "controller":
        return _controllers_of(f"{option}{down}", members, case)
    if kind == "rack":
        racks = racks_of(case)
        if unknown := [name for name in members if name not in racks]:
            known = (
                f"the racks of live brokers are {', '.join(sorted(racks))}" if racks else "no live broker has a rack"
            )
            raise UsageError(f"{option}{down}: no rack {unknown[0]!r}; {known}")
        return Failure(frozenset[int]().union(*(racks[name] for name in members)), tuple(sorted(members)))
    brokers = {str(broker): broker for broker in live}
    if unknown := [name for name in members if name not in brokers]:
        dead = " is already down" if unknown[0] in map(str, case.dead) else " does not exist"
        raise UsageError(f"{option}{down}: broker {unknown[0]}{dead}; alive: {brokers_named(live)}")
    return Failure(frozenset(brokers[name] for name in members))


def _controllers_of(given: str, members: tuple[str, ...], case: CaseFile) -> Failure:
    voters = {str(voter) for voter in voters_of(case)}
    if unknown := [name for name in members if name not in voters]:
        known = f"the voters are {', '.join(sorted(voters, key=int))}" if voters else "no KRaft quorum was read"
        raise UsageError(f"{given}: no controller {unknown[0]!r}; {known}")
    chosen = frozenset(map(int, members))
    return Failure(chosen & live_of(case), controllers=chosen)


def every_failure(case: CaseFile) -> tuple[Failure, ...]:
    """Returns every live broker, rack and KRaft controller; with few brokers also every pair. None occurs twice."""
    found: dict[frozenset[int], Failure] = {}
    for failure in _all(case):
        known = found.get(failure.brokers)
        found[failure.brokers] = failure if known is None else Failure(failure.brokers, (*known.racks, *failure.racks))
    apart = (Failure(frozenset(), controllers=frozenset({each})) for each in voters_of(case) - live_of(case))
    return (*found.values(), *apart)


def voters_of(case: CaseFile) -> frozenset[int]:
    """Returns the ids of the voters of a KRaft quorum that answered; a node that is a broker, too, has one id."""
    quorum = case.snapshot.quorum
    return frozenset(each.node for each in quorum.voters) if case.kraft and quorum is not None else frozenset()


def controllers_in(failure: Failure, case: CaseFile) -> frozenset[int]:
    """Returns the controllers that go down in a failure, those in the processes of its brokers included."""
    return failure.controllers | (failure.brokers & voters_of(case))


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


def quorum_lost(case: CaseFile, failure: Failure) -> bool | None:
    """Returns whether the controllers lose their majority; of ZooKeeper, if the hosts of these brokers go down, too.

    None where that is unknown: unless the quorum was read, or the addresses show for enough servers of ZooKeeper
    whether they share a host with a broker.
    """
    if case.kraft:
        return _majority_lost(case, controllers_in(failure, case))
    down = failure.brokers
    if not case.ensemble or case.live is None:
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


def _majority_lost(case: CaseFile, down: frozenset[int]) -> bool | None:
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return None
    answered = {each.node for each in quorum.controllers if each.answered} | {quorum.leader}
    dead = _dead(quorum)
    follows = {each.node for each in quorum.voters if 0 <= each.fetched <= _FOLLOWS} - dead
    silent = dead | {each.node for each in quorum.voters if each.fetched > _FOLLOWS} - answered
    kept = (answered | follows) & voters_of(case) - down
    needed = majority(len(quorum.voters))
    if len(kept) >= needed:
        return False
    return True if len(voters_of(case) - silent - down) < needed else None


def _dead(quorum: QuorumView) -> set[int]:
    """Returns the controllers at whose address nothing listens. One that has just died fetched a moment ago; one that
    died before this controller became active has never fetched from it.
    """
    return {each.node for each in quorum.controllers if each.refused}


def following(case: CaseFile) -> tuple[frozenset[int], frozenset[int]]:
    """Returns the voters of the quorum that keep up with the active controller, itself included, and those of which
    that is unknown.
    """
    quorum = case.snapshot.quorum
    if quorum is None or not quorum.read:
        return frozenset(), voters_of(case)
    others = [each for each in quorum.voters if each.node not in {quorum.leader, *_dead(quorum)}]
    unknown = frozenset(each.node for each in others if each.fetched < 0)
    keep_up = {each.node for each in others if 0 <= each.fetched <= _FOLLOWS and each.caught_up <= _FOLLOWS}
    return frozenset({quorum.leader} | keep_up) & voters_of(case), unknown


def differing(case: CaseFile) -> Iterator[TopicPartition]:
    """Yields the partitions of which ZooKeeper and the brokers' newest metadata show another leader, epoch or ISR."""
    zookeeper = case.snapshot.zookeeper
    recorded = {} if zookeeper is None else {tp: _shown(each) for tp, each in zookeeper.states.items()}
    tps = recorded.keys() | {tp for view in case.snapshot.views.values() for tp in view.partitions}
    for tp in sorted(tps):
        newest = max(case.views_of(tp).values(), key=lambda each: each.leader_epoch, default=None)
        if newest is None or recorded.get(tp) != _shown(newest):
            yield tp


def _shown(each: PartitionState | PartitionView) -> tuple[int, int, frozenset[int]]:
    return each.leader, each.leader_epoch, frozenset(each.isr)


def unknown_of(case: CaseFile) -> Iterator[str]:
    """Yields what the snapshot cannot show, in sentences; each could change the fate of a partition."""
    snapshot = case.snapshot
    quorum = snapshot.quorum
    if snapshot.zookeeper is not None and snapshot.zookeeper.migrating:
        # Whoever decides elects an in-sync replica; which ones are, is known only if both records are the same.
        if tps := tuple(differing(case)):
            shown = f"{tps[0]}{f' and {len(tps) - 1} more' if len(tps) > 1 else ''}"
            yield f"in the migration to KRaft, ZooKeeper and the brokers differ about {shown}: who may lead is unknown"
    elif case.kraft and (quorum is None or not quorum.read):
        yield "the KRaft quorum was not read: whether it keeps its majority, and who may elect uncleanly, is unknown"
    elif case.kraft and quorum is not None and quorum.elr is None:
        yield "no broker reported its features: which replicas are eligible to lead is unknown"
    elif not case.kraft and snapshot.zookeeper is None:
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
