"""Makes the log cleaner compact a topic at once, and restores the topic's settings afterwards."""

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.base import ActionStatus, Checks, Inverse, Kinds, Names
from kfix.heal.actions.configs import Configuring, text_of
from kfix.heal.model.facts import Fact, ReadFact, about_config
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Undo
from kfix.heal.probes.configs import COMPACTION, Resource

#: A segment ends after a second, and what is in a segment that has ended is compacted, tombstones too.
AT_ONCE = ("1000", "0.0", "1000", "0", "0")
TOPIC: Mapping[str, ArgKind] = {"topic": ArgKind.TOPIC}
VALUES: Mapping[str, ArgKind] = dict.fromkeys(COMPACTION, ArgKind.TEXT)
BEFORE: Mapping[str, ArgKind] = {f"{name}_before": ArgKind.TEXT for name in COMPACTION}


class CompactionHasten(Configuring):
    """Makes the log cleaner compact every partition of a topic at once, until `compaction.restore` takes it back.

    Records that delete a key are then removed at once, too: a replica that is behind could keep what they delete.
    So every replica of every partition has to be in sync right before.
    """

    name = "compaction.hasten"
    summary = "make the log cleaner compact a topic at once, and remove tombstones at once; a later step restores it"
    gate_floor = Gate.TYPED
    params = TOPIC
    frozen: ClassVar[Kinds] = BEFORE
    guarded: ClassVar[Mapping[str, Names]] = {"topic_in_sync": ("topic",)}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        found = (text_of(read(key)) for key in self.writes(args))
        return args.with_(**dict(zip(BEFORE, found, strict=True)))

    def resource(self, args: Args) -> Resource:
        return ResourceKind.TOPIC, args.text("topic")

    def wanted(self, _args: Args) -> dict[str, str]:
        return dict(zip(COMPACTION.values(), AT_ONCE, strict=True))

    def before(self, args: Args) -> tuple[str, ...]:
        return tuple(args.text(name) for name in BEFORE)

    def what(self, args: Args) -> str:
        values = ", ".join(f"{key} {value}" for key, value in self.wanted(args).items())
        return f"topic {args.text('topic')}: compact at once: {values}"

    def live(self, args: Args) -> str:
        return f"delete.retention.ms was {args.text('delete_retention_before')}"

    def estimate(self, _args: Args) -> Estimate:
        return Estimate(max_loss="none while every replica is in sync; a tool that reads the topic may miss deletions")

    def inverse(self, args: Args) -> Inverse:
        back = Args({"topic": args.text("topic"), **dict(zip(COMPACTION, self.before(args), strict=True))})
        return Inverse(True, "restore the previous settings", Undo("compaction.restore", back))

    def writes(self, args: Args) -> Names:
        return about_config(ResourceKind.TOPIC, args.text("topic"), *COMPACTION.values())

    def proves(self, args: Args) -> Checks:
        return (CheckCall("compaction_is", args.only("topic").with_(**dict(zip(COMPACTION, AT_ONCE, strict=True)))),)


class CompactionRestore(Configuring):
    """Restores a topic's settings of compaction exactly; `(absent)` means that the topic had none of its own.

    It is planned before they are changed, when it would change nothing yet, so it is never "not applicable".
    """

    name = "compaction.restore"
    summary = "restore the settings of compaction of a topic exactly as they were"
    gate_floor = Gate.AUTO
    params: ClassVar[Kinds] = {**TOPIC, **VALUES}
    irreversible = "none needed: it takes back settings of this plan"
    proved: ClassVar[Mapping[str, Names]] = {"compaction_is": ("topic", *COMPACTION)}

    def resource(self, args: Args) -> Resource:
        return ResourceKind.TOPIC, args.text("topic")

    def wanted(self, args: Args) -> dict[str, str]:
        return {key: args.text(name) for name, key in COMPACTION.items()}

    def before(self, _args: Args) -> tuple[str, ...]:
        return ()

    def what(self, args: Args) -> str:
        own = [f"{key} {value}" for key, value in self.wanted(args).items() if value != ABSENT]
        return f"restore the compaction of topic {args.text('topic')}: {', '.join(own) or 'no settings of its own'}"

    def live(self, args: Args) -> str:
        return f"delete.retention.ms {args.text('delete_retention')}"

    def estimate(self, _args: Args) -> Estimate:
        return Estimate(max_loss="none: it deletes no record")

    def writes(self, args: Args) -> Names:
        return about_config(ResourceKind.TOPIC, args.text("topic"), *COMPACTION.values())

    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        was = tuple(text_of(before[key]) for key in self.reads(args) if key in before)
        return self.progress(args, was, reader)
