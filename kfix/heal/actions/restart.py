"""Restarts or upgrades one node at a time: by the site's own command or, if the inventory names none, by a person."""

import shlex
from collections.abc import Mapping
from typing import ClassVar, Final, NoReturn

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.site_command import command_words, is_running
from kfix.core.snapshot.reading import ChangeResult, NodeRole
from kfix.heal.actions.base import ESTIMATE, Action, ActionStatus, Checks, Idle, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about_cluster
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.rolling import OF_NODE, mark_of, role_of, with_mark

_SECONDS: Final = 60.0


class _OfNode(Action):
    """`others` are the brokers that stay up; `active` is whether the node is the active controller when it is planned.

    The active controller is restarted last: another one that takes over before that makes the plan stale.
    """

    risk = Risk.ONE_BROKER
    gate_floor = Gate.STEP
    forwarded = False
    params: ClassVar[Kinds] = {"role": ArgKind.TEXT, "node": ArgKind.BROKER, "others": ArgKind.BROKERS}
    optional: ClassVar[Kinds] = {"since": ArgKind.INT, "epoch": ArgKind.INT}
    frozen: ClassVar[Kinds] = {"active": ArgKind.BOOL, "command": ArgKind.TEXT}
    #: Whether the site's command carries it out.
    by_command: ClassVar[bool]
    #: What is done to the node; the field of the inventory that has the command begins with it, too.
    verb: ClassVar[str] = "restart"

    @property
    def field(self) -> str:
        return f"{self.verb}_command"

    def reads(self, _args: Args) -> Names:
        return about_cluster("controller", self.field)

    def writes(self, args: Args) -> Names:
        return about_cluster("controller") if args.flag("active") else ()

    def freeze(self, args: Args, read: ReadFact) -> Args:
        controller, template = (read(key).value for key in self.reads(args))
        if bool(template) is not self.by_command:
            none = f"names no {self.field}, or is not trusted: a person {self.verb}s each node"
            raise NotApplicable(f"the inventory {f'names the {self.field}' if template else none}")
        if template:
            try:
                _words(args.with_(command=str(template)))
            except ValueError as error:
                raise RefusedError(f"{self.field} of the inventory: {error}") from error
        return with_mark(args, read).with_(active=controller == args.number("node"), command=str(template or ""))

    def guards(self, args: Args) -> Checks:
        return (*self.hopeless(args), CheckCall("restart_is_safe", args.only("role", "node")))

    def proves(self, args: Args) -> Checks:
        return (
            CheckCall("node_started_since", args.only(*OF_NODE, "since", "epoch")),
            *self.shows(args),
            CheckCall("cluster_whole", Args({})),
        )

    def shows(self, args: Args) -> Checks:
        return (CheckCall("node_runs", args.only(*OF_NODE, "version")),) if "version" in args else ()

    def hopeless(self, args: Args) -> Checks:
        checks = [CheckCall("no_foreign_reassignment", Args({"partitions": ""}))]
        if others := args.brokers("others"):
            checks.append(CheckCall("brokers_registered", Args({"brokers": others})))
        return tuple(checks)


def _named(args: Args) -> str:
    return f"{args.text('role')} {args.number('node')}"


def _to(args: Args) -> str:
    return f" to {args.text('version')}" if "version" in args else ""


def _words(args: Args) -> list[str]:
    version = args.text("version") if "version" in args else ""
    return command_words(args.text("command"), args.text("role"), args.number("node"), version)


class NodeRestart(_OfNode):
    name = "node.restart"
    summary = "restart one broker or controller by the command of the inventory; wait until the cluster is whole"
    by_command = True
    outlives = True
    irreversible = "none needed: a restart changes no setting and no replica"

    def preview(self, args: Args) -> Preview:
        named = _named(args)
        words = shlex.join(_words(args))
        last = ", the active controller" if args.flag("active") else ""
        return Preview(
            what=f"{self.verb} {named}{last}: {words}",
            target=named,
            live=f"{self.verb} {args.number('node')}",
            command=words,
            estimate=Estimate(seconds=_SECONDS, max_loss="none: other in-sync replicas lead meanwhile"),
        )

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.restart_node(role_of(args), args.number("node"), args.text("command"))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """A node that has registered since was restarted. One that is not registered is on its way, and one whose
        command still runs on this host may be soon.
        """
        role, node = role_of(args), args.number("node")
        if (role, node) in reader.starts_since(mark_of(args)):
            return ActionStatus.DONE
        gone = role is NodeRole.BROKER and node not in reader.registered_brokers()
        runs = gone or is_running(_words(args))
        return ActionStatus.IN_PROGRESS if runs else ActionStatus.NOT_STARTED


class ManualRestart(_OfNode, Idle):
    name = "manual.restart"
    summary = "ask a person to restart one broker or controller; wait until it has started, and the cluster is whole"
    risk = Risk.NOTHING
    by_command = False
    irreversible = Idle.irreversible

    def preview(self, args: Args) -> Preview:
        last = ", the active controller" if args.flag("active") else ""
        what = f"{self.verb} {_named(args)}{last}{_to(args)}, and no other node"
        return Preview(what=what, target=_named(args), live="done", command=f"# {what}", estimate=ESTIMATE)

    def apply(self, args: Args, changer: ClusterChanger) -> NoReturn:
        Idle.apply(self, args, changer)

    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        return Idle.status(self, args, before, reader)


class NodeUpgrade(NodeRestart):
    name = "node.upgrade"
    summary = "bring one broker or controller to a version by the command of the inventory; wait until it runs it"
    params: ClassVar[Kinds] = {**NodeRestart.params, "version": ArgKind.TEXT}
    verb = "upgrade"
    irreversible = "none by kfix: the old version can be started again until the features are upgraded"

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.restart_node(role_of(args), args.number("node"), args.text("command"), args.text("version"))


class ManualUpgrade(ManualRestart):
    name = "manual.upgrade"
    summary = "ask a person to bring one broker or controller to a version; wait until it runs it"
    params: ClassVar[Kinds] = {**ManualRestart.params, "version": ArgKind.TEXT}
    verb = "upgrade"
