"""Restores a topic's settings of compaction exactly; `(absent)` means that the topic had none of its own.

It is planned before they are changed, when it would change nothing yet, so it is never "not applicable".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ABSENT, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import ResourceKind
from kfix.heal.actions.base import ActionStatus, Checks, Inverse, Kinds, Names
from kfix.heal.actions.compaction import TOPIC, VALUES
from kfix.heal.actions.configuring import Configuring, text_of
from kfix.heal.model.facts import Fact, about_config
from kfix.heal.model.plan import CheckCall, Estimate, Gate
from kfix.heal.probes.configs import COMPACTION
from kfix.heal.probes.resources import Resource


class CompactionRestore(Configuring):
    name = "compaction.restore"
    summary = "restore the settings of compaction of a topic exactly as they were"
    gate_floor = Gate.AUTO
    params: ClassVar[Kinds] = {**TOPIC, **VALUES}

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

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, "none needed: it takes back settings of this plan")

    def reads(self, args: Args) -> Names:
        return self.writes(args)

    def writes(self, args: Args) -> Names:
        return about_config(ResourceKind.TOPIC, args.text("topic"), *COMPACTION.values())

    def proves(self, args: Args) -> Checks:
        return (CheckCall("compaction_is", args.only("topic", *COMPACTION)),)

    def probe(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        was = tuple(text_of(before[key]) for key in self.reads(args) if key in before)
        return self.progress(args, was, reader)
