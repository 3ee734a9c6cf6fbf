"""Several looks at one cluster, each from a place of its own, as one look. Pure, and nothing is guessed:

- One cluster. Different ids are refused; a look without an id joins the others where these agree, and it is said.
- Close together. Looks more than `APART` seconds apart are refused: what they disagree about may just have changed.
- A place is the name of its vantage; a look without one takes its file's name, with a number where that is taken. Of
  several looks from one place the newest speaks, the log ends of the earlier ones become samples. Two looks that share
  a name and reached others are refused: they are two places, or something changed between them.
- Of each broker the newest view from any place that reached it; so its settings, its address.
- ZooKeeper: a view through a server with a quorum goes before one without; then the higher zxid, then the newer.
- Each ZooKeeper server by its best answer: a mode goes before no answer, then the newest.
- What controllers and ZooKeeper tell of topics (settings, reassignments): of the look whose ZooKeeper view was taken,
  then of the newest. An isolated broker tells what was true before.
- Log ends: of each replica the newest that is no error, and its high watermark by the same look. Of a partition whose
  log ends are not all of the newest look, samples leave out the leader: ends of different moments tell no lag.
- Epoch ends only where two brokers call themselves leader: by the newer of the two, about an epoch not above the older
  one's.
- A probe whose coordinator answered goes before one with an error, that before no answer; then the newest.
- Groups: everybody who lists one; its state by the newest who knows it. They are complete where every live broker has
  listed its own.
- Silent is whom no place reached; a source has failed where it answered nowhere. All of ZooKeeper is one source.
- `taken_at` is that of the newest look, `seconds` that of the longest; times are by the clock of each place.

Looks are put in order of time, place and file first, so the order in which they are given does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kfix.derive.merging import parts
from kfix.derive.merging.looks import by_place, close_together, distinct, named, one_cluster
from kfix.model.cluster.snapshot import Snapshot


def merge(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Raises `UsageError` where they are not of one cluster, not of one time, or where two places share a name."""
    looks = named(distinct(snapshots))
    if len(looks) == 1:
        return looks[0]
    cluster_id = one_cluster(looks)
    close_together(looks)
    now, before = by_place(looks)
    ruling = max(now, key=parts.authority)
    views = dict(sorted(parts.union(s.views for s in now).items()))
    zookeeper = ruling.zookeeper
    addresses = dict(sorted(parts.union(s.addresses for s in now).items()))
    sources = tuple(parts.sources(now, zookeeper))
    told = parts.told_by(now)
    merged = Snapshot(
        taken_at=now[-1].taken_at,
        seconds=max(s.seconds for s in now),
        kfix=now[-1].kfix,
        cluster=parts.cluster(now, cluster_id),
        sources=sources,
        views=views,
        zookeeper=zookeeper,
        broker_configs=dict(sorted(parts.union({b: c for b, c in s.broker_configs.items() if c} for s in now).items())),
        topic_configs=parts.union(s.topic_configs for s in (*now, ruling)),
        groups=tuple(parts.groups(now)),
        groups_complete=parts.all_listed(views, zookeeper, sources),
        probes=tuple(parts.probes(now)),
        log_ends=parts.log_ends(now, told),
        visible=parts.visible(now, told),
        ensemble=tuple(parts.ensemble(now)),
        vantages=tuple(parts.vantages(now, addresses)),
        samples=tuple(parts.samples(now, before, told, zookeeper)),
        reassignments=next((s.reassignments for s in (ruling, *now[::-1]) if s.reassignments is not None), None),
        addresses=addresses,
        silent={b: why for b, why in sorted(parts.union(s.silent for s in now).items()) if b not in views},
        remembered_groups=tuple(dict.fromkeys(g for s in now[::-1] for g in s.remembered_groups)),
        remembered_brokers=dict(sorted(parts.union(s.remembered_brokers for s in now).items())),
        origin=", ".join(s.origin for s in looks if s.origin),
    )
    return replace(merged, epoch_ends=parts.epoch_ends(now, merged))
