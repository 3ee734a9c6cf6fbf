"""What an operator does about each incident, by hand: the findings that name it, and its remedies in their order.

A diff of this file shows a new claim of the matrix. What the remedies do is in `remedies`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.matrix.remedies import (
    Apply,
    ByHand,
    Mended,
    NothingToDo,
    RecoverQuorum,
    Refused,
    Remedy,
    RemoveRegistration,
    SkipRecord,
    continue_controller,
    downgrade_eligible_leaders,
    heal_network,
    raise_eligible_leaders,
    raise_quota,
    repair_log_dir,
    start_brokers,
    start_controllers,
    start_with_a_new_disk,
)

#: How the lab of an incident is laid out, besides three brokers in three racks.
PLAIN, QUORUM, VOTERS, RACKS, ZONES, CLEANED = "plain", "quorum", "voters", "racks", "zones", "cleaned"


@dataclass(frozen=True)
class Case:
    """`codes` are the findings that name the incident, each of which suffices; none: nothing may be found.

    `watched` is whether kfix has diagnosed the healthy cluster before, as a site does that runs it from cron: what a
    broker's address was, only an earlier snapshot shows. `whole` is whether nothing at all is found in the end: what a
    cut has done passes by itself. `options` are of the incident, `asked` are further words of
    `kfix diagnose`; `{name}` in them is a detail of the incident, or its group.
    """

    codes: tuple[str, ...]
    remedies: tuple[Remedy, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    layout: str = PLAIN
    watched: bool = False
    whole: bool = False


_GROUP = ("--group", "{group}")
_LATENT = ("--prevention",)
_START = Apply("isr-dead", times={"within": "90s"}, by_hand=start_brokers)
_CATCH_UP = Apply("under-min-isr", times={"settle": "1s", "bring_back_within": "90s"}, by_hand=start_brokers)
_REPLACE_VOTER = Apply("quorum-replace-voter", {"node": "{controller}"})
_HEAL = ByHand("heal the network", heal_network)
_LOST = NothingToDo("the records are gone: the finding states how many, and of which partitions")


def _cut(*codes: str) -> Case:
    return Case(codes, (Refused("leader-balance", anything=True), _HEAL), layout=ZONES, whole=True)


CASES: Mapping[str, Case] = {
    "healthy": Case((), ()),
    "metadata-divergence": Case(("KFX201",), (Apply("metadata-divergence"),)),
    "coordinator-stuck": Case(("KFX101",), (Apply("coordinator-stuck"),)),
    "coordinator-silent": Case(("KFX106",), (Apply("coordinator-not-answering", times={"settle": "2s"}),)),
    "coordinator-unreachable": Case(
        ("KFX110", "KFX402"), (Mended("correct advertised.listeners of the broker"),), asked=_GROUP
    ),
    "pending-offsets": Case(("KFX108",), (Apply("abort-transaction"),)),
    "open-transaction": Case(
        ("KFX116",),
        (Apply("abort-transaction", {"group": "{group}"}),),
        asked=_GROUP,
    ),
    "transaction-marker-lost": Case(("KFX122",), (Apply("end-hanging-transaction"),)),
    "transaction-state-lost": Case(("KFX122",), (Apply("end-hanging-transaction", {"outcome": "abort"}),)),
    "transaction-late-record": Case(("KFX122",), (Apply("end-hanging-transaction"),)),
    "offsets-not-loaded": Case(("KFX109",), (Mended("delete the record that no coordinator can load"),)),
    "offsets-uncompacted": Case(("KFX115",), (Mended("start the log cleaner"),), asked=_LATENT),
    "offset-outside-log": Case(("KFX113",), (Mended("reset the offset of the group"),), asked=_GROUP),
    "rebalance-held": Case(
        ("KFX111",), (Apply("evict-member", {"group": "{group}", "member": "{member}"}),), asked=_GROUP
    ),
    "group-falls-behind": Case(("KFX123",), (SkipRecord(),), asked=_GROUP),
    "consumer-throttled": Case(
        ("KFX123",), (ByHand("raise the quota that the finding names", raise_quota),), asked=_GROUP
    ),
    "offsets-rf1": Case(("KFX104", "KFX119"), (_START, Apply("raise-offsets-rf"))),
    "transactions-rf1": Case(("KFX104", "KFX119"), (_START,)),
    "offsets-under-min-isr": Case(("KFX304",), (_CATCH_UP,)),
    "broker-ids-gone": Case(
        ("KFX105",),
        (Apply("replace-broker", {"renamed": "{dead}={new_id}"}),),
        options={"copies": "2"},
        watched=True,
    ),
    "isr-gone": Case(("KFX103", "KFX119"), (_START,)),
    "under-min-isr": Case(("KFX301",), (_CATCH_UP,)),
    "packed-replicas": Case(("KFX104", "KFX119"), (_START,)),
    "whole-isr-dead": Case(("KFX103", "KFX119"), (_START,)),
    "stuck-reassignment": Case(("KFX501",), (Apply("cancel-reassignment"),)),
    "foreign-reassignment": Case(
        (), (Refused("sweep-throttles", "no_foreign_reassignment"), Mended("wait for its end"))
    ),
    "left-over-throttles": Case(("KFX503",), (Apply("sweep-throttles"),)),
    "replicas-in-one-rack": Case(("KFX305",), (Apply("spread-replicas"),), layout=RACKS),
    "leader-skew": Case(("KFX608",), (Apply("leader-balance"),), asked=_LATENT),
    "weak-topic": Case(
        ("KFX601", "KFX602", "KFX604"),
        (Apply("raise-topic-rf", {"topic": "ledger"}), Apply("durable-defaults", {"topic": "ledger"})),
        asked=(*_LATENT, "--topic", "ledger"),
    ),
    "power-failure": Case(("KFX809",), (_LOST,), asked=("--before", "{before}")),
    "unclean-loss": Case(("KFX809",), (_LOST,), asked=("--before", "{before}")),
    "replica-lagging": Case(("KFX808",), (Mended("remove the throttle that the finding names"),)),
    "coordinator-failed": Case(("KFX118",), (Apply("coordinator-failed"),), layout=CLEANED),
    "offsets-withheld": Case(("KFX304",), (_CATCH_UP,)),
    "elr-struck": Case(("KFX119",), (_START,)),
    "wrong-cluster-id": Case(
        ("KFX817",),
        (
            Refused("leader-balance", "the servers are of two clusters"),
            Mended("stop the process of the other cluster, and start the broker with its own disk"),
        ),
        watched=True,
    ),
    "log-dir-failed": Case(("KFX406",), (ByHand("repair the log directory, then restart the broker", repair_log_dir),)),
    "last-known-leader-gone": Case(
        ("KFX120",), (ByHand("eligible.leader.replicas.version=0, then start the broker", downgrade_eligible_leaders),)
    ),
    "move-never-ends": Case(("KFX504",), (Apply("cancel-reassignment"),)),
    "metadata-version-behind": Case(
        ("KFX816",), (ByHand("kafka-features.sh upgrade", raise_eligible_leaders),), asked=_LATENT
    ),
    "migration-stuck": Case(("KFX819",), (Mended("take the migration back: the controller, /migration, the brokers"),)),
    "ghost-registration": Case(
        ("KFX405",),
        (
            RemoveRegistration(
                "remove-ghost-registration", {"broker": "{ghost}"}, times={"dead_for": "3s", "settle": "1s"}
            ),
        ),
    ),
    "quorum-at-risk": Case(("KFX812",), (ByHand("start the controller", start_controllers),), layout=QUORUM),
    "quorum-lost": Case(
        ("KFX811",),
        (Refused("leader-balance", anything=True), ByHand("start the controllers", start_controllers)),
        layout=QUORUM,
    ),
    "controller-disk-lost": Case(
        ("KFX812",),
        (
            ByHand("start the controller with a new disk", start_with_a_new_disk),
            Apply("quorum-replace-voter", {"node": "{killed}"}),
        ),
        layout=VOTERS,
    ),
    "voter-wrong-directory": Case(("KFX812",), (_REPLACE_VOTER,), layout=VOTERS),
    "old-voter-returns": Case(("KFX812",), (_REPLACE_VOTER,), layout=VOTERS),
    "quorum-majority-lost": Case(("KFX811",), (RecoverQuorum("quorum-recover"),), layout=QUORUM),
    "controller-frozen": Case(
        ("KFX811",),
        (Refused("leader-balance", anything=True), ByHand("continue the controller", continue_controller)),
    ),
    "broker-cut-from-controllers": _cut("KFX813"),
    "broker-fenced-alive": _cut("KFX814"),
    "leader-cut-from-followers": _cut("KFX807"),
    "zookeeper-node-cut": _cut("KFX805"),
    "zookeeper-quorum-lost": _cut("KFX806"),
    "link-to-leader-cut": _cut("KFX801"),
    "link-to-controller-cut": _cut("KFX802"),
    "zone-isolated": _cut("KFX803", "KFX813"),
    "zone-isolated-with-leader": _cut("KFX803", "KFX813"),
    "controller-zone-isolated": _cut("KFX804", "KFX813"),
    "controller-zone-isolated-with-leader": _cut("KFX804", "KFX813"),
}
