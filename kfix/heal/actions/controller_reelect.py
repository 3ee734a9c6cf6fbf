"""Makes the cluster elect a new controller, fenced: only while the version of `/controller_epoch` is the planned one.

The new controller loads everything from ZooKeeper and elects a leader for every partition that has none. That concerns
the whole cluster: all diverged partitions switch to ZooKeeper's state, and topics with
`unclean.leader.election.enable=true` may elect uncleanly. So every partition of the cluster is read right before, and
one that could lose records blocks it (`reelection_is_safe`). During a migration to KRaft it must never be done.
"""

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.base import Action, ActionStatus, Checks, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about_cluster
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk

_MAX_LOSS = "none: a check right before must show that no partition of the cluster would lose records"


class ControllerReelect(Action):
    name = "controller.reelect"
    summary = "fenced re-election of the controller; affects the whole cluster; refused during a migration"
    risk = Risk.WHOLE_CLUSTER
    gate_floor = Gate.STEP
    frozen: ClassVar[Kinds] = {
        "controller": ArgKind.INT,
        "epoch": ArgKind.INT,
        "epoch_version": ArgKind.INT,
    }
    irreversible = "none: the new controller stays; any live broker can be the controller"
    guarded: ClassVar[Mapping[str, Names]] = {"reelection_is_safe": ()}

    def reads(self, _args: Args) -> Names:
        return about_cluster("controller", "controller_epoch", "controller_epoch_version", "migrating")

    def writes(self, _args: Args) -> Names:
        return about_cluster("controller", "controller_epoch", "controller_epoch_version")

    def freeze(self, args: Args, read: ReadFact) -> Args:
        controller, epoch, version, migrating = (read(key).value for key in self.reads(args))
        if migrating:
            raise NotApplicable("a migration to KRaft is under way: /controller must not be touched")
        if not isinstance(controller, int) or not isinstance(epoch, int) or not isinstance(version, int):
            raise NotApplicable("there is no controller to replace; an election is already open")
        return args.with_(controller=controller, epoch=epoch, epoch_version=version)

    def preview(self, args: Args) -> Preview:
        controller, version = args.number("controller"), args.number("epoch_version")
        return Preview(
            what=f"make the cluster elect a new controller (now broker {controller}, epoch {args.number('epoch')})",
            target="controller",
            live=f"broker {controller}",
            command=(
                "zookeeper-shell.sh HOST:PORT get -s /controller_epoch   # continue only if dataVersion is "
                f"{version}\nzookeeper-shell.sh HOST:PORT delete /controller"
            ),
            estimate=Estimate(seconds=5.0, max_loss=_MAX_LOSS),
        )

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.reelect_controller(epoch_version=args.number("epoch_version"))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        node = reader.controller()
        if node.epoch_version != args.number("epoch_version"):
            return ActionStatus.DONE
        if node.broker is None:
            # The node is deleted and no controller has been elected yet.
            return ActionStatus.IN_PROGRESS
        return ActionStatus.NOT_STARTED if node.broker == args.number("controller") else ActionStatus.UNKNOWN

    def proves(self, args: Args) -> Checks:
        return (CheckCall("controller_reelected", Args({"after": args.number("epoch")})),)
