"""KFX502 stuck-deletion: the deletion of a topic waits for a dead broker.

Why it matters
    The topic is gone from the metadata, but its name cannot be used again and its logs stay on the disks until every
    replica has confirmed. Brokers may create it again for clients that still write.

How kfix knows
    /admin/delete_topics names the topic, and one of its assigned brokers is not registered.

Remedies, safest first
    Start the broker: the deletion then completes by itself. If it never comes back, the controller continues once any
    broker with an empty disk registers under that id.

Do not
    Do not remove znodes by hand while a controller runs, and do not delete log directories of running brokers.

Sources
    Kafka 2.7.1: TopicDeletionManager. Reproduced on real brokers: the topic leaves the metadata, its znodes stay. See
    docs/facts/operations.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, Debounce, PartitionCheck, Rows, Scope
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Severity
from kfix.core.wording import brokers_named, several
from kfix_diagnostics._evidence import live_row
from kfix_diagnostics._explained import bring_up, explained_by, running, which_runs


@PartitionCheck(
    rows="deleting and n_live_replicas >= 0 and n_live_replicas < n_replicas",
    debounce=Debounce.HELD,
    scope=Scope.ZOOKEEPER,
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    for topic, found in grouped((row.topic, row) for row in rows).items():
        dead = tuple(sorted({b for row in found for b in case.away(case.assignment(row.tp).replicas)}))
        up = running(dead, case)
        yield Finding(
            severity=Severity.INFO if case.calm(dead) else Severity.WARNING,
            obj=f"topic {topic}",
            summary=f"the deletion of {topic} waits for {brokers_named(dead)}{which_runs(dead, up, case)}: "
            f"{several(len(found), 'partition')} there cannot be deleted",
            cause=Cause("a deletion completes only when every replica has confirmed it", Confidence.CERTAIN),
            evidence=(Evidence(case.zookeeper_name, f"/admin/delete_topics/{topic}", "exists"), *live_row(case)),
            remedies=tuple(bring_up(dead, case, "The deletion then completes by itself")),
            never=("Do not remove znodes or log directories by hand",),
            partitions=tuple(row.tp for row in found),
            follows=explained_by(dead, case),
            headline=f"the deletion of {topic} waits for {brokers_named(dead)}" if case.calm(dead) else "",
        )
