"""Raises metadata.version of a KRaft cluster (UpdateFeatures): the end of an upgrade, which nothing takes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about_cluster, brokers, count
from kfix.heal.model.plan import Estimate, Gate, Risk
from kfix.heal.probes.facts import levels_of
from kfix.heal.probes.features import level_named

_SECONDS: Final = 2.0


class MetadataVersionRaise(Action):
    name = "metadata_version.raise"
    summary = "raise metadata.version to the level of the version that every node runs; nothing takes it back"
    risk = Risk.WHOLE_CLUSTER
    gate_floor = Gate.TYPED
    params: ClassVar[Kinds] = {"version": ArgKind.TEXT}
    frozen: ClassVar[Kinds] = {"before": ArgKind.INT, "level": ArgKind.INT, "brokers": ArgKind.BROKERS}
    irreversible = "none: Kafka does not lower metadata.version again, and older software no longer starts"
    guarded: ClassVar[Mapping[str, Names]] = {
        "every_node_runs": ("version", "level"),
        "brokers_registered": ("brokers",),
        "cluster_whole": (),
    }
    proved: ClassVar[Mapping[str, Names]] = {
        "metadata_version_raised": ("version",),
        "brokers_registered": ("brokers",),
    }

    def reads(self, _args: Args) -> Names:
        return about_cluster("metadata_version", "supported_metadata_version", "registered_brokers")

    def writes(self, _args: Args) -> Names:
        return about_cluster("metadata_version")

    def freeze(self, args: Args, read: ReadFact) -> Args:
        before, level, registered = (read(key) for key in self.reads(args))
        if count(before) >= count(level):
            raise NotApplicable(f"metadata.version is {level_named(count(before))} already")
        return args.with_(before=count(before), level=count(level), brokers=brokers(registered))

    def preview(self, args: Args) -> Preview:
        level = args.number("level")
        return Preview(
            what=f"raise metadata.version from {level_named(args.number('before'))} to {level_named(level)} for good: "
            "software that does not support it no longer starts",
            target="metadata.version",
            live=f"metadata.version {level}",
            command=f"kafka-features.sh --bootstrap-server ... upgrade --feature metadata.version={level}",
            estimate=Estimate(seconds=_SECONDS, max_loss="none: no record and no replica is touched"),
        )

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.raise_metadata_version(args.number("level"))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """A node reports the new level once it has applied the record; a second request for it changes nothing."""
        raised = {each.in_force >= args.number("level") for each in levels_of(reader).values()}
        if raised == {True}:
            return ActionStatus.DONE
        return ActionStatus.IN_PROGRESS if True in raised else ActionStatus.NOT_STARTED
