"""Every action that a runbook may name, listed by hand: a diff of this file shows a new power."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ABSENT, ArgKind, Args, ArgValue
from kfix.heal.actions.assignment import ReassignNoop, ReassignReorder
from kfix.heal.actions.base import Action
from kfix.heal.actions.broker_unregister import BrokerUnregister
from kfix.heal.actions.compaction import CompactionHasten, CompactionRestore, RetentionHold, RetentionRestore
from kfix.heal.actions.configs import ConfigSet
from kfix.heal.actions.controller_reelect import ControllerReelect
from kfix.heal.actions.elections import ElectIsr, ElectPreferred
from kfix.heal.actions.group_evict import GroupEvict
from kfix.heal.actions.leader_elect_unclean import ElectUnclean
from kfix.heal.actions.manual import BringBack, Manual, WaitAction
from kfix.heal.actions.metadata_version import MetadataVersionRaise
from kfix.heal.actions.moves import ReassignCancel, ReassignMove
from kfix.heal.actions.new_log import MetadataLogWrite
from kfix.heal.actions.offsets import OffsetsCommit, OffsetsRoll, OffsetsSkip, OffsetsTombstone
from kfix.heal.actions.restart import ManualRestart, ManualUpgrade, NodeRestart, NodeUpgrade
from kfix.heal.actions.throttles import ThrottleRate, ThrottleRemove, ThrottleReplicas, ThrottleRestore
from kfix.heal.actions.transactions import TransactionAbort, TransactionEnd
from kfix.heal.actions.voters import VoterAdd, VoterRemove

ALL: Mapping[str, Action] = {
    action.name: action
    for action in (
        BrokerUnregister(),
        CompactionHasten(),
        CompactionRestore(),
        ConfigSet(),
        ControllerReelect(),
        GroupEvict(),
        ElectIsr(),
        ElectPreferred(),
        ElectUnclean(),
        Manual(),
        MetadataLogWrite(),
        MetadataVersionRaise(),
        BringBack(),
        ManualRestart(),
        ManualUpgrade(),
        NodeRestart(),
        NodeUpgrade(),
        OffsetsCommit(),
        OffsetsRoll(),
        OffsetsSkip(),
        OffsetsTombstone(),
        ReassignCancel(),
        ReassignMove(),
        ReassignNoop(),
        ReassignReorder(),
        RetentionHold(),
        RetentionRestore(),
        ThrottleRate(),
        ThrottleRemove(),
        ThrottleReplicas(),
        ThrottleRestore(),
        TransactionAbort(),
        TransactionEnd(),
        VoterAdd(),
        VoterRemove(),
        WaitAction(),
    )
}

_EXAMPLES: Mapping[ArgKind, ArgValue] = {
    ArgKind.PARTITION: "TOPIC-0",
    ArgKind.BROKERS: (1, 2, 3),
    ArgKind.INT: 1,
    ArgKind.BROKER: 1,
    ArgKind.TOPIC: "TOPIC",
    ArgKind.TEXT: "TEXT",
    ArgKind.RATE: 50_000_000,
    ArgKind.BYTES: 0,
    ArgKind.BOOL: False,
    ArgKind.DURATION: 60.0,
}
# Where an example by kind would make no sense: a move to the present replicas, a kind of resource that does not exist.
_NAMED_EXAMPLES: Mapping[str, ArgValue] = {
    "before": (1, 2),
    "original": (1, 2),
    "adding": (3,),
    "removing": (),
    "kind": "topic",
    "name": "TOPIC",
    "key": "KEY",
    "value": "VALUE",
    "effective": "OLD",
    "first": "longest-log",
    "after_reorder": "",
    "leader": ABSENT,
    "follower": ABSENT,
    "leaders": "0:1",
    "followers": "0:2",
    "leader_before": ABSENT,
    "follower_before": ABSENT,
    "leaders_before": ABSENT,
    "followers_before": ABSENT,
    "known_end": -1,
    "known_epoch": -1,
    "lost_at_most": -1,
    "tails": "1:0/1",
    "do": "WHAT TO DO",
    "role": "broker",
    "command": "COMMAND {node}",
    "version": "4.3.1",
    "copies": "/LOG_DIR,/LOG_DIR",
    "seed": "/LOG_DIR",
    "into": "/NEW_LOG_DIR",
    "lost": "1,2",
    "unread": "",
    "directory": "DIRECTORY_ID",
    "by": "NEW_DIRECTORY_ID",
    "address": "CONTROLLER://HOST:PORT",
    "group": "GROUP",
    "member": "MEMBER_ID",
    "client": "CLIENT",
    "host": "HOST",
    "instance": "",
    "eligible": (),
    "offsets": '{"0":"5"}',
    "record": 12,
    "classic": 11,
    "offsets_before": '{"0":null}',
    "transactional_id": "TRANSACTIONAL_ID",
    "producer": 4000,
    "outcome": "commit",
    "hanging": "commit offset=20 producer=4000 epoch=3 since=0 id=TRANSACTIONAL_ID",
}


def example(action: Action) -> Args:
    """Returns example arguments of an action, for pages and for tests over all actions."""
    return Args({name: _example(name, kind) for name, kind in action.kinds.items()})


def _example(name: str, kind: ArgKind) -> ArgValue:
    """One name may be a text in one action and a list of brokers in another."""
    example = _NAMED_EXAMPLES.get(name, _EXAMPLES[kind])
    return example if type(example) is type(_EXAMPLES[kind]) else _EXAMPLES[kind]
