"""Takes away replication throttles that somebody left behind, of one topic or one broker.

While replicas are being moved a throttle is nobody's left-over: it is refused then.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Inverse, NotApplicable, Preview
from kfix.actions.configuring import (
    pair,
    progress,
    put,
    radius,
    registered,
    restoring,
    throttle_facts,
    throttles_now,
)
from kfix.actions.words import configs_command, rate_words
from kfix.model.cluster.reading import ChangeResult, ResourceKind
from kfix.model.plan.args import ABSENT, ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.configs.resource import PARAMS, resource_of

_NOTHING = (ABSENT, ABSENT)
_ESTIMATE = Estimate(partitions=0, replicas_moved=0, bytes=0, seconds=1.0, max_loss="none: a throttle holds no record")


def freeze(args: Args, read: ReadFact) -> Args:
    kind, name = resource_of(args)
    before = throttles_now(kind, name, read)
    if set(before) <= {ABSENT, ""}:
        raise NotApplicable(f"{kind} {name} has no replication throttle")
    return args.with_(leader_before=before[0], follower_before=before[1])


def preview(args: Args) -> Preview:
    kind, name = resource_of(args)
    shown = [rate_words(v) if kind is ResourceKind.BROKER else v for v in _before(args)]
    return Preview(
        what=f"take the replication throttles of {kind} {name} away: leader {shown[0]}, follower {shown[1]}",
        target=f"{kind} {name}",
        live=f"throttle {shown[0]}",
        command=configs_command(kind, name, pair(kind, *_NOTHING)),
        estimate=_ESTIMATE,
    )


def _before(args: Args) -> tuple[str, str]:
    return args.text("leader_before"), args.text("follower_before")


def inverse(args: Args) -> Inverse:
    undo = restoring(*resource_of(args), *_before(args))
    return Inverse(True, "put them back as they were", undo)


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    kind, name = resource_of(args)
    return put(changer, kind, name, pair(kind, *_NOTHING))


def probe(args: Args, _facts: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    kind, name = resource_of(args)
    return progress(reader, (kind, name), pair(kind, *_NOTHING), _before(args))


def facts(args: Args) -> tuple[str, ...]:
    return throttle_facts(*resource_of(args))


def guards(args: Args) -> tuple[CheckCall, ...]:
    quiet = CheckCall("no_foreign_reassignment", Args({"partitions": ""}))
    return (*registered(*resource_of(args)), quiet)


def proves(args: Args) -> tuple[CheckCall, ...]:
    kind, name = resource_of(args)
    return (CheckCall("no_throttles", Args({"kind": kind.value, "name": name})),)


ACTION = Action(
    name="throttle.remove",
    summary="take a topic's or a broker's left-over replication throttles away; refused while replicas are being moved",
    risk=Risk.ONE_BROKER,
    gate_floor=Gate.PLAN,
    params=PARAMS,
    frozen={"leader_before": ArgKind.TEXT, "follower_before": ArgKind.TEXT},
    reads=facts,
    writes=facts,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    guards=guards,
    proves=proves,
    radius=radius,
)
