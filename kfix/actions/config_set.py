"""Sets one key of one topic or one broker, or takes its own value away with `(absent)`.

What was there before is in the plan, as the resource's own value and as the one in force; `expect` refuses a plan for a
cluster that is set otherwise than its author thought. How high the gate is depends on the key and on the direction
(`kfix.actions.durability`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kfix.actions import durability
from kfix.actions.base import Action, Inverse, NotApplicable, Preview, Progress
from kfix.actions.configuring import progress, put, radius, registered, text_of
from kfix.actions.words import configs_command
from kfix.errors import RefusedError
from kfix.model.args import ABSENT, Args, Kind
from kfix.model.facts import Fact, ReadFact, about_config, about_effective
from kfix.model.plan import CheckCall, Estimate, Gate, Risk, Undo
from kfix.model.reading import ChangeResult
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.resource import PARAMS, resource_of

#: Of `expect`: whatever it is now.
ANYTHING = ""
_KEY = re.compile(r"[a-z0-9._-]+")


def freeze(args: Args, read: ReadFact) -> Args:
    kind, name = resource_of(args)
    key, value = args.text("key"), args.text("value")
    if not _KEY.fullmatch(key):
        raise RefusedError(f"{kind} {name}: {key!r} is no key of a configuration")
    literal = Args({"expect": ANYTHING, **args})
    before, effective = (text_of(read(fact)) for fact in facts(literal))
    expect = literal.text("expect")
    found = before if expect == ABSENT else effective
    if expect not in {ANYTHING, found}:
        raise RefusedError(f"{kind} {name}: {key} is {found}, expected {expect}")
    if before == value:
        raise NotApplicable(f"{kind} {name} sets {key} {value} already" if value != ABSENT else f"{key} is not set")
    return literal.with_(before=before, effective=effective)


def preview(args: Args) -> Preview:
    kind, name = resource_of(args)
    key, value, before, effective = (args.text(k) for k in ("key", "value", "before", "effective"))
    was = f"{effective} (a default)" if before == ABSENT else before
    becomes = "its default (the own value is taken away)" if value == ABSENT else value
    return Preview(
        what=f"{kind} {name}: {key} {was} -> {becomes}",
        target=f"{kind} {name}",
        live=f"{key} was {effective}",
        command=configs_command(kind, name, {key: value}),
        estimate=Estimate(
            partitions=0,
            replicas_moved=0,
            bytes=0,
            seconds=1.0,
            max_loss=durability.stake(key, effective, value),
        ),
    )


def inverse(args: Args) -> Inverse:
    key, value, before = args.text("key"), args.text("value"), args.text("before")
    back = args.with_(value=before, expect=ANYTHING, before=value, effective=value)
    text = f"take {key} away again" if before == ABSENT else f"set {key} back to {before}"
    return Inverse(True, text, Undo("config.set", back))


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    kind, name = resource_of(args)
    return put(changer, kind, name, {args.text("key"): args.text("value")})


def probe(args: Args, _facts: Mapping[str, Fact], reader: ClusterReader) -> Progress:
    return progress(reader, resource_of(args), {args.text("key"): args.text("value")}, (args.text("before"),))


def facts(args: Args) -> tuple[str, ...]:
    kind, name = resource_of(args)
    key = args.text("key")
    return (*about_config(kind, name, key), *about_effective(kind, name, key))


def guards(args: Args) -> tuple[CheckCall, ...]:
    return registered(*resource_of(args))


def proves(args: Args) -> tuple[CheckCall, ...]:
    return (CheckCall("config_is", Args({k: args.text(k) for k in ("kind", "name", "key", "value")})),)


def floor(args: Args) -> Gate:
    return durability.gate_of(args.text("key"), args.text("effective"), args.text("value"))


ACTION = Action(
    name="config.set",
    summary="set one key of one topic or broker; what makes records less durable is typed",
    risk=Risk.ONE_BROKER,
    gate_floor=Gate.PLAN,
    params={**PARAMS, "key": Kind.TEXT, "value": Kind.TEXT},
    optional={"expect": Kind.TEXT},
    frozen={"before": Kind.TEXT, "effective": Kind.TEXT},
    reads=facts,
    writes=facts,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    guards=guards,
    proves=proves,
    floor=floor,
    radius=radius,
)
