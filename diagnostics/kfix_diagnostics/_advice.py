"""Commands that are ready to paste, and what not to do, with the reason (docs/facts/controller.md)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from kfix.derive.casefile import CaseFile
from kfix.derive.coordinator import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Blocked, Remedy
from kfix_diagnostics._words import per_topic

NEVER_EDIT = (
    "Do not edit the state znode by hand: no broker learns of it, and the broker named leader there answers "
    "NOT_LEADER_OR_FOLLOWER"
)
NEVER_UNCLEAN_CONFIG = (
    "Do not set unclean.leader.election.enable=true: it affects every partition of the topic, now and from then on"
)


def servers(case: CaseFile) -> str:
    return shlex.quote(case.bootstrap) if case.bootstrap else "HOST:PORT"


def runbook(case: CaseFile, name: str, text: str, *params: str) -> Remedy:
    """Returns a remedy that applies a runbook; `params` are its parameters as `NAME=VALUE`."""
    given = "".join(f" -p {shlex.quote(p)}" for p in params)
    return Remedy(text, f"kfix runbook apply {name}{given} --bootstrap-server {servers(case)}", name)


def diagnose_again(case: CaseFile, text: str) -> Remedy:
    return Remedy(text, f"kfix diagnose --bootstrap-server {servers(case)}")


def preferred_election(case: CaseFile, tp: TopicPartition, text: str) -> Remedy:
    return Remedy(
        text,
        f"kafka-leader-election.sh --bootstrap-server {servers(case)} --election-type preferred"
        f" --topic {shlex.quote(tp.topic)} --partition {tp.partition}",
    )


def blocked(case: CaseFile, tps: Iterable[TopicPartition]) -> Blocked:
    """Returns the clients blocked while these partitions have no leader; an offsets one may block unknown groups."""
    found = list(tps)
    offsets = [tp for tp in found if tp.topic == OFFSETS_TOPIC]
    who = []
    if any(tp.topic == TRANSACTIONS_TOPIC for tp in found):
        who.append("transactional producers whose ids hash to these partitions")
    plain = [tp for tp in found if tp.topic not in {OFFSETS_TOPIC, TRANSACTIONS_TOPIC}]
    if plain:
        who.append(f"producers and consumers of {per_topic(plain)}")
    return Blocked("; ".join(who), case.blocked_groups(offsets), others_unknown=not case.all_named(offsets))
