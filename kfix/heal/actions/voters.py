"""Changes of the voters of a KRaft quorum (KIP-853): removes one that is dead, adds a controller that follows.

Kafka removes a live voter, or one without which no majority is left, as readily. So guards read right before each
change that the voters that follow are a majority of the quorum that it makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.voters import Joining, QuorumVoters, parsed_joining, parsed_voters
from kfix.heal.actions.base import Action, ActionStatus, Checks, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.voters import FACTS, TO_START, of_node

_SECONDS = 2.0
_TOOL = "kafka-metadata-quorum.sh --bootstrap-controller HOST:PORT"


class _VoterChange(Action):
    """`directory` is the id of the voter's disk, and `by` of the one of the controller that follows as an observer."""

    risk = Risk.WHOLE_CLUSTER
    gate_floor = Gate.STEP
    forwarded = False
    params: ClassVar[Kinds] = {"node": ArgKind.BROKER}

    def writes(self, _args: Args) -> Names:
        return FACTS


class VoterRemove(_VoterChange):
    name = "voter.remove"
    summary = "remove a dead voter of the KRaft quorum whose controller runs with another disk"
    frozen: ClassVar[Kinds] = {"directory": ArgKind.TEXT, "by": ArgKind.TEXT}
    irreversible = "none: the disk of the voter is not there; the controller becomes a voter with the disk that it has"
    guarded: ClassVar[Mapping[str, Names]] = {"voter_may_be_removed": ("node", "directory", "by")}
    proved: ClassVar[Mapping[str, Names]] = {"voter_removed": ("node", "directory")}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        literal = of_node(args, read)
        if not literal.text("directory"):
            raise NotApplicable(f"{args.number('node')} is no voter with a directory id")
        return literal

    def preview(self, args: Args) -> Preview:
        node, directory = args.number("node"), args.text("directory")
        return Preview(
            what=f"remove voter {node} with directory id {directory}, which is dead: controller {node} runs with "
            f"{args.text('by')}",
            target=f"controller {node}",
            live=f"controller {node}",
            command=f"{_TOOL} remove-controller --controller-id {node} --controller-directory-id {directory}",
            estimate=Estimate(seconds=_SECONDS, max_loss="none: the voters that follow are a majority without it"),
        )

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.remove_voter(args.number("node"), args.text("directory"))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        there = _has(reader.voters(), args.number("node"), args.text("directory"))
        return ActionStatus.NOT_STARTED if there else ActionStatus.DONE


class VoterAdd(_VoterChange):
    name = "voter.add"
    summary = "add a controller that follows as an observer to the voters of the KRaft quorum"
    frozen: ClassVar[Kinds] = {"by": ArgKind.TEXT, "address": ArgKind.TEXT}
    irreversible = "none in kfix: kafka-metadata-quorum.sh remove-controller makes it an observer again"
    guarded: ClassVar[Mapping[str, Names]] = {"voter_may_be_added": ("node", "by")}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        """The voter that it replaces may still be there: an earlier step of the plan removes it."""
        node, (voters, joining) = args.number("node"), (str(read(key).value) for key in FACTS)
        found = [each for each in parsed_joining(joining) if each.node == node]
        if not found and node in parsed_voters(voters):
            raise NotApplicable(f"controller {node} is a voter")
        if len(found) != 1:
            how = "follows as an observer with several disks" if found else "does not follow as an observer"
            raise RefusedError(f"controller {node} {how}", hint=TO_START)
        return args.with_(by=found[0].directory, address=found[0].address)

    def proves(self, args: Args) -> Checks:
        return (CheckCall("voter_added", Args({"node": args["node"], "directory": args["by"]})),)

    def preview(self, args: Args) -> Preview:
        node, directory = args.number("node"), args.text("by")
        return Preview(
            what=f"add controller {node} with directory id {directory}, at {args.text('address')}, to the voters",
            target=f"controller {node}",
            live=f"controller {node}",
            command=f"{_TOOL} --command-config CONTROLLER.properties add-controller   # on the host of {node}",
            estimate=Estimate(seconds=_SECONDS, max_loss="none: the voters that follow stay a majority if it fails"),
        )

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        wanted = Joining(args.number("node"), args.text("by"), args.text("address"))
        return changer.add_voter(wanted)

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        there = _has(reader.voters(), args.number("node"), args.text("by"))
        return ActionStatus.DONE if there else ActionStatus.NOT_STARTED


def _has(found: QuorumVoters, node: int, directory: str) -> bool:
    voter = found.voter(node)
    return voter is not None and voter.directory == directory
