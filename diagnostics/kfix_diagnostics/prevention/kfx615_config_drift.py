"""KFX615 config-drift: brokers of one cluster have different values where they should have the same.

Why it matters
    Behaviour then depends on which broker leads, which one is the controller, which one a client reaches: a topic
    created through one broker has three replicas, through another one; a record that one leader accepts another
    rejects. The faults look random and appear when leaders move.

How kfix knows
    The settings in force on each broker, for those where a difference has no use: replication, elections, time limits,
    retention, sizes, partitions of internal topics, the authorizer. A broker that did not report a setting is left out.
    The protocol version is KFX614, racks are KFX606.

Remedies, safest first
    The same server.properties everywhere, by the tool that manages them; remove a dynamic setting of one broker that
    was meant to be temporary.

Do not
    Do not align them during an incident: a rolling restart is another disturbance.

Sources
    Kafka: precedence of settings: topic, dynamic of the broker, dynamic of the cluster, server.properties, default.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy
from kfix.core.wording import several, some
from kfix_diagnostics._advice import servers
from kfix_diagnostics._bans import restart
from kfix_diagnostics.prevention._prevention import setting_rows

#: A difference in one of these is never meant to last.
SAME_EVERYWHERE = (
    "authorizer.class.name",
    "auto.create.topics.enable",
    "auto.leader.rebalance.enable",
    "controlled.shutdown.enable",
    "default.replication.factor",
    "delete.topic.enable",
    "log.cleaner.enable",
    "log.message.format.version",
    "log.retention.bytes",
    "log.retention.hours",
    "log.retention.ms",
    "message.max.bytes",
    "min.insync.replicas",
    "num.partitions",
    "offsets.retention.minutes",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "replica.fetch.max.bytes",
    "replica.lag.time.max.ms",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
    "unclean.leader.election.enable",
    "zookeeper.session.timeout.ms",
)


@RiskOfCluster()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    known = {key: case.settings(key) for key in SAME_EVERYWHERE}
    drifted = {key: values for key, values in known.items() if len(set(values.values())) > 1}
    if not drifted:
        return
    rows: tuple[Evidence, ...] = tuple(row for key, values in drifted.items() for row in setting_rows(values, key))
    yield Finding(
        obj="broker settings",
        summary=f"{several(len(drifted), 'setting')} {'differs' if len(drifted) == 1 else 'differ'} between brokers: "
        f"{some(list(drifted))}",
        cause=Cause("a file or a dynamic setting was changed on some brokers only"),
        evidence=rows,
        remedies=(
            restart("Give every broker the same server.properties, then do a rolling restart"),
            Remedy(
                "Check for temporary dynamic settings on single brokers",
                f"kafka-configs.sh {servers(case)} --describe --entity-type brokers "
                f"--entity-name {min(case.settings(next(iter(drifted))))}",
            ),
        ),
        never=("Do not align them during an incident: a rolling restart is another disturbance",),
    )
