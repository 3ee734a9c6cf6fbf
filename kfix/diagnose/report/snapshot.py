"""A snapshot in a few lines: which cluster, when, and what each source answered or why it did not."""

from __future__ import annotations

import time

from kfix.core.harmless import Lines, lines
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import Snapshot


def described(snapshot: Snapshot) -> Lines:
    taken = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(snapshot.taken_at))
    zookeeper = snapshot.zookeeper
    seen_from = []
    for vantage in snapshot.vantages:
        seen_from.append(f"  seen from {vantage.name}: reaches {', '.join(vantage.reached) or 'none'}")
        seen_from += [f"    does not reach {who}: {why}" for who, why in vantage.unreached.items()]
    partitions = max((len(v.partitions) for v in snapshot.views.values()), default=0)
    rows = [
        f"cluster {snapshot.cluster.name} ({snapshot.cluster.mode.value}), taken {taken} by kfix {snapshot.kfix}",
        *seen_from,
        f"  brokers that responded: {', '.join(map(str, snapshot.views)) or 'none'}; partitions listed: {partitions}",
    ]
    if zookeeper is not None:
        registered = ", ".join(map(str, sorted(zookeeper.registrations)))
        rows.append(
            f"  ZooKeeper {zookeeper.server}: registered {registered or 'none'}; "
            f"controller {zookeeper.controller.broker}, epoch {zookeeper.controller.epoch}; "
            f"partition states {len(zookeeper.states)}"
        )
    if snapshot.quorum is not None:
        rows.append(_quorum(snapshot.quorum))
    answering = sum(p.answers for p in snapshot.probes)
    rows.append(
        f"  groups listed: {len(snapshot.groups)}; coordinators probed: {len(snapshot.probes)}, responding: {answering}"
    )
    rows += [
        f"  {'read  ' if s.ok else 'FAILED'} {s.name} {s.seconds:.2f} s  {s.error}".rstrip() for s in snapshot.sources
    ]
    return lines(*rows)


def _quorum(quorum: QuorumView) -> str:
    answered = ", ".join(f"{c.address}{' (active)' if c.active else ''}" for c in quorum.controllers if c.answered)
    active = (
        f"active controller {quorum.leader}, epoch {quorum.epoch}" if quorum.read else "no active controller answered"
    )
    through = f" through broker {quorum.through}" if quorum.through >= 0 else ""
    applied = ", ".join(f"{b} at {offset}" for b, offset in sorted(quorum.offsets.items()))
    return (
        f"  KRaft: {active}{through}; controllers that responded: {answered or 'none'}; "
        f"high watermark {quorum.high_watermark}; metadata of brokers: {applied or 'unknown'}"
    )
