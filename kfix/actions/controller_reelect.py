"""Makes the cluster elect a controller again, fenced: only while `/controller_epoch` has not moved.

The new controller loads everything from ZooKeeper and elects for every partition without a leader. That is the whole
cluster's business: all diverged partitions switch to ZooKeeper's truth, and topics with
`unclean.leader.election.enable=true` may elect uncleanly. So every partition of the cluster is looked at right before,
and one that could lose records holds it up (`reelection_is_safe`). Under a migration to KRaft it must never be done.
"""

from __future__ import annotations

from collections.abc import Mapping

from kfix.actions.base import Action, ActionStatus, Inverse, NotApplicable, Preview
from kfix.errors import UnreachableError
from kfix.model.cluster.reading import ChangeResult
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import Fact, ReadFact, about_cluster
from kfix.model.plan.plan import CheckCall, Estimate, Gate, Risk
from kfix.ports import ClusterChanger, ClusterReader

_MAX_LOSS = "none: reelection_is_safe must show right before it that no partition of the cluster loses records by it"


def reads(_args: Args) -> tuple[str, ...]:
    return about_cluster("controller", "controller_epoch", "controller_epoch_version", "migrating")


def writes(_args: Args) -> tuple[str, ...]:
    return about_cluster("controller", "controller_epoch", "controller_epoch_version")


def freeze(args: Args, read: ReadFact) -> Args:
    controller, epoch, version, migrating = (read(key).value for key in reads(args))
    if migrating:
        raise NotApplicable("a migration to KRaft is under way: /controller must not be touched")
    if not isinstance(controller, int) or not isinstance(epoch, int) or not isinstance(version, int):
        raise NotApplicable("there is no controller to replace; an election is already open")
    return args.with_(controller=controller, epoch=epoch, epoch_version=version)


def preview(args: Args) -> Preview:
    controller, version = args.number("controller"), args.number("epoch_version")
    return Preview(
        what=f"make the cluster elect a controller again (now broker {controller}, epoch {args.number('epoch')})",
        target="controller",
        live=f"broker {controller}",
        command=(
            "zookeeper-shell.sh HOST:PORT get -s /controller_epoch   # go on only if dataVersion is "
            f"{version}\nzookeeper-shell.sh HOST:PORT delete /controller"
        ),
        estimate=Estimate(partitions=0, replicas_moved=0, bytes=0, seconds=5.0, max_loss=_MAX_LOSS),
    )


def inverse(_args: Args) -> Inverse:
    return Inverse(False, "none: the new controller stays; any live broker can be it")


def apply(args: Args, changer: ClusterChanger) -> ChangeResult:
    return changer.reelect_controller(epoch_version=args.number("epoch_version"))


def probe(args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
    try:
        node = reader.controller()
    except UnreachableError:
        return ActionStatus.UNKNOWN
    if node.epoch_version != args.number("epoch_version"):
        return ActionStatus.DONE
    if node.broker is None:
        # The node is gone and nobody has been elected yet.
        return ActionStatus.IN_PROGRESS
    return ActionStatus.NOT_STARTED if node.broker == args.number("controller") else ActionStatus.UNKNOWN


def guards(_args: Args) -> tuple[CheckCall, ...]:
    return (CheckCall("reelection_is_safe"),)


def proves(args: Args) -> tuple[CheckCall, ...]:
    return (CheckCall("controller_reelected", Args({"after": args.number("epoch")})),)


ACTION = Action(
    name="controller.reelect",
    summary="fenced re-election of the controller; touches the whole cluster; refused during a migration",
    risk=Risk.WHOLE_CLUSTER,
    gate_floor=Gate.STEP,
    params={},
    frozen={"controller": ArgKind.INT, "epoch": ArgKind.INT, "epoch_version": ArgKind.INT},
    reads=reads,
    writes=writes,
    freeze=freeze,
    preview=preview,
    inverse=inverse,
    apply=apply,
    probe=probe,
    guards=guards,
    proves=proves,
)
