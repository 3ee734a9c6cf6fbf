"""Probes about metadata.version: may it be raised, and is it in force at every node."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.args import ArgKind, Args
from kfix.core.derive.versions import line_of_level
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import NodeLevels
from kfix.core.wording import several, some
from kfix.diagnose.upgrading import line_wanted
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about_cluster, count
from kfix.heal.probes.base import probe
from kfix.heal.probes.facts import levels_of


def level_named(level: int) -> str:
    """Returns a level with the line of Kafka that it belongs to, such as `30 (4.3)`."""
    line = line_of_level(level)
    return str(level) if line is None else f"{level} ({line[0]}.{line[1]})"


def _against(version: str, found: Mapping[str, NodeLevels]) -> str:
    """Returns which nodes run another version, or why the text is no version; "" if there is nothing."""
    try:
        line = line_wanted(version)
    except UsageError as error:
        return str(error)
    others = [(node, each.supported) for node, each in found.items() if line_of_level(each.supported) != line]
    return some([f"{node} supports metadata.version {level_named(level)}" for node, level in others])


def _with_level(args: Args, read: ReadFact) -> Args:
    """Adds the highest level that all nodes support. Raises RefusedError if one of them does not answer."""
    [key] = about_cluster("supported_metadata_version")
    try:
        return args if "level" in args else args.with_(level=count(read(key)))
    except UnreachableError as error:
        raise RefusedError(str(error)) from error


@probe(
    "every broker and controller answers, and runs this version",
    {"version": ArgKind.TEXT},
    {"level": ArgKind.INT},
    freeze=_with_level,
)
def every_node_runs(args: Args, reader: ClusterReader) -> Answer:
    """Each registered broker, also a fenced one, and each voter. `level` is the highest that all of them support."""
    found, wanted = levels_of(reader), f"every broker and controller runs {args.text('version')}"
    if against := _against(args.text("version"), found):
        return judge(False, against, wanted)
    common = min(each.supported for each in found.values())
    observed = f"{several(len(found), 'node')}, which support metadata.version {level_named(common)}"
    return judge(common == args.number("level"), observed, wanted)


@probe("every broker and controller reports the metadata.version of this version in force", {"version": ArgKind.TEXT})
def metadata_version_raised(args: Args, reader: ClusterReader) -> Answer:
    """A node that has not applied the change yet reports the old level."""
    found, wanted = levels_of(reader), f"metadata.version of {args.text('version')} in force at every node"
    if against := _against(args.text("version"), found):
        return judge(False, against, wanted)
    old = [f"{node}: {level_named(each.in_force)}" for node, each in found.items() if each.in_force < each.supported]
    return judge(not old, some(old) if old else f"in force at {several(len(found), 'node')}", wanted)
