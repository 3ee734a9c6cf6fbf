"""Sets what a topic keeps for a time, and restores it exactly: its compaction, and its retention."""

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.base import ActionStatus, Checks, Inverse, Kinds, Names
from kfix.heal.actions.configs import Configuring, text_of
from kfix.heal.model.facts import Fact, ReadFact, about_config
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Undo
from kfix.heal.probes.configs import COMPACTION, RETENTION, Resource

#: A segment ends after a second, and what is in a segment that has ended is compacted, tombstones too.
AT_ONCE = ("1000", "0.0", "1000", "0", "0")
#: No record is too old, and no log too large.
UNLIMITED = ("-1", "-1")
TOPIC: Mapping[str, ArgKind] = {"topic": ArgKind.TOPIC}
VALUES: Mapping[str, ArgKind] = dict.fromkeys(COMPACTION, ArgKind.TEXT)


def _before(keys: Mapping[str, str]) -> Kinds:
    return {f"{name}_before": ArgKind.TEXT for name in keys}


class _OfTopic(Configuring):
    """`keys` are {argument: key of the topic}, and `check` is the probe that compares their values."""

    keys: ClassVar[Mapping[str, str]]
    check: ClassVar[str]

    def resource(self, args: Args) -> Resource:
        return ResourceKind.TOPIC, args.text("topic")

    def writes(self, args: Args) -> Names:
        return about_config(ResourceKind.TOPIC, args.text("topic"), *self.keys.values())


class _ForATime(_OfTopic):
    """Sets `values` until the action `back` restores what was there, which the plan holds."""

    values: ClassVar[tuple[str, ...]]
    back: ClassVar[str]
    params = TOPIC

    def freeze(self, args: Args, read: ReadFact) -> Args:
        found = (text_of(read(key)) for key in self.writes(args))
        return args.with_(**dict(zip(self.frozen, found, strict=True)))

    def wanted(self, _args: Args) -> dict[str, str]:
        return dict(zip(self.keys.values(), self.values, strict=True))

    def before(self, args: Args) -> tuple[str, ...]:
        return tuple(args.text(name) for name in self.frozen)

    def inverse(self, args: Args) -> Inverse:
        back = Args({"topic": args.text("topic"), **dict(zip(self.keys, self.before(args), strict=True))})
        return Inverse(True, "restore the previous settings", Undo(self.back, back))

    def proves(self, args: Args) -> Checks:
        return (CheckCall(self.check, args.only("topic").with_(**dict(zip(self.keys, self.values, strict=True)))),)


class _Restoring(_OfTopic):
    """Restores a topic's settings exactly; `(absent)` means that the topic had none of its own.

    It is planned before they are changed, when it would change nothing yet, so it is never "not applicable".
    """

    gate_floor = Gate.AUTO
    irreversible = "none needed: it takes back settings of this plan"

    def wanted(self, args: Args) -> dict[str, str]:
        return {key: args.text(name) for name, key in self.keys.items()}

    def before(self, _args: Args) -> tuple[str, ...]:
        return ()

    def own(self, args: Args) -> str:
        found = [f"{key} {value}" for key, value in self.wanted(args).items() if value != ABSENT]
        return ", ".join(found) or "no settings of its own"

    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        was = tuple(text_of(before[key]) for key in self.reads(args) if key in before)
        return self.progress(args, was, reader)


class CompactionHasten(_ForATime):
    """Makes the log cleaner compact every partition of a topic at once, until `compaction.restore` takes it back.

    Records that delete a key are then removed at once, too: a replica that is behind could keep what they delete.
    So every replica of every partition has to be in sync right before.
    """

    name = "compaction.hasten"
    summary = "make the log cleaner compact a topic at once, and remove tombstones at once; a later step restores it"
    gate_floor = Gate.TYPED
    keys, values, check, back = COMPACTION, AT_ONCE, "compaction_is", "compaction.restore"
    frozen: ClassVar[Kinds] = _before(COMPACTION)
    guarded: ClassVar[Mapping[str, Names]] = {"topic_in_sync": ("topic",)}

    def what(self, args: Args) -> str:
        values = ", ".join(f"{key} {value}" for key, value in self.wanted(args).items())
        return f"topic {args.text('topic')}: compact at once: {values}"

    def live(self, args: Args) -> str:
        return f"delete.retention.ms was {args.text('delete_retention_before')}"

    def estimate(self, _args: Args) -> Estimate:
        return Estimate(max_loss="none while every replica is in sync; a tool that reads the topic may miss deletions")


class CompactionRestore(_Restoring):
    """Restores a topic's settings of compaction exactly."""

    name = "compaction.restore"
    summary = "restore the settings of compaction of a topic exactly as they were"
    keys, check = COMPACTION, "compaction_is"
    params: ClassVar[Kinds] = {**TOPIC, **VALUES}
    proved: ClassVar[Mapping[str, Names]] = {"compaction_is": ("topic", *COMPACTION)}

    def what(self, args: Args) -> str:
        return f"restore the compaction of topic {args.text('topic')}: {self.own(args)}"

    def live(self, args: Args) -> str:
        return f"delete.retention.ms {args.text('delete_retention')}"

    def estimate(self, _args: Args) -> Estimate:
        return Estimate(max_loss="none: it deletes no record")


class RetentionHold(_ForATime):
    """Makes brokers delete no record of a topic for its age or its size, until `retention.restore` takes it back.

    The topic grows by all that arrives meanwhile, on each of its replicas.
    """

    name = "retention.hold"
    summary = "delete no record of a topic for its age or its size; a later step restores it"
    gate_floor = Gate.STEP
    keys, values, check, back = RETENTION, UNLIMITED, "retention_is", "retention.restore"
    frozen: ClassVar[Kinds] = _before(RETENTION)

    def what(self, args: Args) -> str:
        return f"topic {args.text('topic')}: keep all records for a time: retention.ms -1, retention.bytes -1"

    def live(self, args: Args) -> str:
        return f"retention.ms was {args.text('retention_ms_before')}"

    def estimate(self, _args: Args) -> Estimate:
        return Estimate(max_loss="none: it deletes no record; the topic grows by all that arrives until it is restored")


class RetentionRestore(_Restoring):
    """Restores a topic's retention exactly. Brokers then delete at once what is too old or too much by it."""

    name = "retention.restore"
    summary = "restore the retention of a topic exactly as it was"
    keys, check = RETENTION, "retention_is"
    params: ClassVar[Kinds] = {**TOPIC, **dict.fromkeys(RETENTION, ArgKind.TEXT)}
    proved: ClassVar[Mapping[str, Names]] = {"retention_is": ("topic", *RETENTION)}

    def what(self, args: Args) -> str:
        return f"restore the retention of topic {args.text('topic')}: {self.own(args)}"

    def live(self, args: Args) -> str:
        return f"retention.ms {args.text('retention_ms')}"

    def estimate(self, _args: Args) -> Estimate:
        return Estimate(max_loss="records that the retention of before does not keep, as without this run")
