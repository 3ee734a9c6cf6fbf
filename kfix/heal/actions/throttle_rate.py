"""Limits how many bytes per second a broker replicates for the throttled replicas, both as leader and as follower.

It slows only replicas that a topic's own lists name (`throttle.replicas`), and of those none that is in sync. A
left-over rate can keep a replica out of the ISR forever (docs/facts/kraft.md): the rate of before is restored
afterwards.
"""

from __future__ import annotations

from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.base import Inverse, Kinds, Names, NotApplicable
from kfix.heal.actions.configuring import Throttling, throttles_now
from kfix.heal.actions.words import rate_words
from kfix.heal.model.facts import ReadFact, about_brokers
from kfix.heal.probes.resources import Resource


class ThrottleRate(Throttling):
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
