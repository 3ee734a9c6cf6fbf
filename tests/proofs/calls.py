"""Which call each action is, written down apart from the actions: what a plan's step may send and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from kfix.core.args import ABSENT, Args
from kfix.core.derive.hanging import COMMIT, parsed
from kfix.core.snapshot.offsets import StoredOffset, parse_stored
from kfix.core.snapshot.reading import ResourceKind
from kfix.core.snapshot.recovery import NewLog
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.voters import Joining
from kfix.heal.actions.compaction import AT_ONCE, UNLIMITED
from kfix.heal.memory.faults import Call
from kfix.heal.model.plan import PlannedStep
from kfix.heal.probes.configs import COMPACTION, RETENTION

_NAMES = {"broker": "rate", "topic": "replicas"}


def _configs(kind: str, name: str, values: Mapping[str, str]) -> Call:
    changes = tuple(sorted((k, None if v == ABSENT else v) for k, v in values.items()))
    return Call("alter_configs", (ResourceKind(kind), name, changes))


def _throttle(kind: str, name: str, leader: str, follower: str) -> Call:
    what = _NAMES[kind]
    pair = {f"leader.replication.throttled.{what}": leader, f"follower.replication.throttled.{what}": follower}
    return _configs(kind, name, pair)


def _rate(args: Args) -> Call:
    rate = str(args["rate"])
    return _throttle("broker", str(args["broker"]), rate, rate)


def _write_log(args: Args) -> Call:
    numbers = (args.number(name) for name in ("node", "epoch", "end", "fence"))
    return Call("write_metadata_log", (NewLog(args.text("into"), args.text("seed"), *numbers),))


def _elect(unclean: bool) -> Callable[[Args], Call]:
    return lambda args: Call("elect", (args.tp(), unclean))


def _reassign(args: Args) -> Call:
    return Call("reassign", (args.tp(), args.brokers("replicas")))


def _commit(args: Args) -> Call:
    rows = json.loads(args.text("offsets"))
    offsets = ((TopicPartition(args.text("topic"), int(n)), each and parse_stored(each)) for n, each in rows.items())
    return Call("commit_offsets", (args.text("group"), tuple(sorted(offsets))))


def _after(args: Args) -> StoredOffset:
    """The offset behind the record, with what the group has committed beside it."""
    (text,) = json.loads(args.text("offsets_before")).values()
    return parse_stored(text)._replace(offset=args.number("offset") + 1)


def _abort(args: Args) -> Call:
    return Call(
        "abort_transaction", tuple(args[k] for k in ("transactional_id", "producer", "producer_epoch", "timeout_ms"))
    )


def _end(args: Args) -> Call:
    seen = parsed(args.text("hanging"))
    return Call("end_transaction", (args.tp(), seen.transactional_id, seen.batch, args.text("outcome") == COMMIT))


def _of_topic(args: Args, keys: Mapping[str, str], values: tuple[str, ...]) -> Call:
    found = sorted((k, None if v == ABSENT else v) for k, v in zip(keys.values(), values, strict=True))
    return Call("alter_configs", (ResourceKind.TOPIC, args.text("topic"), tuple(found)))


def _segment_key(number: int) -> bytes:
    group = f"kfix-segment-{number}".encode()
    return b"\0\2\0" + bytes([len(group)]) + group


CALLS: Mapping[str, Callable[[Args], Call]] = {
    "broker.unregister": lambda a: Call("unregister_broker", (a["broker"],)),
    "compaction.hasten": lambda a: _of_topic(a, COMPACTION, AT_ONCE),
    "compaction.restore": lambda a: _of_topic(a, COMPACTION, tuple(a.text(name) for name in COMPACTION)),
    "retention.hold": lambda a: _of_topic(a, RETENTION, UNLIMITED),
    "retention.restore": lambda a: _of_topic(a, RETENTION, tuple(a.text(name) for name in RETENTION)),
    "config.set": lambda a: _configs(a.text("kind"), a.text("name"), {a.text("key"): a.text("value")}),
    "controller.reelect": lambda a: Call("reelect_controller", (a["epoch_version"],)),
    "group.evict": lambda a: Call("evict_member", (a.text("group"), a.text("member"), a.text("instance"))),
    "leader.elect_isr": _elect(True),
    "leader.elect_preferred": _elect(False),
    "leader.elect_unclean": _elect(True),
    "offsets.commit": _commit,
    "offsets.roll": lambda a: Call("delete_key", (a.tp(), _segment_key(a.number("number")))),
    "offsets.skip": lambda a: Call("commit_offsets", (a.text("group"), ((a.tp(), _after(a)),))),
    "offsets.tombstone": lambda a: Call("delete_key", (a.tp(), bytes.fromhex(a.text("key")))),
    "reassign.cancel": lambda a: Call("reassign", (a.tp(), None)),
    "reassign.move": _reassign,
    "reassign.noop": _reassign,
    "reassign.reorder": _reassign,
    "metadata_log.write": _write_log,
    "metadata_version.raise": lambda a: Call("raise_metadata_version", (a["level"],)),
    "node.restart": lambda a: Call("restart_node", (a.text("role"), a["node"], a.text("command"))),
    "node.upgrade": lambda a: Call("restart_node", (a.text("role"), a["node"], a.text("command"), a.text("version"))),
    "transaction.abort": _abort,
    "transaction.end": _end,
    "voter.add": lambda a: Call("add_voter", (Joining(a.number("node"), a.text("by"), a.text("address")),)),
    "voter.remove": lambda a: Call("remove_voter", (a["node"], a["directory"])),
    "throttle.rate": _rate,
    "throttle.remove": lambda a: _throttle(a.text("kind"), a.text("name"), ABSENT, ABSENT),
    "throttle.replicas": lambda a: _throttle("topic", a.text("topic"), a.text("leaders"), a.text("followers")),
    "throttle.restore": lambda a: _throttle(a.text("kind"), a.text("name"), a.text("leader"), a.text("follower")),
}
CHANGES_NOTHING = frozenset({"manual", "manual.bring_back", "manual.restart", "manual.upgrade", "wait"})


def expected_call(step: PlannedStep) -> Call | None:
    return None if step.action in CHANGES_NOTHING else CALLS[step.action](step.args)
