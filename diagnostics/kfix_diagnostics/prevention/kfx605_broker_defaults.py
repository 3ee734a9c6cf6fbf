"""KFX605 broker-defaults: the brokers' defaults for new topics are weaker than the site requires.

Why it matters
    Every topic that is created without its own settings gets these values. The shipped server.properties sets one
    replica for the offsets and the transaction topic, and these settings take effect when the topic is created: when
    the first consumer connects, not when someone checks the settings.

How kfix knows
    Each broker's own settings: default.replication.factor, offsets.topic.replication.factor,
    transaction.state.log.replication.factor, transaction.state.log.min.isr, the two of share groups (Kafka 4:
    share.coordinator.state.topic.*), min.insync.replicas and unclean.leader.election.enable. On KRaft the controllers'
    value of the last one counts, since they elect; a broker's has no effect there. kfix does not require more replicas
    than there are brokers. If the internal topic exists already its setting is advice only: the topic itself counts
    (KFX303).

Remedies, safest first
    Replication factors: server.properties of every broker, then a rolling restart. min.insync.replicas and unclean
    election: one dynamic default for all nodes, in force at once, after the topics have enough replicas.

Do not
    Do not raise the default of min.insync.replicas above the replication factor of existing topics: their producers
    fail at once, and with an offsets topic of one replica every group fails.

Sources
    Kafka: KIP-115 (the offsets topic is not created before there are enough brokers), config/server.properties, dynamic
    broker configurations (KIP-226). See docs/facts/defaults.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.derive.coordinator import OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.derive.elections import UNCLEAN
from kfix.core.diagnosis.finding import Cause, ChangeKind, Finding, Remedy, Severity
from kfix.core.wording import are, brokers_named
from kfix_diagnostics._advice import NEVER_UNCLEAN_CONFIG, runbook, servers
from kfix_diagnostics._bans import restart
from kfix_diagnostics.prevention import _prevention as shared

#: Setting -> the topic that it applies to, "" for all topics.
FACTORS = {
    "default.replication.factor": "",
    "offsets.topic.replication.factor": OFFSETS_TOPIC,
    "transaction.state.log.replication.factor": TRANSACTIONS_TOPIC,
    "share.coordinator.state.topic.replication.factor": SHARE_TOPIC,
}
MINIMA = {
    shared.MIN_ISR: "",
    "transaction.state.log.min.isr": TRANSACTIONS_TOPIC,
    "share.coordinator.state.topic.min.isr": SHARE_TOPIC,
}


@RiskOfCluster(rows="internal or n_replicas <= expected_min_isr or n_isr < expected_min_isr")
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    brokers = shared.n_brokers(case)
    for key in FACTORS:
        yield from _low(key, min(case.criteria.expected.rf, brokers), rows, case)
    for key in MINIMA:
        # One broker cannot hold two copies.
        yield from _low(key, min(case.criteria.expected.min_isr, brokers), rows, case)
    if "true" in shared.defaults(UNCLEAN, case).values():
        yield _finding(UNCLEAN, "true", "false", rows, case)


def _low(key: str, wanted: int, rows: Rows, case: CaseFile) -> Iterator[Finding]:
    numbers = [n for n in map(shared.number, case.settings(key).values()) if n is not None]
    if numbers and 0 <= min(numbers) < wanted:
        yield _finding(key, str(min(numbers)), str(wanted), rows, case)


def _finding(key: str, value: str, wanted: str, rows: Rows, case: CaseFile) -> Finding:
    topic = FACTORS.get(key) or MINIMA.get(key, "")
    there = bool(topic) and any(row.topic == topic for row in rows)
    acts = f"It takes effect when {topic} is created" if topic else "It applies to every topic without its own value"
    return Finding(
        severity=Severity.INFO if there else Severity.WARNING,
        obj=key,
        summary=f"{key} is {value}{_where(key, value, case)}, but {wanted} is expected. {acts}"
        + (": the topic exists, so only if it is created again" if there else ""),
        cause=Cause(f"{_who(key, case)} were set up this way, or with the settings that Kafka ships"),
        evidence=tuple(shared.default_rows(key, case)),
        remedies=tuple(_remedies(key, wanted, rows, case)),
        never=(_never(key),),
    )


def _who(key: str, case: CaseFile) -> str:
    return "the controllers" if key == UNCLEAN and case.kraft else "the brokers"


def _where(key: str, value: str, case: CaseFile) -> str:
    """Returns which controllers have it, where it depends on which one is active."""
    found = shared.defaults(key, case)
    if key != UNCLEAN or not case.kraft or len(set(found.values())) == 1:
        return ""
    having = [node for node, each in found.items() if each == value]
    return f" while {brokers_named(having).replace('broker', 'controller', 1)} {are(len(having))} active"


def _never(key: str) -> str:
    if key in FACTORS:
        return "Do not expect it to change existing topics"
    return NEVER_UNCLEAN_CONFIG if key == UNCLEAN else shared.NEVER_ABOVE_RF


def _remedies(key: str, wanted: str, rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    if key not in {shared.MIN_ISR, UNCLEAN}:
        yield restart(f"Set {key}={wanted} in the server.properties of every broker, then do a rolling restart")
        return
    least = 0 if key == UNCLEAN else int(wanted)
    short = [f for f in rows if 0 < f.n_replicas <= least and not f.deleting]
    if not short and any(f.n_isr < least for f in rows if not f.deleting):
        yield Remedy(
            f"Wait until every partition has {wanted} in-sync replicas,"
            f" then diagnose again: now it would stop producers"
        )
        return
    if not short:
        yield Remedy(
            f"Set it to {wanted} for all brokers at once, without a restart, and in every server.properties"
            if _who(key, case) == "the brokers"
            else f"Set it to {wanted} for all nodes at once, without a restart, and in the properties of every "
            "controller",
            f"kafka-configs.sh {servers(case)} --alter --entity-type brokers --entity-default "
            f"--add-config {key}={wanted}",
            changes=(ChangeKind.SETTING,),
        )
        return
    topic = min(f.topic for f in short)
    text = f"Raise topics with at most {wanted} replicas first, such as {topic}. Change the default last"
    name = "raise-offsets-rf" if any(f.internal for f in short if f.topic == topic) else "raise-topic-rf"
    if shared.n_brokers(case) > int(wanted):
        yield runbook(case, name, text, f"topic={topic}", f"rf={int(wanted) + 1}")
    else:
        yield Remedy(f"Add brokers: {shared.n_brokers(case)} cannot hold {int(wanted) + 1} replicas of a partition")
