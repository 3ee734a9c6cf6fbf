"""KFX604 unclean-election-on: unclean elections are on, so a replica that lacks records may become leader.

Why it matters
    When all in-sync replicas are gone the controller elects the first live replica, whatever it lacks. Records that
    were acknowledged to producers with acks=all are truncated on every other replica, without confirmation. It happens
    in the first seconds of an incident, often for a broker that would have been back a minute later.

How kfix knows
    unclean.leader.election.enable as it is in force: the topic's own value, otherwise the default of its leader, on
    KRaft the active controller's, whatever the brokers have. Partitions with one replica are left out: there is no
    other replica to elect. A setting that was not read is not judged.

Remedies, safest first
    Turn it off: on the topic, or in the default of the brokers, on KRaft of the controllers (KFX605). An unclean
    election then remains a deliberate decision, for one partition, with the loss stated (KFX103, runbook
    unclean-election).

Do not
    Do not turn it on during an incident: it affects every partition of the topic, from now on.

Sources
    Kafka: off by default since 0.11 (KIP-106). Kafka 2.7.1: enabling it elects at once; the winner is the first live
    replica in assignment order, not the longest log. See docs/facts/controller.md.
"""

import shlex
from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfPartitions, Rows
from kfix.core.derive.elections import UNCLEAN
from kfix.core.diagnosis.finding import Cause, ChangeKind, Confidence, Finding, Remedy
from kfix.core.wording import per_topic
from kfix_diagnostics._advice import NEVER_UNCLEAN_CONFIG, servers
from kfix_diagnostics.prevention import _prevention as shared


@RiskOfPartitions(rows="unclean_known and unclean and n_replicas > 1 and not deleting")
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    defaults = {topic: shared.inherits(topic, UNCLEAN, "true", case) for topic in sorted({row.topic for row in rows})}
    for default in (False, True):
        found = tuple(row for row in rows if defaults[row.topic] is default)
        if found:
            yield _on(found, case, default=default)


def _on(rows: Rows, case: CaseFile, *, default: bool) -> Finding:
    tps, topic = shared.tps_of(rows), shared.largest(rows, case)
    most = max((row for row in rows if row.topic == topic), key=lambda row: row.n_replicas)
    expected = case.criteria.expected.min_isr
    min_isr = expected if most.n_replicas > expected else max(most.min_isr, 1)
    nodes = "controllers" if case.kraft else "brokers"
    return Finding(
        obj="topics by default" if default else "topics",
        summary=f"an unclean election may lose acknowledged records of {shared.how_many(rows)}: "
        f"{per_topic(tps, counted=True)}",
        cause=Cause(f"the {nodes}' default of {UNCLEAN} is true", Confidence.CERTAIN)
        if default
        else Cause(f"{UNCLEAN} is set to true on the topics themselves"),
        evidence=(
            *shared.worst_rows(rows, "topic settings", f"{UNCLEAN} true"),
            *shared.default_rows(UNCLEAN, case),
        ),
        remedies=(_turn_off(rows, topic, min_isr, case),),
        never=(NEVER_UNCLEAN_CONFIG,),
        partitions=tps,
        follows=(f"{shared.DEFAULTS_CODE}:{UNCLEAN}",) if default else (),
    )


def _turn_off(rows: Rows, topic: str, min_isr: int, case: CaseFile) -> Remedy:
    """Returns the runbook, which sets min.insync.replicas, too; or this setting alone where that would be refused."""
    text = f"Turn it off, topic by topic, beginning with {topic}"
    if not shared.lacks_in_sync(rows, topic, min_isr):
        return shared.durable_defaults(rows, topic, min_isr, text, case)
    return Remedy(
        text,
        f"kafka-configs.sh {servers(case)} --alter --entity-type topics --entity-name {shlex.quote(topic)} "
        f"--add-config {UNCLEAN}=false",
        changes=(ChangeKind.SETTING,),
    )
