"""Facts that are the same for all partitions of a snapshot: live brokers, lost ids, racks, settings in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kfix.core.derive.liveness import Left, Likely, left_by_record, likely_of
from kfix.core.derive.quorum import absence, listed_alive
from kfix.core.derive.record import record_of
from kfix.core.derive.settings import SettingsInForce
from kfix.core.derive.vantage import distinct
from kfix.core.numbers import whole_number
from kfix.core.snapshot.snapshot import Mode, Registration, Snapshot

UNKNOWN: Final = -1
#: The session of a killed broker outlives it, so its replacement may register before it "left".
_OUTLIVES_MS: Final = 60_000
#: The time after which the active controller fences a broker that is silent, and its default.
_SESSION: Final = "broker.session.timeout.ms"
_USUAL_SESSION_MS: Final = 9_000


@dataclass(frozen=True, slots=True)
class Background:
    """Facts of a cluster. `live` is None if unknown; with `authority` ZooKeeper's record outweighs broker views.

    `absent` is {broker: least seconds since it was fenced} of the dead brokers that a KRaft controller still knows.
    `likely` holds the hints of a pasted text if `live` is None.
    """

    live: frozenset[int] | None
    racks: Mapping[int, str]
    assigned: frozenset[int]
    lost: Mapping[int, tuple[int | None, bool]]
    n_brokers: int
    registered_ms: Mapping[int, int]
    taken_ms: int
    authority: bool
    settings: SettingsInForce = field(repr=False)
    likely: Likely = field(default_factory=Likely)
    absent: Mapping[int, int] = field(default_factory=dict)


def background_of(snapshot: Snapshot) -> Background:
    zookeeper = snapshot.zookeeper
    live = live_brokers(snapshot)
    record = record_of(snapshot)
    registrations = record.registrations if record is not None else {}
    assigned = frozenset(b for replicas in assignments_of(snapshot) for b in replicas)
    racks = {b: r for view in snapshot.views.values() for b, r in view.racks.items() if r}
    racks |= {b: r.rack for b, r in registrations.items() if r.rack}
    return Background(
        live=live,
        racks=racks,
        assigned=assigned,
        lost=lost_brokers(snapshot, live, assigned),
        n_brokers=len(assigned | (live or frozenset())),
        registered_ms={b: r.registered_ms for b, r in registrations.items() if r.registered_ms > 0},
        taken_ms=int(snapshot.taken_at * 1000),
        authority=zookeeper is not None and not zookeeper.migrating and snapshot.cluster.mode is not Mode.KRAFT,
        settings=SettingsInForce(snapshot),
        likely=likely_of(snapshot) if live is None else Likely(),
        absent=_absent(snapshot, assigned - live) if live is not None and snapshot.quorum is not None else {},
    )


def _absent(snapshot: Snapshot, gone: Iterable[int]) -> dict[int, int]:
    assert snapshot.quorum is not None
    session = session_seconds(snapshot)
    ages = {broker: absence(snapshot.quorum, broker) for broker in gone}
    return {broker: int(age - session) for broker, age in ages.items() if age is not None and age >= session}


def session_seconds(snapshot: Snapshot) -> float:
    """Returns how long a KRaft broker is alive without a heartbeat, in seconds: Kafka's default if none reports it."""
    timeouts = [whole_number(c.get(_SESSION, "")) for c in snapshot.broker_configs.values()]
    return max((ms for ms in timeouts if ms is not None), default=_USUAL_SESSION_MS) / 1000


def live_brokers(snapshot: Snapshot) -> frozenset[int] | None:
    if snapshot.zookeeper is not None:
        return frozenset(snapshot.zookeeper.registrations)
    if snapshot.pasted is not None and snapshot.pasted.registered is not None:
        return frozenset(snapshot.pasted.registered)
    # Most pasted texts are one view without a list of brokers: they do not show which brokers are alive.
    return listed_alive(snapshot.views, snapshot.quorum)


def assignments_of(snapshot: Snapshot) -> set[tuple[int, ...]]:
    """Returns the distinct replica lists: few, however many partitions there are."""
    found = {v.replicas for partitions in distinct(snapshot.views)[0] for v in partitions.values()}
    if snapshot.zookeeper is not None:
        found |= {a.replicas for a in snapshot.zookeeper.assignments.values()}
    return found


def assignment_counts(snapshot: Snapshot) -> Counter[tuple[int, ...]]:
    """Returns {replicas: number of partitions}, by ZooKeeper, otherwise by the view that knows most partitions."""
    if snapshot.zookeeper is not None:
        return Counter(a.replicas for a in snapshot.zookeeper.assignments.values())
    fullest = max((view.partitions for view in snapshot.views.values()), key=len, default={})
    return Counter(view.replicas for view in fullest.values())


def replica_counts(snapshot: Snapshot) -> Counter[int]:
    """Returns {broker: number of replicas that are assigned to it}."""
    found: Counter[int] = Counter()
    for replicas, n in assignment_counts(snapshot).items():
        for broker in replicas:
            found[broker] += n
    return found


def lost_brokers(
    snapshot: Snapshot, live: frozenset[int] | None, assigned: frozenset[int]
) -> dict[int, tuple[int | None, bool]]:
    """Returns the assigned ids that no longer exist: {id: (its replacement, whether that has the same address)}.

    A dead broker looks the same. Two signs distinguish them: its address now responds under another id, or a broker
    without any replica has registered since it left. An empty broker that is older is only a new, empty broker. Each id
    has its own replacement, None if several brokers may be it: then an operator has to name it. A broker that responds,
    or fetches metadata, runs under its id.
    """
    record = record_of(snapshot)
    if live is None or record is None:
        return {}
    registrations = record.registrations
    at = {str(r.endpoint): b for b, r in registrations.items() if r.endpoint is not None}
    quorum = snapshot.quorum
    runs = {*snapshot.views, *(b for b in assigned if quorum is not None and quorum.fetches(b))}
    gone = sorted(assigned - live - runs)
    addresses = {b: address for b in gone if (address := _last_address(b, snapshot)) in at}
    claims = Counter(addresses.values())
    # If two of them had the same address, it does not show which one still runs.
    found: dict[int, tuple[int | None, bool]] = {
        b: (at[address], True) for b, address in addresses.items() if claims[address] == 1
    }
    # Without the times of registrations any empty broker could be a replacement.
    idle = sorted(live - assigned - {heir for heir, _ in found.values()}) if record.dated else []
    left = leavings(snapshot) if idle and len(found) < len(gone) else {}
    possible = {
        b: heirs
        for b in gone
        if b not in found
        and (heirs := [o for o in idle if _since(registrations[o].registered_ms, left.get(b, Left()))])
    }
    return found | {b: (heir, False) for b, heir in _successors(possible, registrations, snapshot).items()}


def _last_address(broker: int, snapshot: Snapshot) -> str:
    """Returns the address of a broker that is gone; Kafka 4 keeps its registration, as long as it is not removed."""
    fenced = snapshot.quorum is not None and broker in (snapshot.quorum.fenced or ())
    known = snapshot.addresses.get(broker) if fenced else None
    return snapshot.memory.brokers.get(broker, "") if known is None else str(known)


def _since(registered_ms: int, left: Left) -> bool:
    """Returns whether a broker may have registered since another one left: false if a witness shows otherwise."""
    known = [at for at in (left.not_before, left.unsynced or left.not_after) if at is not None]
    return registered_ms <= 0 or registered_ms >= max(known, default=registered_ms) - _OUTLIVES_MS


def _successors(
    possible: Mapping[int, list[int]], registrations: Mapping[int, Registration], snapshot: Snapshot
) -> dict[int, int | None]:
    """Returns {lost id: its one replacement}: by host, else in order of ids if there are as many as lost ids."""
    hosts = {b: r.endpoint.host for b, r in registrations.items() if r.endpoint is not None}
    found: dict[int, int | None] = {}
    for lost, heirs in possible.items():
        host = snapshot.memory.brokers.get(lost, "").rpartition(":")[0]
        same = [heir for heir in heirs if hosts.get(heir) == host]
        rivals = [b for b in possible if snapshot.memory.brokers.get(b, "").rpartition(":")[0] == host]
        if host and len(same) == 1 and rivals == [lost]:
            found[lost] = same[0]
    rest = [lost for lost in possible if lost not in found]
    free = sorted({heir for lost in rest for heir in possible[lost]} - set(found.values()))
    fits = len(rest) == len(free) and all(heir in possible[lost] for lost, heir in zip(rest, free, strict=True))
    return found | (dict(zip(rest, free, strict=True)) if fits else dict.fromkeys(rest))


def leavings(snapshot: Snapshot) -> dict[int, Left]:
    """Returns when each broker that is gone left."""
    if snapshot.zookeeper is not None:
        return left_by_record(snapshot.zookeeper, snapshot.memory.brokers.keys())
    return {broker: Left(at, at) for broker, at in _last_fetch_ms(snapshot).items()}


def _last_fetch_ms(snapshot: Snapshot) -> dict[int, int]:
    """Returns the last metadata fetch of each broker that is not alive: KRaft keeps no other record of it."""
    live = live_brokers(snapshot)
    if snapshot.quorum is None or live is None:
        return {}
    gone = {each.node for each in snapshot.quorum.observers} | {each.node for each in snapshot.quorum.voters}
    ages = {broker: absence(snapshot.quorum, broker) for broker in gone - live}
    return {broker: int((snapshot.taken_at - age) * 1000) for broker, age in ages.items() if age is not None}
