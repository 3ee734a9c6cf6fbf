"""Makes the log cleaner compact every partition of a topic at once, until `compaction.restore` takes it back.

Records that delete a key are then removed at once, too: a replica that is behind could keep what they delete. So every
replica of every partition has to be in sync right before.
"""

from __future__ import annotations

from typing import ClassVar

from kfix.core.args import Args
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.base import Checks, Inverse, Kinds, Names
from kfix.heal.actions.compaction import AT_ONCE, BEFORE, TOPIC
from kfix.heal.actions.configuring import Configuring, text_of
from kfix.heal.model.facts import ReadFact, about_config
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Undo
from kfix.heal.probes.configs import COMPACTION
from kfix.heal.probes.resources import Resource


class CompactionHasten(Configuring):
    name = "compaction.hasten"
    summary = "make the log cleaner compact a topic at once, and remove tombstones at once; a later step restores it"
    gate_floor = Gate.TYPED
    params = TOPIC
    frozen: ClassVar[Kinds] = BEFORE

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

    def reads(self, args: Args) -> Names:
        return self.writes(args)

    def writes(self, args: Args) -> Names:
        return about_config(ResourceKind.TOPIC, args.text("topic"), *COMPACTION.values())

    def guards(self, args: Args) -> Checks:
        return (CheckCall("topic_in_sync", args.only("topic")),)

    def proves(self, args: Args) -> Checks:
        return (CheckCall("compaction_is", args.only("topic").with_(**dict(zip(COMPACTION, AT_ONCE, strict=True)))),)
