"""What the actions that set configuration share: facts, the call itself, progress, and the way back of a throttle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult, ResourceKind
from kfix.heal.actions.base import Action, ActionStatus, Checks, Kinds, Names, Preview
from kfix.heal.actions.words import configs_command
from kfix.heal.model.facts import Fact, ReadFact, about_config
from kfix.heal.model.plan import CheckCall, Estimate, Risk, Undo
from kfix.heal.probes.resources import THROTTLES, Resource, own_texts, resource_of

Values = tuple[str, ...]


class Configuring(Action):
    """Sets keys of one topic or one broker. Kafka sets all keys of a resource or none."""

    risk = Risk.ONE_BROKER

    def resource(self, args: Args) -> Resource:
        return resource_of(args)

    @abstractmethod
    def wanted(self, args: Args) -> dict[str, str]:
        """Returns the keys to set; ABSENT removes the resource's own value."""

    @abstractmethod
    def before(self, args: Args) -> Values:
        """Returns the values of before, in the order of `wanted`."""

    @abstractmethod
    def what(self, args: Args) -> str: ...

    @abstractmethod
    def live(self, args: Args) -> str: ...

    @abstractmethod
    def estimate(self, args: Args) -> Estimate: ...

    def preview(self, args: Args) -> Preview:
        kind, name = self.resource(args)
        command = configs_command(kind, name, self.wanted(args))
        return Preview(self.what(args), f"{kind} {name}", self.live(args), command, self.estimate(args))

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        kind, name = self.resource(args)
        values = {key: None if value == ABSENT else value for key, value in self.wanted(args).items()}
        return changer.alter_configs(kind, name, values)

    def probe(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        return self.progress(args, self.before(args), reader)

    def progress(self, args: Args, before: Values, reader: ClusterReader) -> ActionStatus:
        wanted = self.wanted(args)
        try:
            now = own_texts(reader, *self.resource(args), tuple(wanted))
        except UnreachableError:
            return ActionStatus.UNKNOWN
        if now == tuple(wanted.values()):
            return ActionStatus.DONE
        return ActionStatus.NOT_STARTED if now == before else ActionStatus.UNKNOWN

    def guards(self, args: Args) -> Checks:
        """A broker's configuration is set by that broker, and a throttle on a dead one hangs (KAFKA-13392)."""
        kind, name = self.resource(args)
        if kind is not ResourceKind.BROKER:
            return ()
        return (CheckCall("brokers_registered", Args({"brokers": (int(name),)})),)

    def risk_for(self, args: Args) -> Risk:
        return Risk.ONE_TOPIC if self.resource(args)[0] is ResourceKind.TOPIC else Risk.ONE_BROKER


class Throttling(Configuring):
    """Sets both replication throttles, the leader's and the follower's, of one topic or one broker."""

    frozen: ClassVar[Kinds] = {"leader_before": ArgKind.TEXT, "follower_before": ArgKind.TEXT}

    @abstractmethod
    def throttles(self, args: Args) -> tuple[str, str]:
        """Returns (leader's, follower's), as they are to be."""

    def wanted(self, args: Args) -> dict[str, str]:
        return dict(zip(THROTTLES[self.resource(args)[0]], self.throttles(args), strict=True))

    def before(self, args: Args) -> tuple[str, str]:
        return args.text("leader_before"), args.text("follower_before")

    def estimate(self, _args: Args) -> Estimate:
        return Estimate(max_loss="none: a throttle affects no record")

    def reads(self, args: Args) -> Names:
        return self.writes(args)

    def writes(self, args: Args) -> Names:
        return throttle_facts(self.resource(args))

    def proves(self, args: Args) -> Checks:
        return (CheckCall("throttles_are", _literal(self.resource(args), self.throttles(args))),)

    def restoring(self, args: Args) -> Undo:
        """Returns the change that restores the throttles of before."""
        return Undo("throttle.restore", _literal(self.resource(args), self.before(args)))


def text_of(fact: Fact) -> str:
    return ABSENT if fact.value is None else str(fact.value)


def throttles_now(resource: Resource, read: ReadFact) -> tuple[str, str]:
    """Returns (leader's, follower's) as the resource itself sets them."""
    leader, follower = (text_of(read(key)) for key in throttle_facts(resource))
    return leader, follower


def throttle_facts(resource: Resource) -> Values:
    return about_config(*resource, *THROTTLES[resource[0]])


def _literal(resource: Resource, throttles: tuple[str, str]) -> Args:
    (kind, name), (leader, follower) = resource, throttles
    return Args({"kind": kind.value, "name": name, "leader": leader, "follower": follower})
