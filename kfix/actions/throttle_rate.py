"""Limits how many bytes a second a broker replicates for the throttled replicas, both as leader and as follower.

It slows only replicas that a topic's own lists name (`throttle.replicas`), and of those none that is in sync. A rate
left behind can keep a replica out of the ISR for ever (kraft-facts 10): what was there before is put back afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Inverse, NotApplicable, Preview
from kfix.actions.configuring import (
    pair,
    progress,
    put,
    registered,
    restoring,
    throttle_facts,
    throttled,
    throttles_now,
)
from kfix.actions.words import configs_command, rate_words
from kfix.errors import RefusedError
from kfix.model.cluster.reading import ChangeResult, ResourceKind
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact, about_brokers
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.ports import ClusterChanger, ClusterReader

_KIND = ResourceKind.BROKER
_ESTIMATE = Estimate(partitions=0, replicas_moved=0, bytes=0, seconds=1.0, max_loss="none: replication is only slowed")


def freeze(args: Args, read: ReadFact) -> Args:
    broker, rate = args.number("broker"), args.number("rate")
    if rate < 1:
        raise RefusedError(f"broker {broker}: a throttle of {rate} bytes a second lets no replica arrive")
    if read(*about_brokers(broker)).value is not True:
        raise RefusedError(f"broker {broker} is not registered: a throttle on it would hang (KAFKA-13392)")
    before = throttles_now(_KIND, str(broker), read)
    if before == (str(rate), str(rate)):
        raise NotApplicable(f"broker {broker} is throttled to {rate_words(str(rate))} already")
    return args.with_(leader_before=before[0], follower_before=before[1])


def preview(args: Args) -> Preview:
    broker, rate = args.number("broker"), str(args.number("rate"))
    leader, follower = (rate_words(value) for value in _before(args))
    was = leader if leader == follower else f"leader {leader}, follower {follower}"
    return Preview(
        what=f"throttle replication of broker {broker} to {rate_words(rate)} (was {was})",
        target=f"broker {broker}",
        live=f"throttle was {was}",
        command=configs_command("broker", str(broker), _wanted(args)),
        estimate=_ESTIMATE,
    )


def inverse(args: Args) -> Inverse:
    leader, follower = _before(args)
    undo = restoring(_KIND, str(args.number("broker")), leader, follower)
    return Inverse(True, f"put leader {rate_words(leader)} and follower {rate_words(follower)} back", undo)


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return put(changer, _KIND, str(args.number("broker")), _wanted(args))


def probe(args: Args, _facts: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    return progress(reader, (_KIND, str(args.number("broker"))), _wanted(args), _before(args))


def _wanted(args: Args) -> dict[str, str]:
    rate = str(args.number("rate"))
    return pair(_KIND, rate, rate)


def _before(args: Args) -> tuple[str, str]:
    return args.text("leader_before"), args.text("follower_before")


def reads(args: Args) -> tuple[str, ...]:
    return (*about_brokers(args.number("broker")), *writes(args))


def writes(args: Args) -> tuple[str, ...]:
    return throttle_facts(_KIND, str(args.number("broker")))


def guards(args: Args) -> tuple[CheckCall, ...]:
    return registered(_KIND, str(args.number("broker")))


def proves(args: Args) -> tuple[CheckCall, ...]:
    return (throttled(_KIND, str(args.number("broker")), *_wanted(args).values()),)


ACTION = Action(
    name="throttle.rate",
    summary="limit how many bytes a second a broker replicates for the throttled replicas",
    risk=Risk.ONE_BROKER,
    gate_floor=Gate.PLAN,
    params={"broker": ArgKind.BROKER, "rate": ArgKind.RATE},
    frozen={"leader_before": ArgKind.TEXT, "follower_before": ArgKind.TEXT},
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    guards=guards,
    proves=proves,
)
