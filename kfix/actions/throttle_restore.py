"""Puts a topic's or a broker's replication throttles back to exactly what they were; `(absent)`: there was none.

`kafka-reassign-partitions --verify` would wipe everybody's throttles; this touches one resource and knows its values.
It is planned before the throttle is set, when it would change nothing yet, and so is never "not applicable".
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Inverse, Preview
from kfix.actions.configuring import pair, progress, put, radius, registered, throttle_facts, throttled
from kfix.actions.words import configs_command, rate_words
from kfix.model.cluster.reading import ChangeResult, ResourceKind
from kfix.model.plan.args import ABSENT, ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.configs.resource import PARAMS, resource_of

_ESTIMATE = Estimate(partitions=0, replicas_moved=0, bytes=0, seconds=1.0, max_loss="none: a throttle holds no record")


def freeze(args: Args, _read: ReadFact) -> Args:
    resource_of(args)
    return args


def preview(args: Args) -> Preview:
    kind, name = resource_of(args)
    shown = [_words(kind, value) for value in _values(args)]
    return Preview(
        what=f"put the replication throttles of {kind} {name} back: leader {shown[0]}, follower {shown[1]}",
        target=f"{kind} {name}",
        live=f"throttle {shown[0]}",
        command=configs_command(kind, name, pair(kind, *_values(args))),
        estimate=_ESTIMATE,
    )


def _words(kind: ResourceKind, value: str) -> str:
    return rate_words(value) if kind is ResourceKind.BROKER else "none" if value == ABSENT else value


def _values(args: Args) -> tuple[str, str]:
    return args.text("leader"), args.text("follower")


def inverse(_args: Args) -> Inverse:
    return Inverse(False, "none needed: it takes a throttle of this plan back")


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    kind, name = resource_of(args)
    return put(changer, kind, name, pair(kind, *_values(args)))


def probe(args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    kind, name = resource_of(args)
    was = tuple(
        ABSENT if f.value is None else str(f.value) for key in facts(args) if (f := before.get(key)) is not None
    )
    return progress(reader, (kind, name), pair(kind, *_values(args)), was)


def facts(args: Args) -> tuple[str, ...]:
    return throttle_facts(*resource_of(args))


def guards(args: Args) -> tuple[CheckCall, ...]:
    return registered(*resource_of(args))


def proves(args: Args) -> tuple[CheckCall, ...]:
    return (throttled(*resource_of(args), *_values(args)),)


ACTION = Action(
    name="throttle.restore",
    summary="put a topic's or a broker's replication throttles back to exactly what they were",
    risk=Risk.ONE_BROKER,
    gate_floor=Gate.AUTO,
    params={**PARAMS, "leader": ArgKind.TEXT, "follower": ArgKind.TEXT},
    frozen={},
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
