"""Restores a topic's or a broker's replication throttles exactly; `(absent)` means that there was none.

`kafka-reassign-partitions --verify` would remove all throttles of the cluster; this touches one resource and knows its
values. It is planned before the throttle is set, when it would change nothing yet, so it is never "not applicable".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.actions.base import ActionStatus, Inverse, Kinds
from kfix.heal.actions.configuring import Throttling, text_of
from kfix.heal.actions.words import throttle_words
from kfix.heal.model.facts import Fact, ReadFact
from kfix.heal.model.plan import Gate
from kfix.heal.probes.resources import PARAMS, frozen_resource, resource_of


class ThrottleRestore(Throttling):
    name = "throttle.restore"
    summary = "restore a topic's or a broker's replication throttles exactly as they were"
    gate_floor = Gate.AUTO
    params: ClassVar[Kinds] = {**PARAMS, "leader": ArgKind.TEXT, "follower": ArgKind.TEXT}
    frozen: ClassVar[Kinds] = {}

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

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "none needed: it takes back a throttle of this plan")

    def probe(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        was = tuple(text_of(before[key]) for key in self.reads(args) if key in before)
        return self.progress(args, was, reader)
