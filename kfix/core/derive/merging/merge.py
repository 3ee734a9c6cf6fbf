"""Merges several snapshots of one cluster, each from its own vantage. Pure, and nothing is guessed:

- One cluster. Different ids are refused; a snapshot without an id joins the others if these agree, with a warning.
- Close together. Snapshots more than `APART` seconds apart are refused: the cluster may have changed in between.
- A vantage is identified by its name; a snapshot without one gets the name of its file, with a number if that is taken.
  Of several snapshots from one vantage the newest counts; the log ends of the earlier ones become samples. Two
  snapshots of one name that reached different servers are refused: they are from two places, or the network changed.
- Of each broker the newest view from any vantage that reached it; likewise its settings and its address. A broker that
  was registered when it answered, and is not in the view of ZooKeeper that is used, has no view: it answered before.
- ZooKeeper: a view through a server with a quorum outranks one without; then the higher zxid, then the newer.
- Each ZooKeeper server by its best answer: a mode outranks no answer, then the newest.
- Topic settings and reassignments: of the snapshot whose ZooKeeper view was used, then of the newest. Those of an
  isolated broker are outdated.
- Log ends: of each replica the newest without an error, and its high watermark from the same snapshot. If the log ends
  of a partition are not all of the newest snapshot, samples leave out the leader: they would show a false lag.
- Epoch ends only if two brokers report themselves as leader: by the newer of the two, about an epoch not above the
  older one's.
- A probe whose coordinator responded outranks one with an error, which outranks no answer; then the newest.
- Readings of a group at one moment, from several vantages, count once: only later ones show what lasts.
- Groups: every broker that lists one; its state by the newest that knows it. They are complete if every live broker has
  listed its own.
- A broker is silent if no vantage reached it; a source has failed if it responded nowhere. ZooKeeper is one source.
- `seconds` is the longest; times are by the clock of each vantage.
- Everything else comes from the newest snapshot.

Snapshots are ordered by time, vantage and file first, so the order in which they are given does not matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kfix.core.derive.merging import parts
from kfix.core.derive.merging.parts import has_quorum
from kfix.core.derive.merging.snapshots import Snapshots, by_place, close_together, distinct, named, one_cluster, place
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import TIMING

# Answers from one place that a snapshot from another place puts in doubt: the server's present state is unknown.
#
# Two places may differ because a network is cut, or because the server failed in between. Snapshots that are more than
# a debounce apart do not show which.

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


def merge(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Returns the merged snapshot. Raises UsageError if they differ in cluster or time, or two places share a name."""
    ordered = named(distinct(snapshots))
    if len(ordered) == 1:
        return ordered[0]
    cluster_id = one_cluster(ordered)
    close_together(ordered)
    now, before = by_place(ordered)
    ruling = max(now, key=parts.authority)
    gone = gone_since(now, ruling)
    views = {b: v for b, v in sorted(parts.union(s.views for s in now).items()) if b not in gone}
    zookeeper = ruling.zookeeper
    quorum = next((s.quorum for s in now[::-1] if s.quorum is not None and s.quorum.read), ruling.quorum)
    addresses = dict(sorted(parts.union(s.addresses for s in now).items()))
    sources = tuple(parts.sources(now, zookeeper))
    origins = parts.origins_of(now)
    merged = replace(
        now[-1],
        seconds=max(s.seconds for s in now),
        cluster=parts.cluster(now, cluster_id),
        sources=sources,
        views=views,
        zookeeper=zookeeper,
        quorum=quorum,
        migration=next(
            (s.migration for s in now[::-1] if s.migration is not None and s.migration.read), ruling.migration
        ),
        broker_configs=dict(sorted(parts.union({b: c for b, c in s.broker_configs.items() if c} for s in now).items())),
        topic_configs=parts.union(s.topic_configs for s in (*now, ruling)),
        topic_ids=parts.union(s.topic_ids for s in now),
        groups=tuple(parts.groups(now)),
        groups_complete=parts.all_listed(views, zookeeper, sources),
        probes=tuple(parts.probes(now)),
        offsets_logs=tuple(parts.offsets_logs(now)),
        group_readings=tuple(parts.group_readings(now)),
        transaction_log=parts.transaction_log(now),
        offsets_sizes=parts.offsets_sizes(now),
        log_ends=parts.log_ends(now, origins),
        visible=parts.visible(now, origins),
        ensemble=tuple(parts.ensemble(now)),
        vantages=tuple(parts.vantages(now, addresses)),
        samples=tuple(parts.samples(now, before, origins, zookeeper)),
        reassignments=next((s.reassignments for s in (ruling, *now[::-1]) if s.reassignments is not None), None),
        addresses=addresses,
        silent={b: why for b, why in sorted(parts.union(s.silent for s in now).items()) if b not in views},
        memory=parts.memory(now),
        foreign=dict(sorted(parts.union(s.foreign for s in now).items())),
        outdated=tuple(outdated(now, gone)),
        origin=", ".join(s.origin for s in ordered if s.origin),
    )
    return replace(merged, epoch_ends=parts.epoch_ends(now, merged))
