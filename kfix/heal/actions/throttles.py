"""Sets, removes and restores replication throttles of topics and brokers."""

import re
from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.wording import several
from kfix.heal.actions.base import (
    ActionStatus,
    Checks,
    Inverse,
    Kinds,
    Names,
    NotApplicable,
    rate_words,
    throttle_words,
)
from kfix.heal.actions.configs import Throttling, text_of, throttles_now
from kfix.heal.model.facts import Fact, ReadFact, about_brokers
from kfix.heal.model.plan import CheckCall, Gate, Risk
from kfix.heal.probes.configs import PARAMS, Resource, frozen_resource, resource_of


class ThrottleRate(Throttling):
    """Limits how many bytes per second a broker replicates for the throttled replicas, both as leader and as
    follower.

    It slows only replicas that a topic's own lists name (`throttle.replicas`), and of those none that is in sync.
    A left-over rate can keep a replica out of the ISR forever (docs/facts/kraft.md): the rate of before is
    restored afterwards.
    """

    name = "throttle.rate"
    summary = "limit how many bytes per second a broker replicates for the throttled replicas"
    params: ClassVar[Kinds] = {"broker": ArgKind.BROKER, "rate": ArgKind.RATE}

    def resource(self, args: Args) -> Resource:
        return ResourceKind.BROKER, str(args.number("broker"))

    def freeze(self, args: Args, read: ReadFact) -> Args:
        broker, rate = args.number("broker"), args.number("rate")
        if rate < 1:
            raise RefusedError(f"broker {broker}: a throttle of {rate} bytes per second stops replication")
        if read(*about_brokers(broker)).value is not True:
            raise RefusedError(f"broker {broker} is not registered: a throttle on it would hang (KAFKA-13392)")
        before = throttles_now(self.resource(args), read)
        if before == self.throttles(args):
            raise NotApplicable(f"broker {broker} is already throttled to {rate_words(str(rate))}")
        return args.with_(leader_before=before[0], follower_before=before[1])

    def throttles(self, args: Args) -> tuple[str, str]:
        rate = str(args.number("rate"))
        return rate, rate

    def what(self, args: Args) -> str:
        rate = rate_words(str(args.number("rate")))
        return f"throttle replication of broker {args.number('broker')} to {rate} (was {self._was(args)})"

    def live(self, args: Args) -> str:
        return f"throttle was {self._was(args)}"

    def _was(self, args: Args) -> str:
        leader, follower = map(rate_words, self.before(args))
        return leader if leader == follower else f"leader {leader}, follower {follower}"

    def inverse(self, args: Args) -> Inverse:
        leader, follower = map(rate_words, self.before(args))
        return Inverse(True, f"restore leader {leader} and follower {follower}", self.restoring(args))

    def reads(self, args: Args) -> Names:
        return (*about_brokers(args.number("broker")), *self.writes(args))


ALL_REPLICAS = "*"
_LIST = re.compile(r"\d+:\d+(,\d+:\d+)*")


class ThrottleReplicas(Throttling):
    """Adds replicas of a topic to its lists of throttled replicas, such as `0:1,0:2` (partition 0 on brokers 1, 2).

    The replicas that the lists name already stay in them, so no other throttle becomes narrower. One step per
    topic: a second one in the same plan would not know what the first had added.
    """

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


class ThrottleRemove(Throttling):
    """Removes left-over replication throttles of one topic or one broker.

    While replicas are being moved a throttle may be in use: the action is refused then.
    """

    name = "throttle.remove"
    summary = "remove a topic's or a broker's left-over replication throttles; refused while replicas are being moved"
    params = PARAMS

    def freeze(self, args: Args, read: ReadFact) -> Args:
        kind, name = resource_of(args)
        before = throttles_now((kind, name), read)
        if set(before) <= {ABSENT, ""}:
            raise NotApplicable(f"{kind} {name} has no replication throttle")
        return args.with_(leader_before=before[0], follower_before=before[1])

    def throttles(self, _args: Args) -> tuple[str, str]:
        return ABSENT, ABSENT

    def what(self, args: Args) -> str:
        kind, name = resource_of(args)
        leader, follower = (throttle_words(kind, value) for value in self.before(args))
        return f"remove the replication throttles of {kind} {name}: leader {leader}, follower {follower}"

    def live(self, args: Args) -> str:
        return f"throttle {throttle_words(resource_of(args)[0], self.before(args)[0])}"

    def inverse(self, args: Args) -> Inverse:
        return Inverse(True, "restore them as they were", self.restoring(args))

    def guards(self, args: Args) -> Checks:
        return (*super().guards(args), CheckCall("no_foreign_reassignment", Args({"partitions": ""})))

    def proves(self, args: Args) -> Checks:
        return (CheckCall("no_throttles", args.only("kind", "name")),)


class ThrottleRestore(Throttling):
    """Restores a topic's or a broker's replication throttles exactly; `(absent)` means that there was none.

    `kafka-reassign-partitions --verify` would remove all throttles of the cluster; this touches one resource and
    knows its values. It is planned before the throttle is set, when it would change nothing yet, so it is never
    "not applicable".
    """

    name = "throttle.restore"
    summary = "restore a topic's or a broker's replication throttles exactly as they were"
    gate_floor = Gate.AUTO
    params: ClassVar[Kinds] = {**PARAMS, "leader": ArgKind.TEXT, "follower": ArgKind.TEXT}
    frozen: ClassVar[Kinds] = {}
    irreversible = "none needed: it takes back a throttle of this plan"

    def freeze(self, args: Args, read: ReadFact) -> Args:
        return frozen_resource(args, read)

    def throttles(self, args: Args) -> tuple[str, str]:
        return args.text("leader"), args.text("follower")

    def what(self, args: Args) -> str:
        kind, name = resource_of(args)
        if self.throttles(args) == (ABSENT, ABSENT):
            return f"remove the replication throttles of {kind} {name}"
        leader, follower = (throttle_words(kind, value) for value in self.throttles(args))
        return f"restore the replication throttles of {kind} {name}: leader {leader}, follower {follower}"

    def live(self, args: Args) -> str:
        return f"throttle {throttle_words(resource_of(args)[0], args.text('leader'))}"

    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        was = tuple(text_of(before[key]) for key in self.reads(args) if key in before)
        return self.progress(args, was, reader)
