"""Writes the log directory of the only voter of a KRaft quorum that has lost its majority for good.

It copies the longest metadata log that could be read, and puts a fence behind it (`core.derive.seed`). Nothing that
exists is changed; a person starts the controller with it.
"""

import re
from collections.abc import Mapping
from typing import ClassVar, Final

from kfix.core.args import ArgKind, Args
from kfix.core.derive.seed import fence_of, seed_of
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult
from kfix.core.snapshot.recovery import MISSING, is_written, parsed_copies, parsed_offsets
from kfix.core.wording import several
from kfix.heal.actions.base import Action, ActionStatus, Checks, Kinds, Names, Preview
from kfix.heal.model.facts import Fact, ReadFact, about_cluster, about_copies
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk
from kfix.heal.probes.quorum import NEW_LOG, new_log

_SECONDS: Final = 5.0
_NODES: Final = re.compile(r"(\d{1,10}(,\d{1,10})*)?")


class MetadataLogWrite(Action):
    name = "metadata_log.write"
    summary = "write the log directory with which one controller becomes the only voter; changes no file that exists"
    risk = Risk.WHOLE_CLUSTER
    gate_floor = Gate.TYPED
    forwarded = False
    params: ClassVar[Kinds] = {
        "copies": ArgKind.TEXT,
        "into": ArgKind.TEXT,
        "node": ArgKind.BROKER,
        "lost": ArgKind.TEXT,
        "unread": ArgKind.TEXT,
    }
    frozen: ClassVar[Kinds] = {
        "seed": ArgKind.TEXT,
        "from_node": ArgKind.INT,
        "epoch": ArgKind.INT,
        "end": ArgKind.INT,
        "fence": ArgKind.INT,
        "applied": ArgKind.INT,
    }
    irreversible = "none: until a controller has started with the folder, delete it; after that, nothing goes back"

    def reads(self, args: Args) -> Names:
        return (about_copies(args.text("copies")), *about_cluster("applied"))

    def writes(self, _args: Args) -> Names:
        return ()

    def freeze(self, args: Args, read: ReadFact) -> Args:
        folders = (*args.text("copies").split(","), args.text("into"))
        for each in folders:
            if not each.startswith("/"):
                raise RefusedError(f"{each!r} is not an absolute path of a log directory")
        copies, offsets = (str(read(key).value) for key in self.reads(args))
        found, applied = parsed_copies(copies), parsed_offsets(offsets)
        seed = seed_of(found, applied, args.number("node"), _nodes(args, "lost"), _nodes(args, "unread"))
        return args.with_(
            seed=seed.folder,
            from_node=seed.node,
            epoch=seed.epoch,
            end=seed.end,
            fence=fence_of(found),
            applied=max(applied.values()),
        )

    def preview(self, args: Args) -> Preview:
        wanted, source = new_log(args), args.number("from_node")
        return Preview(
            what=f"write {wanted.into}, the log directory of controller {wanted.node} as the only voter: the copy of "
            f"node {source}, {wanted.folder}, up to offset {wanted.end}, then epoch {wanted.fence}",
            target="__cluster_metadata",
            live=f"controller {wanted.node}",
            command=f"# by hand: docs/facts/kraft.md. The evidence: kfix inspect metadata-log "
            f"{' '.join(args.text('copies').split(','))}",
            estimate=Estimate(seconds=_SECONDS, max_loss=_loss(args)),
        )

    def guards(self, _args: Args) -> Checks:
        return (CheckCall("no_active_controller", Args({})),)

    def proves(self, args: Args) -> Checks:
        return (CheckCall("metadata_log_written", args.only(*NEW_LOG)),)

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.write_metadata_log(new_log(args))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """The folder gets its name when it is complete."""
        wanted = new_log(args)
        [found] = reader.metadata_copies((wanted.into,))
        if found.unread == MISSING:
            return ActionStatus.NOT_STARTED
        return ActionStatus.DONE if is_written(found, wanted) else ActionStatus.UNKNOWN


def _nodes(args: Args, name: str) -> tuple[int, ...]:
    text = args.text(name)
    if not _NODES.fullmatch(text):
        raise RefusedError(f"{name}={text!r} is not a list of node ids such as 1,2")
    return tuple(int(each) for each in text.split(",") if each)


def _loss(args: Args) -> str:
    end, applied = args.number("end"), args.number("applied")
    unread = f" and the nodes {args.text('unread')}, which were not read," if args.text("unread") else ""
    text = f"changes of metadata after offset {end - 1} that only the lost controllers {args.text('lost')}{unread} had"
    if uncommitted := end - 1 - applied:
        text += f"; {several(uncommitted, 'record')} after offset {applied}, which no broker has applied, become valid"
    return text
