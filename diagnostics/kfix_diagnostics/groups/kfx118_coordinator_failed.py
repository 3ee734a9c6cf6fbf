"""KFX118 coordinator-failed: a Kafka 4 coordinator failed to load its offsets partition, and refuses its groups.

Why it matters
    Every request of every group of the partition is answered with NOT_COORDINATOR, until a later leader epoch loads the
    partition without an error. Nothing alerts: the partition has a leader and a full ISR, every broker names the
    coordinator, and the brokers no longer list the groups.

How kfix knows
    FindCoordinator names the broker that leads the partition, and this broker itself answers OffsetFetch with
    NOT_COORDINATOR (16), for a group that does not exist as for one that does; a second snapshot shows the same. The
    feature `group.version` shows that the cluster has the new coordinator, which reads the whole partition or none of
    it; an older one skips a record that it does not understand.

Remedies, safest first
    Save the committed offsets from the log, which stays readable. Then the runbook `coordinator-failed` deletes the
    record, has every replica compacted, and moves the leadership; the committed offsets stay. It recognizes one cause:
    a single key of the consumer protocol whose records contradict a classic group. It is refused otherwise, and if a
    replica is not in sync, is the only one, or is on a broker without a log cleaner.

    By hand: the leader's log names the group and the offset of the record that the load failed on. Write a tombstone
    for its key, have every replica compacted (temporarily segment.ms=1000, min.cleanable.dirty.ratio=0,
    max.compaction.lag.ms=1000 and delete.retention.ms=0 on the topic, and an append every few seconds, since only the
    next append rolls a segment), and only when neither the record nor the tombstone is in any replica, move the
    leadership. A partition with one replica is loaded again by a restart of its broker.

Do not
    Do not move the leadership and do not restart the leader before that: the next coordinator reads the same record and
    fails, too. Do not delete the topic: every group would lose its offsets.

Sources
    Kafka 4.3.1 and 4.4.0: `CoordinatorRuntime` fails the shard on the first record that it cannot replay; seen on real
    brokers. See docs/facts/consumer-groups.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows, Scope
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import per_topic
from kfix_diagnostics._advice import diagnose_again, runbook, save_offsets
from kfix_diagnostics._bans import no_election, no_restart
from kfix_diagnostics._evidence import group_rows, probe_rows
from kfix_diagnostics.groups._members import gave_up

_CLEANER = "log.cleaner.enable"


@ClusterCheck(severity=Severity.CRITICAL, scope=Scope.KRAFT)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    refused = ((probe.coordinator, probe) for probe in gave_up(case))
    by_leader = grouped((leader, probe) for leader, probe in refused if leader is not None)
    for leader, probes in sorted(by_leader.items()):
        tps = tuple(sorted({TopicPartition(OFFSETS_TOPIC, probe.partition) for probe in probes}))
        yield _failed(leader, tps, case)


def _failed(leader: int, tps: tuple[TopicPartition, ...], case: CaseFile) -> Finding:
    return Finding(
        severity=Severity.CRITICAL,
        obj=f"coordinator on broker {leader}",
        summary=f"the coordinator on broker {leader} failed to load {per_topic(tps)}, and refuses every group there",
        cause=Cause(
            "loading the partition failed on one of its records; another leader, or a restart, would fail on the same "
            "record"
        ),
        evidence=(*probe_rows(case, tps), *_leads(leader, tps[0], case), *group_rows(case, tps[0])),
        blocked=Blocked(groups=case.blocked_groups(tps), others_unknown=not case.all_named(tps)),
        remedies=tuple(_remedies(leader, tps, case)),
        never=(
            (
                f"Do not move the leadership from broker {leader} and do not restart it before the record is gone from "
                "every replica: the next coordinator fails on it, too"
            ),
            "Do not delete the topic: every group would lose its offsets",
        ),
        forbids=(no_election(tps), no_restart([leader])),
        partitions=tps,
    )


def _leads(leader: int, tp: TopicPartition, case: CaseFile) -> Iterator[Evidence]:
    isr = ", ".join(map(str, case.isr(tp)))
    yield Evidence("metadata of the brokers", str(tp), f"leader {leader}, ISR {isr}: the partition itself is in order")


def _remedies(leader: int, tps: tuple[TopicPartition, ...], case: CaseFile) -> Iterator[Remedy]:
    yield save_offsets(case, tps)[0]
    if _compactable(tps, case):
        yield runbook(
            case,
            "coordinator-failed",
            "Delete the record that the coordinator cannot load, have every replica compacted, and only then move the "
            "leadership. The runbook may refuse: whether kfix recognizes the record, and whether it is the only one, "
            "shows when the log is read",
        )
    yield Remedy(
        f"{'If that is refused: search' if _compactable(tps, case) else 'Search'} the log of broker {leader} for "
        f"`Failed to load metadata from {tps[0]}`: the exception below it names the group and the record. Write a "
        "tombstone for its key, have every replica compacted, then move the leadership",
        "kfix explain KFX118",
    )
    yield diagnose_again(case, "Diagnose again")


def _compactable(tps: tuple[TopicPartition, ...], case: CaseFile) -> bool:
    """Returns whether every partition has another replica, all in sync, and no log cleaner is known to be off."""
    configs = case.snapshot.broker_configs
    return all(
        len(replicas) > 1
        and set(replicas) == set(case.isr(tp))
        and all(configs.get(b, {}).get(_CLEANER) != "false" for b in replicas)
        for tp in tps
        for replicas in (case.assignment(tp).replicas,)
    )
