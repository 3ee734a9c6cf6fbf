"""Removes left-over replication throttles of one topic or one broker.

While replicas are being moved a throttle may be in use: the action is refused then.
"""

from __future__ import annotations

from kfix.core.args import ABSENT, Args
from kfix.heal.actions.base import Checks, Inverse, NotApplicable
from kfix.heal.actions.configuring import Throttling, throttles_now
from kfix.heal.actions.words import throttle_words
from kfix.heal.model.facts import ReadFact
from kfix.heal.model.plan import CheckCall
from kfix.heal.probes.resources import PARAMS, resource_of


class ThrottleRemove(Throttling):
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
