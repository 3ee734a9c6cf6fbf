"""Sets configuration of topics and brokers, and the way back."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import RefusedError
from kfix.core.numbers import whole_number
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult, ResourceKind
from kfix.core.snapshot.snapshot import Mode, TopicPartition
from kfix.core.wording import several
from kfix.heal.actions import durability
from kfix.heal.actions.base import (
    Action,
    ActionStatus,
    Checks,
    Inverse,
    Kinds,
    Names,
    NotApplicable,
    Preview,
    configs_command,
)
from kfix.heal.model.facts import (
    Fact,
    ReadFact,
    about,
    about_cluster,
    about_config,
    about_effective,
    brokers,
    show_value,
)
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk, Undo
from kfix.heal.probes.configs import PARAMS, THROTTLES, Resource, own_texts, resource_of
from kfix.heal.probes.isr import MIN_ISR

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

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        return self.progress(args, self.before(args), reader)

    def progress(self, args: Args, before: Values, reader: ClusterReader) -> ActionStatus:
        wanted = self.wanted(args)
        now = own_texts(reader, *self.resource(args), tuple(wanted))
        if now == tuple(wanted.values()):
            return ActionStatus.DONE
        return ActionStatus.NOT_STARTED if now == before else ActionStatus.UNKNOWN

    def guards(self, args: Args) -> Checks:
        """A broker's configuration is set by that broker, and a throttle on a dead one hangs (KAFKA-13392)."""
        kind, name = self.resource(args)
        if kind is not ResourceKind.BROKER:
            return super().guards(args)
        return (*super().guards(args), CheckCall("brokers_registered", Args({"brokers": (int(name),)})))

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


#: A value of `expect` that any present value satisfies.
ANYTHING = ""
_MORE_FIRST = "raise the replication factor first: kfix runbook plan raise-topic-rf"
_BACK_FIRST = "bring the brokers back first (isr-dead)"
_KEY = re.compile(r"[a-z0-9._-]+")


class ConfigSet(Configuring):
    """Sets one key of one topic or one broker, or removes its own value with `(absent)`.

    The plan holds the value of before, both the resource's own and the one in force. `expect` refuses a plan for a
    cluster whose value is not the one that its author expected, and a guard refuses a change or a rollback that
    would overwrite a value that someone has set since. The gate depends on the key and on the direction
    (`kfix.heal.actions.durability`).

    `min.insync.replicas` of a topic is raised only to a value that every partition can meet: it is refused above
    the number of replicas less `spare` of them that may be down, and blocked while fewer are in sync. Where the
    same plan adds replicas before, `replicas` is their future number. On KRaft any change of it makes Kafka forget
    which replicas may lead without data loss, even to the same value: it is refused while a partition has such
    replicas, or no leader (`elr_not_needed`).

    On KRaft a topic is not allowed to elect uncleanly while one of its partitions has no leader
    (`every_partition_led`): the next broker that registers, even the one that has every record, would make Kafka
    elect the first live replica. The same holds for the removal of the topic's own value, which also takes `false`
    back.
    """

    name = "config.set"
    summary = "set one key of one topic or broker; a change that makes records less durable needs a typed phrase"
    params: ClassVar[Kinds] = {**PARAMS, "key": ArgKind.TEXT, "value": ArgKind.TEXT}
    optional: ClassVar[Kinds] = {"expect": ArgKind.TEXT, "replicas": ArgKind.INT, "spare": ArgKind.INT}
    frozen: ClassVar[Kinds] = {"before": ArgKind.TEXT, "effective": ArgKind.TEXT}
    proved: ClassVar[Mapping[str, Names]] = {"config_is": ("kind", "name", "key", "value")}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        kind, name = resource_of(args)
        key, value = args.text("key"), args.text("value")
        if not _KEY.fullmatch(key):
            raise RefusedError(f"{kind} {name}: {key!r} is not a configuration key")
        literal = Args({"expect": ANYTHING, "replicas": 0, "spare": 0, **args})
        before, effective = (text_of(read(fact)) for fact in self.reads(literal))
        expect = literal.text("expect")
        found = before if expect == ABSENT else effective
        if expect not in {ANYTHING, found}:
            raise RefusedError(f"{kind} {name}: {key} is {found}, expected {expect}")
        if before == value:
            raise NotApplicable(f"{kind} {name} already sets {key} {value}" if value != ABSENT else f"{key} is not set")
        literal = literal.with_(before=before, effective=effective)
        _must_forget_none(literal, read)
        _must_elect_none(literal, read)
        if _raises_min_isr(literal):
            _must_be_possible(literal, read)
        return literal

    def wanted(self, args: Args) -> dict[str, str]:
        return {args.text("key"): args.text("value")}

    def before(self, args: Args) -> tuple[str, ...]:
        return (args.text("before"),)

    def what(self, args: Args) -> str:
        kind, name = resource_of(args)
        key, value, before, effective = (args.text(k) for k in ("key", "value", "before", "effective"))
        was = f"{effective} (a default)" if before == ABSENT else before
        becomes = "its default (its own value is removed)" if value == ABSENT else value
        return f"{kind} {name}: {key} {was} -> {becomes}"

    def live(self, args: Args) -> str:
        return f"{args.text('key')} was {args.text('effective')}"

    def estimate(self, args: Args) -> Estimate:
        return Estimate(max_loss=durability.stake(args.text("key"), args.text("effective"), args.text("value")))

    def inverse(self, args: Args) -> Inverse:
        key, value, before = args.text("key"), args.text("value"), args.text("before")
        back = args.with_(value=before, expect=ANYTHING, before=value, effective=value)
        text = f"remove {key} again" if before == ABSENT else f"set {key} back to {before}"
        return Inverse(True, text, Undo("config.set", back))

    def writes(self, args: Args) -> Names:
        kind, name = resource_of(args)
        key = args.text("key")
        return (*about_config(kind, name, key), *about_effective(kind, name, key))

    def guards(self, args: Args) -> Checks:
        """A value that someone has set since is never overwritten, least of all by a rollback: its gate rests on it."""
        as_planned = args.only("kind", "name", "key").with_(value=args.text("before"))
        found = (*super().guards(args), CheckCall("config_is", as_planned), *_elr_guard(args), *_led_guard(args))
        if not _raises_min_isr(args):
            return found
        enough = Args({"topic": args.text("name"), "n": int(args.text("value"))})
        return (*found, CheckCall("topic_isr_at_least", enough))

    def gate_for(self, args: Args) -> Gate:
        return durability.gate_of(args.text("key"), args.text("effective"), args.text("value"))


def _elr_guard(args: Args) -> Checks:
    """A broker's own value, and the cluster's, concern every topic."""
    if args.text("key") != MIN_ISR:
        return ()
    topic = args.text("name") if resource_of(args)[0] is ResourceKind.TOPIC else ""
    return (CheckCall("elr_not_needed", Args({"topic": topic})),)


def _allows_unclean(args: Args) -> bool:
    """Returns True also where the topic's own value is removed: what is in force then may allow it."""
    return args.text("key") == UNCLEAN and args.text("value").lower() != "false"


def _led_guard(args: Args) -> Checks:
    """A broker may be the active controller, whose own value concerns every topic."""
    if not _allows_unclean(args):
        return ()
    topic = args.text("name") if resource_of(args)[0] is ResourceKind.TOPIC else ""
    return (CheckCall("every_partition_led", Args({"topic": topic})),)


def _must_elect_none(args: Args, read: ReadFact) -> None:
    """Raises RefusedError where Kafka would elect a replica that lacks records."""
    (mode,) = about_cluster("mode")
    kind, name = resource_of(args)
    if not _allows_unclean(args) or kind is not ResourceKind.TOPIC or read(mode).value != Mode.KRAFT:
        return
    for tp in _partitions(name, read):
        leader, live = about(tp, "leader", "live_replicas")
        if read(leader).value not in brokers(read(live)):
            text = f"{tp} has no leader: where unclean elections are allowed, Kafka elects the first live replica"
            raise RefusedError(f"{text}, which may lack records, once any broker starts", hint=_BACK_FIRST)


def _must_forget_none(args: Args, read: ReadFact) -> None:
    """Raises RefusedError where Kafka would forget which replicas may lead, or where there is no leader."""
    mode, waiting = about_cluster("mode", "eligible_needed")
    if args.text("key") != MIN_ISR or read(mode).value != Mode.KRAFT:
        return
    kind, name = resource_of(args)
    if kind is not ResourceKind.TOPIC:
        count = read(waiting).value
        if isinstance(count, int) and count > 0:
            text = f"{kind} {name}: {MIN_ISR} concerns every topic, and Kafka forgets which replicas may lead"
            raise RefusedError(f"{text} {several(count, 'partition')} without data loss", hint=_BACK_FIRST)
        return
    for tp in _partitions(name, read):
        eligible = dict.fromkeys(b for key in about(tp, "elr", "last_known") for b in brokers(read(key)))
        if eligible:
            text = f"{tp}: {show_value(tuple(eligible))} may lead it without data loss, and Kafka forgets that when"
            raise RefusedError(f"{text} {MIN_ISR} is set, even to the same value", hint=_BACK_FIRST)
        leader, live = about(tp, "leader", "live_replicas")
        if read(leader).value not in brokers(read(live)):
            text = f"{tp} has no leader: {MIN_ISR}, set to any value, elects none on KRaft"
            raise RefusedError(f"{text}, and Kafka forgets which replicas may lead", hint=_BACK_FIRST)


def _raises_min_isr(args: Args) -> bool:
    """Returns True also where the present value is unknown: it may be a raise."""
    value, now = args.text("value"), args.text("effective")
    new, old = whole_number(value), whole_number(now)
    if resource_of(args)[0] is not ResourceKind.TOPIC or args.text("key") != MIN_ISR or new is None:
        return False
    return old is None or new > old


def _must_be_possible(args: Args, read: ReadFact) -> None:
    topic, demanded, spare = args.text("name"), int(args.text("value")), args.number("spare")
    fewest = args.number("replicas") or _fewest_replicas(topic, read)
    if demanded > fewest:
        text = f"topic {topic}: {MIN_ISR} {demanded} is more than the {several(fewest, 'replica')} of a partition"
        when = "it would stop producers with acks=all at once before Kafka 3.7, and whenever a replica lags since"
        raise RefusedError(f"{text}: {when}", hint=_MORE_FIRST)
    if demanded > fewest - spare:
        text = f"topic {topic}: {MIN_ISR} {demanded} of {several(fewest, 'replica')} leaves fewer than {spare} to spare"
        raise RefusedError(f"{text}: one restarting broker would stop producers with acks=all", hint=_MORE_FIRST)


def _fewest_replicas(topic: str, read: ReadFact) -> int:
    return min((len(brokers(read(*about(tp, "assignment")))) for tp in _partitions(topic, read)), default=0)


def _partitions(topic: str, read: ReadFact) -> Iterator[TopicPartition]:
    count = read(*about(TopicPartition(topic, 0), "partition_count")).value
    return (TopicPartition(topic, number) for number in range(count if isinstance(count, int) else 0))
