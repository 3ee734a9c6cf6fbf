"""Names the replicas of a topic that the brokers' throttles hold for, such as `0:1,0:2` (partition 0 on brokers 1, 2).

What the topic's lists name already stays in them, so nobody else's throttle is narrowed. One step a topic: a second one
in the same plan would not know what the first had added.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Inverse, NotApplicable, Preview
from kfix.actions.configuring import pair, progress, put, restoring, throttle_facts, throttled, throttles_now
from kfix.actions.words import configs_command, several
from kfix.errors import RefusedError
from kfix.model.cluster.reading import ChangeResult, ResourceKind
from kfix.model.plan.args import ABSENT, ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.ports import ClusterChanger, ClusterReader

ALL_REPLICAS = "*"
_KIND = ResourceKind.TOPIC
_LIST = re.compile(r"\d+:\d+(,\d+:\d+)*")
_ESTIMATE = Estimate(partitions=0, replicas_moved=0, bytes=0, seconds=1.0, max_loss="none: replication is only slowed")


def union(before: str, wanted: str) -> str:
    """In the order of `before`, then what is new."""
    if ALL_REPLICAS in {before, wanted}:
        return ALL_REPLICAS
    old = [] if before in {ABSENT, ""} else before.split(",")
    return ",".join(dict.fromkeys((*old, *wanted.split(","))))


def freeze(args: Args, read: ReadFact) -> Args:
    """The lists become what is set literally: with what was there before."""
    topic = args.text("topic")
    for name in ("leaders", "followers"):
        wanted = args.text(name)
        if wanted != ALL_REPLICAS and not _LIST.fullmatch(wanted):
            raise RefusedError(f"{topic}: {name} {wanted!r} is no list such as 0:1,0:2 (partition:broker), and not *")
    before = throttles_now(_KIND, topic, read)
    after = (union(before[0], args.text("leaders")), union(before[1], args.text("followers")))
    if after == before:
        raise NotApplicable(f"{topic} names these replicas as throttled already")
    return args.with_(leaders=after[0], followers=after[1], leaders_before=before[0], followers_before=before[1])


def preview(args: Args) -> Preview:
    topic, (leader, follower) = args.text("topic"), _before(args)
    was = f"leaders {_count(leader)}, followers {_count(follower)}"
    now = f"leaders {_count(args.text('leaders'))}, followers {_count(args.text('followers'))}"
    return Preview(
        what=f"throttled replicas of {topic}: {now} (was {was})",
        target=f"topic {topic}",
        live=f"throttled {_count(leader)}",
        command=configs_command("topic", topic, _wanted(args)),
        estimate=_ESTIMATE,
    )


def _count(text: str) -> str:
    if text == ALL_REPLICAS:
        return "all replicas"
    return "none" if text in {ABSENT, ""} else several(text.count(",") + 1, "replica")


def inverse(args: Args) -> Inverse:
    leader, follower = _before(args)
    text = f"put the lists back as they were: leaders {_count(leader)}, followers {_count(follower)}"
    return Inverse(True, text, restoring(_KIND, args.text("topic"), leader, follower))


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return put(changer, _KIND, args.text("topic"), _wanted(args))


def probe(args: Args, _facts: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    return progress(reader, (_KIND, args.text("topic")), _wanted(args), _before(args))


def _wanted(args: Args) -> dict[str, str]:
    return pair(_KIND, args.text("leaders"), args.text("followers"))


def _before(args: Args) -> tuple[str, str]:
    return args.text("leaders_before"), args.text("followers_before")


def facts(args: Args) -> tuple[str, ...]:
    return throttle_facts(_KIND, args.text("topic"))


def proves(args: Args) -> tuple[CheckCall, ...]:
    return (throttled(_KIND, args.text("topic"), *_wanted(args).values()),)


ACTION = Action(
    name="throttle.replicas",
    summary="name the replicas of a topic that the brokers' throttles hold for, besides those named already",
    risk=Risk.ONE_TOPIC,
    gate_floor=Gate.PLAN,
    params={"topic": ArgKind.TOPIC, "leaders": ArgKind.TEXT, "followers": ArgKind.TEXT},
    frozen={"leaders_before": ArgKind.TEXT, "followers_before": ArgKind.TEXT},
    reads=facts,
    writes=facts,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    proves=proves,
)
