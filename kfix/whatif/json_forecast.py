"""Failures judged before they happen, as JSON, `kfix.whatif/v1`: fields are added, never renamed or removed within v1.

schema          "kfix.whatif/v1"
cluster         id, or address if the id is unknown
taken_at        seconds since the epoch, UTC
exit_code       exit code of `kfix whatif`: 0, 20, 21, 22
brokers         live brokers
counts          partitions, topics
groups_known    false: there may be more groups than those that are named
unknown         sentences: what the snapshot cannot show; each could change the result
failures        worst first; each:
    down, brokers, racks    name, the brokers that go down at once, the racks that go down whole ([] for brokers)
    stops           number of partitions without a leader until a broker comes back; `stranded`: of these, those with a
                    live in-sync replica (ZooKeeper's record differs from the controller's memory)
    unclean         elected unclean, records lost
    moves           an in-sync replica takes over, nothing is lost
    under_min_isr   fall below min.insync.replicas; producers with acks=all stop
    last_in_sync    left with the last in-sync replica
    stopped         without a leader today, not caused by the failure; `revived`: of these, elected in its course
    unjudged        leader or min.insync.replicas afterwards unknown
    groups          names of consumer groups whose coordinator stops
    unwritable      names of groups that can no longer commit or rebalance
    offsets, offsets_under      partitions of __consumer_offsets that stop, and that fall below min.insync.replicas
    transactions    partitions of __transaction_state that stop or fall below
    share_states    partitions of __share_group_state (share groups, Kafka 4) that stop or fall below
    controller_moves, quorum_lost   true, false, or null: unknown; the quorum is ZooKeeper's if the hosts go down, too
    remedies        with --down: text, command, runbook, changes, brokers, after; safest first
    partitions      with --down: those that the failure changes, by name; each:
        partition       "topic-number"
        fate            keeps, moves, unclean, stops, stranded, stopped (has no leader today), unknown
        leader_before   -1: none
        leader          afterwards; -1: none, null: unknown
        replicas        in assignment order
        isr_before      the ISR of today
        `isr`           the live in-sync replicas afterwards
        min_isr         at the new leader, or null
        under_min_isr, last_in_sync     afterwards; the former null if it is unknown
        falls_under, left_with_last     not so today
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kfix.core.diagnosis.forecast import FailureForecast, Forecast, PartitionForecast
from kfix.core.harmless import for_json
from kfix.whatif.advice import remedies_of
from kfix.whatif.table import exit_code, failure_name

SCHEMA = "kfix.whatif/v1"
_COUNTS = ("stops", "stranded", "unclean", "moves", "under_min_isr", "last_in_sync", "stopped", "revived", "unjudged")
_LISTS = ("groups", "unwritable", "offsets", "offsets_under", "transactions", "share_states")


def forecast_json(forecast: Forecast, *, indent: int | None = 2) -> str:
    document = {
        "schema": SCHEMA,
        "cluster": forecast.cluster,
        "taken_at": forecast.taken_at,
        "exit_code": exit_code(forecast),
        "brokers": list(forecast.brokers),
        "counts": {"partitions": forecast.partitions, "topics": forecast.topics},
        "groups_known": forecast.groups_known,
        "unknown": list(forecast.unknown),
        "failures": [_failure(forecast, f) for f in forecast.failures],
    }
    return for_json(document, indent=indent)


def _failure(forecast: Forecast, one: FailureForecast) -> Mapping[str, Any]:
    return {
        "down": failure_name(one.failure),
        "brokers": sorted(one.failure.brokers),
        "racks": list(one.failure.racks),
        **{name: getattr(one, name) for name in _COUNTS},
        **{name: list(getattr(one, name)) for name in _LISTS},
        "controller_moves": one.controller_moves,
        "quorum_lost": one.quorum_lost,
        "remedies": [asdict(remedy) for remedy in remedies_of(forecast, one)],
        "partitions": [_partition(p) for p in one.partitions],
    }


def _partition(one: PartitionForecast) -> Mapping[str, Any]:
    return {
        "partition": str(one.tp),
        "fate": one.fate.value,
        "leader_before": one.leader_before,
        "leader": one.leader,
        "replicas": list(one.replicas),
        "isr_before": list(one.isr_before),
        "isr": list(one.isr),
        "min_isr": one.min_isr,
        "under_min_isr": one.under_min_isr,
        "last_in_sync": one.last_in_sync,
        "falls_under": one.falls_under,
        "left_with_last": one.left_with_last,
    }
