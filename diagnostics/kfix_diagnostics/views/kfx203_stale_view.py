"""KFX203 stale-view: the metadata of one broker differs from that of all others.

Why it matters
    Clients that ask this broker are sent to dead leaders, get errors, or write to a leader that the other brokers have
    replaced: such records are lost when the broker returns. With acks=1 they were acknowledged; with acks=all they were
    not.

How kfix knows
    kfix asks every broker for its own metadata. A broker is stale if its leader epochs are lower than others', if it
    misses partitions, or if, at the same epoch, its ISR differs from ZooKeeper's record or it reports no leader
    although the leader is alive. A broker that names itself leader where the newer epoch names another is one of two
    leaders.

Remedies, safest first
    Repair the network between this broker and the controller, or ZooKeeper; it catches up within seconds. Change
    nothing in Kafka. Producers should use acks=all. If the network is healthy, restart this one broker.

Do not
    Do not trigger elections or reassignments while it lasts: they deepen the split. Do not restart the other brokers.

Sources
    Kafka 2.7.1: the controller fills the metadata caches by UpdateMetadata (MetadataCache). Network cuts on a real
    cluster: a broker cut from the controller, an isolated zone with and without the controller. See
    docs/facts/metadata.md and docs/facts/network-partitions.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Blocked, Cause, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, per_topic, several
from kfix_diagnostics._bans import NO_MOVES, no_restart, restart
from kfix_diagnostics._evidence import live_row, log_end_row, state_row, view_rows
from kfix_diagnostics._explained import code_of, explained_by, outdated
from kfix_diagnostics._unrecorded import is_served


@dataclass(slots=True)
class Stale:
    """The partitions of which one broker has wrong metadata, by what is wrong."""

    behind: list[TopicPartition] = field(default_factory=list)
    missing: list[TopicPartition] = field(default_factory=list)
    other_isr: list[TopicPartition] = field(default_factory=list)
    no_leader: list[TopicPartition] = field(default_factory=list)
    deleted: list[TopicPartition] = field(default_factory=list)
    leads_too: list[TopicPartition] = field(default_factory=list)

    @property
    def all(self) -> list[TopicPartition]:
        return sorted({*self.behind, *self.missing, *self.no_leader, *self.other_isr, *self.deleted})


@ClusterCheck(severity=Severity.CRITICAL, rows="not views_agree and not deleting")
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    if len(case.views) < 2:
        return
    found: dict[int, Stale] = {b: Stale() for b in case.views}
    for row in rows:
        _compare(row, case, found)
    agree = tuple(b for b, stale in found.items() if not stale.all and b in (case.live or ()))
    for broker, stale in found.items():
        if stale.all:
            yield _finding(broker, stale, agree, case)


def _compare(row: PartitionFacts, case: CaseFile, found: dict[int, Stale]) -> None:
    tp = row.tp
    views = case.views_of(tp)
    if row.zk_lacks:
        # Where brokers serve it, KFX205 reports that ZooKeeper lacks it.
        for broker in () if is_served(row, case) else views:
            found[broker].deleted.append(tp)
        return
    newest = [v for v in views.values() if v.leader_epoch == row.leader_epoch]
    # At the same epoch ZooKeeper's record decides which ISR is stale; without it, the majority of the views does.
    isrs = [frozenset(v.isr) for v in newest]
    right = frozenset(case.isr(tp)) if row.zk_known else max(isrs, key=isrs.count)
    for broker, stale in found.items():
        view = views.get(broker)
        if view is None:
            stale.missing.append(tp)
        elif view.leader_epoch < row.leader_epoch:
            stale.behind.append(tp)
            if view.leader == broker and row.view_leader != broker:
                stale.leads_too.append(tp)
        elif view.leader < 0 and row.leader_live:
            stale.no_leader.append(tp)
        elif frozenset(view.isr) != right and len(set(isrs)) > 1:
            stale.other_isr.append(tp)


def _finding(broker: int, stale: Stale, agree: tuple[int, ...], case: CaseFile) -> Finding:
    severity = Severity.CRITICAL if stale.leads_too else Severity.WARNING
    if case.restarting(broker) and not stale.leads_too:
        severity = Severity.INFO
    first = (*stale.leads_too, *stale.behind, *stale.missing, *stale.no_leader, *stale.other_isr, *stale.deleted)[0]
    return Finding(
        severity=severity,
        obj=f"broker {broker}",
        summary=f"the metadata of broker {broker} is stale, so it misdirects clients: it {_what(stale)}",
        cause=_cause(broker, case),
        evidence=(*view_rows(case, first), *state_row(case, first), *log_end_row(case, first), *live_row(case)),
        blocked=Blocked(f"clients that ask broker {broker} for metadata"),
        remedies=tuple(_remedies(broker, case)),
        never=(
            "Do not trigger elections or reassignments while it lasts: they deepen the split",
            *_no_restart_of(agree, broker),
        ),
        forbids=(NO_MOVES, *((no_restart(agree),) if agree else ())),
        partitions=tuple(stale.all),
        follows=(*explained_by((broker,), case), f"KFX813:broker {broker}"),
        headline=f"the metadata of broker {broker}, which has just come back, is stale" if not severity else "",
    )


def _no_restart_of(agree: tuple[int, ...], broker: int) -> Iterator[str]:
    if agree:
        lost = f"Records that only broker {broker} has are lost when it returns"
        yield f"Do not restart {brokers_named(agree)}: others would lead, and the split deepens. {lost}"


def _remedies(broker: int, case: CaseFile) -> Iterator[Remedy]:
    whom = "the controllers" if case.kraft else "the controller or ZooKeeper"
    yield Remedy(f"Repair the network between broker {broker} and {whom}, and change nothing in Kafka")
    if not outdated(broker, case) and (case.cut is None or not case.cut.explains((broker,))):
        yield restart(f"If the network is healthy: restart broker {broker}, and no other broker", broker)


def _what(stale: Stale) -> str:
    said = []
    if stale.leads_too:
        said.append(f"acts as a second leader of {per_topic(stale.leads_too)}")
    if stale.behind:
        said.append(f"has older leader epochs for {several(len(stale.behind), 'partition')}")
    if stale.missing:
        said.append(f"does not know {per_topic(stale.missing)}")
    if stale.no_leader:
        said.append(f"reports no leader for {per_topic(stale.no_leader)}, which is led by a live broker")
    if stale.other_isr:
        said.append(f"has another ISR for {per_topic(stale.other_isr)}")
    if stale.deleted:
        said.append(f"still knows {per_topic(stale.deleted)}, which ZooKeeper no longer has")
    return "; it ".join(said)


def _cause(broker: int, case: CaseFile) -> Cause:
    if broker in case.shut_out and not case.kraft:
        return Cause(f"broker {broker} is cut off from ZooKeeper and keeps its old metadata")
    if case.cut is not None and case.cut.explains((broker,)):
        code = code_of(case.cut)
        return Cause(f"the network is cut, see {code}: metadata updates do not reach broker {broker}")
    if outdated(broker, case):
        return Cause(f"broker {broker} does not receive the metadata of the controllers, see KFX813")
    if case.restarting(broker):
        return Cause(f"broker {broker} has just come back and has not received all metadata yet")
    return Cause(f"metadata updates of the controller do not reach broker {broker}")
