"""Changes of the cluster between two snapshots: brokers, controller, configs, ZooKeeper servers, metadata."""

from collections.abc import Iterator, Mapping

from kfix.core.derive.grouping import grouped
from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.record import RecordedController
from kfix.core.snapshot.snapshot import Mode, Snapshot, TopicPartition
from kfix.core.wording import brokers_named, several
from kfix.incident.timeline.when import between, records_of, where


def broker_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    """Brokers that came, left or restarted: by their registrations in ZooKeeper, on KRaft by the fenced ones.

    The czxid of `/brokers/ids/N` is the broker epoch; a client of KRaft does not see that epoch.
    """
    records = records_of(before, after)
    if records is None:
        return
    old, new = (record.registrations for record in records)
    kraft = records[1].mode is Mode.KRAFT
    at, since = between(before, after)
    for broker in sorted(old.keys() - new.keys()):
        text = f"broker {broker} is fenced" if kraft else f"broker {broker} is no longer registered in ZooKeeper"
        key = f"gone:{broker}"
        yield Event(at, Theme.BROKER, Tone.BAD, text, where(after), since, None, broker, key, lasting=False)
    for broker in sorted(new):
        mine, was = new[broker], old.get(broker)
        if was is not None and mine.czxid == was.czxid:
            continue
        at, since = between(before, after, mine.registered_ms)
        again = (
            ("is alive" if kraft else "registered")
            if was is None
            else "re-registered: it restarted, or its session expired"
        )
        tone = Tone.GOOD if was is None else Tone.BAD
        yield Event(
            at,
            Theme.BROKER,
            tone,
            f"broker {broker} {again}",
            where(after),
            since,
            None,
            broker,
            f"up:{broker}",
            lasting=False,
        )


def controller_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    """Controller changes, from the record only; `views` compares the brokers' reports."""
    records = records_of(before, after)
    if records is None:
        return
    old, new = (record.controller for record in records)
    if old is None or new is None or new.epoch < old.epoch or (old.node, old.epoch) == (new.node, new.epoch):
        return
    what = "controller" if records[1].mode is Mode.KRAFT else "broker"
    if new.node is None:
        at, not_before = between(before, after)
        text = f"there is no controller (previous: {what} {old.node}, epoch {old.epoch})"
        yield Event(at, Theme.CONTROLLER, Tone.BAD, text, where(after), not_before, key=f"no-controller:{old.epoch}")
        return
    at, not_before = between(before, after, new.since_ms)
    key = f"controller:{new.node}:{new.epoch}"
    yield Event(
        at, Theme.CONTROLLER, Tone.NOTE, _sentence(what, old, new), where(after), not_before, None, new.node, key
    )


def _sentence(what: str, old: RecordedController, new: RecordedController) -> str:
    skipped = new.epoch - old.epoch - 1
    more = f"; {several(skipped, 'more election')} in between" if skipped > 0 else ""
    became = "the active controller" if what == "controller" else "the controller"
    return (
        f"{what} {new.node} became {became}, epoch {new.epoch} (previous: {what} {old.node}, epoch {old.epoch}){more}"
    )


_SECRET = ("password", "secret", "jaas", "keystore", "truststore", "credential")


def config_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    """Changed topic and broker configs. Only settings that both snapshots contain are compared."""
    at, since = between(before, after)
    for broker in sorted(before.broker_configs.keys() & after.broker_configs.keys()):
        for text in _differences(before.broker_configs[broker], after.broker_configs[broker], both=True):
            yield Event(at, Theme.CONFIG, Tone.ACT, f"broker {broker}: {text}", where(after), since, None, broker)
    records = records_of(before, after)
    if records is None:
        return
    old, new = (record.topic_settings for record in records)
    if old is None or new is None:
        return
    was, now = ({tp.topic for tp in record.assignments} for record in records)
    topics = was & now
    for topic in sorted(topics):
        for text in _differences(old.get(topic, {}), new.get(topic, {}), both=False):
            yield Event(at, Theme.CONFIG, Tone.ACT, f"topic {topic}: {text}", where(after), since)


def _differences(old: Mapping[str, str], new: Mapping[str, str], *, both: bool) -> Iterator[str]:
    """Yields the differences. With `both`, a setting that one snapshot lacks was not read there and is skipped.

    A record has every override of a topic that was read, so there a missing setting means "not set".
    """
    names = old.keys() & new.keys() if both else old.keys() | new.keys()
    for name in sorted(names):
        was, now = old.get(name, "not set"), new.get(name, "not set")
        if was != now:
            hidden = any(word in name.lower() for word in _SECRET)
            yield f"{name} changed" if hidden else f"{name}: {was} \N{RIGHTWARDS ARROW} {now}"


_SERVING = ("leader", "follower", "standalone", "observer")


def server_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    """State changes of ZooKeeper servers: leader, follower, standalone, without a quorum, or not responding."""
    was = {node.address: node.mode for node in before.ensemble}
    at, since = between(before, after)
    for node in after.ensemble:
        old = was.get(node.address)
        if old is None or old == node.mode:
            continue
        text = f"ZooKeeper {node.address}: {old or 'no response'} \N{RIGHTWARDS ARROW} {node.mode or 'no response'}"
        yield Event(at, Theme.ZOOKEEPER, _tone(old, node.mode), text, where(after), since)


def _tone(old: str, new: str) -> Tone:
    if new not in _SERVING:
        return Tone.BAD
    return Tone.NOTE if old in _SERVING else Tone.GOOD


# Conflicting broker metadata: two leaders of one partition, two controllers. Each snapshot is evaluated on its own.


def view_changes(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    was, now = leaders(before), leaders(after)
    for tp in sorted(now.keys() - was.keys()):
        text = f"brokers disagree on the leader: {_by_broker(now[tp])}"
        yield Event(at, Theme.VIEWS, Tone.BAD, text, where(after), since, tp)
    if len(after.views) > 1:
        for tp in sorted(was.keys() - now.keys()):
            yield Event(at, Theme.VIEWS, Tone.GOOD, "brokers agree on the leader again", where(after), since, tp)
    yield from _controllers(before, after)


def _controllers(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    at, since = between(before, after)
    was, now = controllers(before), controllers(after)
    if len(now) > 1 and set(now) != set(was):
        text = f"brokers report {len(now)} controllers: {_by_broker(now)}"
        yield Event(at, Theme.VIEWS, Tone.BAD, text, where(after), since)
    if len(was) > 1 and len(now) == 1:
        text = f"all responding brokers agree on controller {next(iter(now))} again"
        yield Event(at, Theme.VIEWS, Tone.GOOD, text, where(after), since)


def leaders(snapshot: Snapshot) -> dict[TopicPartition, Mapping[int, list[int]]]:
    """Returns the partitions for which brokers report different leaders, as {leader: brokers that report it}."""
    named: dict[TopicPartition, dict[int, list[int]]] = {}
    for broker, view in sorted(snapshot.views.items()):
        for tp, seen in view.partitions.items():
            if seen.leader >= 0:
                named.setdefault(tp, {}).setdefault(seen.leader, []).append(broker)
    return {tp: by for tp, by in named.items() if len(by) > 1}


def controllers(snapshot: Snapshot) -> Mapping[int, list[int]]:
    """Returns {controller: brokers that report it}. Empty on KRaft, where a broker reports a random one (KIP-590)."""
    views = {} if snapshot.cluster.mode is Mode.KRAFT else snapshot.views
    return grouped((view.controller, broker) for broker, view in sorted(views.items()) if view.controller >= 0)


def _by_broker(named: Mapping[int, list[int]]) -> str:
    return "; ".join(
        f"{named} (say{'s' if len(by) == 1 else ''} {brokers_named(by)})" for named, by in sorted(named.items())
    )
