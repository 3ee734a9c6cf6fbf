"""Sets one key of one topic or one broker, or takes its own value away with `(absent)`.

What was there before is in the plan, as the resource's own value and as the one in force; `expect` refuses a plan for a
cluster that is set otherwise than its author thought, and a guard a change or a rollback of what somebody set since.
How high the gate is depends on the key and on the direction (`kfix.actions.durability`).

`min.insync.replicas` of a topic is raised only to what every partition can give: refused above the number of replicas,
less `spare` of them that may be away, and held up while fewer are in sync. Where the same plan adds replicas before,
`replicas` says how many there will be then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kfix.actions import durability
from kfix.actions.base import Action, ActionStatus, Inverse, NotApplicable, Preview
from kfix.actions.configuring import progress, put, radius, registered, text_of
from kfix.actions.words import configs_command, several
from kfix.errors import RefusedError
from kfix.model.cluster.reading import ChangeResult, ResourceKind
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.numbers import whole_number
from kfix.model.plan.args import ABSENT, ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact, about, about_config, about_effective, brokers
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk, Undo
from kfix.ports import ClusterChanger, ClusterReader
from kfix.probes.configs.resource import PARAMS, resource_of
from kfix.probes.isr.min_isr_satisfied import KEY as MIN_ISR

#: Of `expect`: whatever it is now.
ANYTHING = ""
_MORE_FIRST = "raise the replication factor first: kfix runbook plan raise-topic-rf"
_KEY = re.compile(r"[a-z0-9._-]+")


def freeze(args: Args, read: ReadFact) -> Args:
    kind, name = resource_of(args)
    key, value = args.text("key"), args.text("value")
    if not _KEY.fullmatch(key):
        raise RefusedError(f"{kind} {name}: {key!r} is no key of a configuration")
    literal = Args({"expect": ANYTHING, "replicas": 0, "spare": 0, **args})
    before, effective = (text_of(read(fact)) for fact in facts(literal))
    expect = literal.text("expect")
    found = before if expect == ABSENT else effective
    if expect not in {ANYTHING, found}:
        raise RefusedError(f"{kind} {name}: {key} is {found}, expected {expect}")
    if before == value:
        raise NotApplicable(f"{kind} {name} sets {key} {value} already" if value != ABSENT else f"{key} is not set")
    literal = literal.with_(before=before, effective=effective)
    if _raises_min_isr(literal):
        _must_be_possible(literal, read)
    return literal


def _raises_min_isr(args: Args) -> bool:
    """From a value that nobody knows it may be a raise."""
    value, now = args.text("value"), args.text("effective")
    new, old = whole_number(value), whole_number(now)
    if resource_of(args)[0] is not ResourceKind.TOPIC or args.text("key") != MIN_ISR or new is None:
        return False
    return old is None or new > old


def _must_be_possible(args: Args, read: ReadFact) -> None:
    topic, demanded, spare = args.text("name"), int(args.text("value")), args.number("spare")
    fewest = args.number("replicas") or _fewest_replicas(topic, read)
    if demanded > fewest:
        text = f"topic {topic}: {MIN_ISR} {demanded} is more than the {several(fewest, 'replica')} that a partition has"
        raise RefusedError(f"{text}: producers with acks=all would stop at once", hint=_MORE_FIRST)
    if demanded > fewest - spare:
        text = f"topic {topic}: {MIN_ISR} {demanded} of {several(fewest, 'replica')} leaves fewer than {spare} to spare"
        raise RefusedError(f"{text}: one broker that restarts would stop producers with acks=all", hint=_MORE_FIRST)


def _fewest_replicas(topic: str, read: ReadFact) -> int:
    count = read(*about(TopicPartition(topic, 0), "partition_count")).value
    tps = (TopicPartition(topic, number) for number in range(count if isinstance(count, int) else 0))
    return min((len(brokers(read(*about(tp, "assignment")))) for tp in tps), default=0)


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


def probe(args: Args, _facts: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    return progress(reader, resource_of(args), {args.text("key"): args.text("value")}, (args.text("before"),))


def facts(args: Args) -> tuple[str, ...]:
    kind, name = resource_of(args)
    key = args.text("key")
    return (*about_config(kind, name, key), *about_effective(kind, name, key))


def guards(args: Args) -> tuple[CheckCall, ...]:
    """What somebody set since is never trampled on, least of all by a rollback, whose gate rests on what is there."""
    as_planned = Args({**{k: args.text(k) for k in ("kind", "name", "key")}, "value": args.text("before")})
    found = (*registered(*resource_of(args)), CheckCall("config_is", as_planned))
    if not _raises_min_isr(args):
        return found
    enough = Args({"topic": args.text("name"), "n": int(args.text("value"))})
    return (*found, CheckCall("topic_isr_at_least", enough))


def proves(args: Args) -> tuple[CheckCall, ...]:
    return (CheckCall("config_is", Args({k: args.text(k) for k in ("kind", "name", "key", "value")})),)


def floor(args: Args) -> Gate:
    return durability.gate_of(args.text("key"), args.text("effective"), args.text("value"))


ACTION = Action(
    name="config.set",
    summary="set one key of one topic or broker; what makes records less durable is typed",
    risk=Risk.ONE_BROKER,
    gate_floor=Gate.PLAN,
    params={**PARAMS, "key": ArgKind.TEXT, "value": ArgKind.TEXT},
    optional={"expect": ArgKind.TEXT, "replicas": ArgKind.INT, "spare": ArgKind.INT},
    frozen={"before": ArgKind.TEXT, "effective": ArgKind.TEXT},
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
