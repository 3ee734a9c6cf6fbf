"""KFX605 broker-defaults: what the brokers give new topics by default is weaker than the site demands.

Why it matters
    Every topic that is created without saying otherwise gets these values, today's and next year's. The shipped
    server.properties sets one replica for the offsets and the transaction topic, and they act when the topic is
    created: on the day the first consumer comes, not on the day somebody looks.

How kfix knows
    Each broker's own settings: default.replication.factor, offsets.topic.replication.factor,
    transaction.state.log.replication.factor, transaction.state.log.min.isr, min.insync.replicas and
    unclean.leader.election.enable. More replicas than there are brokers are not demanded. Where the internal topic
    exists already its setting is advice only: what counts is the topic itself (KFX303).

What helps
    Replication factors: server.properties of every broker, then a rolling restart. min.insync.replicas and unclean
    election: one dynamic default for all brokers, in force at once, after the topics have replicas enough.

What not to do
    Do not raise the default of min.insync.replicas over topics with fewer replicas: their producers fail at once, and
    over an offsets topic with one replica every group fails.

Sources
    Kafka: KIP-115 (the offsets topic is not created before there are brokers enough), config/server.properties,
    dynamic broker configurations (KIP-226).
"""

from __future__ import annotations

from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.model.diagnosis.finding import Cause, Confidence, Finding, Remedy, Severity
from kfix_diagnostics._advice import NEVER_UNCLEAN_CONFIG, runbook, servers
from kfix_diagnostics.prevention._prevention import MIN_ISR, NEVER_ABOVE_RF, UNCLEAN, n_brokers, number, setting_rows

CODE = "KFX605"
#: Setting -> the topic that it makes, "" where it is for all.
FACTORS = {
    "default.replication.factor": "",
    "offsets.topic.replication.factor": OFFSETS_TOPIC,
    "transaction.state.log.replication.factor": TRANSACTIONS_TOPIC,
}
MINIMA = {MIN_ISR: "", "transaction.state.log.min.isr": TRANSACTIONS_TOPIC}


def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    brokers = n_brokers(case)
    for key in FACTORS:
        yield from _low(key, min(case.expected.rf, brokers), rows, case)
    for key in MINIMA:
        # One broker cannot hold two copies.
        yield from _low(key, min(case.expected.min_isr, brokers), rows, case)
    if "true" in case.settings(UNCLEAN).values():
        yield _finding(UNCLEAN, "true", "false", rows, case)


def _low(key: str, wanted: int, rows: Rows, case: CaseFile) -> Iterator[Finding]:
    numbers = [n for n in map(number, case.settings(key).values()) if n is not None]
    if numbers and 0 <= min(numbers) < wanted:
        yield _finding(key, str(min(numbers)), str(wanted), rows, case)


def _finding(key: str, value: str, wanted: str, rows: Rows, case: CaseFile) -> Finding:
    topic = FACTORS.get(key) or MINIMA.get(key, "")
    there = bool(topic) and any(row.topic == topic for row in rows)
    acts = f"it acts when {topic} is created" if topic else "every topic without a setting of its own gets it"
    return Finding(
        code=CODE,
        severity=Severity.INFO if there else Severity.WARNING,
        obj=key,
        summary=f"{key} is {value} where {wanted} is expected; {acts}"
        + (", which is there already: should it be created again" if there else ""),
        cause=Cause("the brokers were set up so, or left as Kafka ships them", Confidence.LIKELY),
        evidence=tuple(setting_rows(case.settings(key), key)),
        remedies=tuple(_remedies(key, wanted, rows, case)),
        never=(_never(key),),
    )


def _never(key: str) -> str:
    if key in FACTORS:
        return "do not expect it to change topics that are there already"
    return NEVER_UNCLEAN_CONFIG if key == UNCLEAN else NEVER_ABOVE_RF


def _remedies(key: str, wanted: str, rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    if key not in {MIN_ISR, UNCLEAN}:
        yield Remedy(f"set {key}={wanted} in the server.properties of every broker, then a rolling restart")
        return
    least = 0 if key == UNCLEAN else int(wanted)
    short = [f for f in rows if 0 < f.n_replicas <= least and not f.deleting]
    if not short and any(f.n_isr < least for f in rows if not f.deleting):
        yield Remedy(f"wait until every partition has {wanted} replicas in sync, then ask again: now it would do harm")
        return
    if not short:
        yield Remedy(
            f"set it to {wanted} for all brokers at once, without a restart; and in every server.properties",
            f"kafka-configs.sh --bootstrap-server {servers(case)} --alter --entity-type brokers --entity-default "
            f"--add-config {key}={wanted}",
        )
        return
    topic = min(f.topic for f in short)
    text = f"topics first that have no more than {wanted} replicas, such as {topic}; the default comes last"
    name = "raise-offsets-rf" if any(f.internal for f in short if f.topic == topic) else "raise-topic-rf"
    if n_brokers(case) > int(wanted):
        yield runbook(case, name, text, f"topic={topic}", f"rf={int(wanted) + 1}")
    else:
        yield Remedy(f"add brokers: {n_brokers(case)} cannot hold {int(wanted) + 1} replicas of a partition")


CHECK = ClusterCheck(
    code=CODE,
    slug="broker-defaults",
    title="what the brokers give new topics by default is weaker than the site demands",
    severity=Severity.WARNING,
    check=check,
    rows="internal or n_replicas <= expected_min_isr or n_isr < expected_min_isr",
    debounce=Debounce.NONE,
    prevention=True,
)
