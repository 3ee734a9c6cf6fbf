"""Adds replicas of a topic to its lists of throttled replicas, such as `0:1,0:2` (partition 0 on brokers 1, 2).

The replicas that the lists name already stay in them, so no other throttle becomes narrower. One step per topic: a
second one in the same plan would not know what the first had added.
"""

from __future__ import annotations

import re
from typing import ClassVar

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.wording import several
from kfix.heal.actions.base import Inverse, Kinds, NotApplicable
from kfix.heal.actions.configuring import Throttling, throttles_now
from kfix.heal.model.facts import ReadFact
from kfix.heal.model.plan import Risk
from kfix.heal.probes.resources import Resource

ALL_REPLICAS = "*"
_LIST = re.compile(r"\d+:\d+(,\d+:\d+)*")


class ThrottleReplicas(Throttling):
    name = "throttle.replicas"
    summary = "add replicas of a topic to those that the brokers' throttles apply to"
    risk = Risk.ONE_TOPIC
    params: ClassVar[Kinds] = {
        "topic": ArgKind.TOPIC,
        "leaders": ArgKind.TEXT,
        "followers": ArgKind.TEXT,
    }
    frozen: ClassVar[Kinds] = {"leaders_before": ArgKind.TEXT, "followers_before": ArgKind.TEXT}

    def resource(self, args: Args) -> Resource:
        return ResourceKind.TOPIC, args.text("topic")

    def freeze(self, args: Args, read: ReadFact) -> Args:
        """Sets the literal lists: those of before and the added replicas."""
        topic = args.text("topic")
        for name in ("leaders", "followers"):
            wanted = args.text(name)
            if wanted != ALL_REPLICAS and not _LIST.fullmatch(wanted):
                text = f"{topic}: {name} {wanted!r} is neither a list such as 0:1,0:2 (partition:broker) nor *"
                raise RefusedError(text)
        before = throttles_now(self.resource(args), read)
        after = (union(before[0], args.text("leaders")), union(before[1], args.text("followers")))
        if after == before:
            raise NotApplicable(f"{topic} already lists these replicas as throttled")
        return args.with_(leaders=after[0], followers=after[1], leaders_before=before[0], followers_before=before[1])

    def throttles(self, args: Args) -> tuple[str, str]:
        return args.text("leaders"), args.text("followers")

    def before(self, args: Args) -> tuple[str, str]:
        return args.text("leaders_before"), args.text("followers_before")

    def what(self, args: Args) -> str:
        now, was = _words(self.throttles(args)), _words(self.before(args))
        return f"throttled replicas of {args.text('topic')}: {now} (was {was})"

    def live(self, args: Args) -> str:
        return f"throttled {_count(args.text('leaders_before'))}"

    def inverse(self, args: Args) -> Inverse:
        return Inverse(True, f"restore the lists: {_words(self.before(args))}", self.restoring(args))


def union(before: str, wanted: str) -> str:
    """Returns the list in the order of `before`, then the added replicas."""
    if ALL_REPLICAS in {before, wanted}:
        return ALL_REPLICAS
    old = [] if before in {ABSENT, ""} else before.split(",")
    return ",".join(dict.fromkeys((*old, *wanted.split(","))))


def _words(lists: tuple[str, str]) -> str:
    return f"leaders {_count(lists[0])}, followers {_count(lists[1])}"


def _count(text: str) -> str:
    if text == ALL_REPLICAS:
        return "all replicas"
    return "none" if text in {ABSENT, ""} else several(text.count(",") + 1, "replica")
