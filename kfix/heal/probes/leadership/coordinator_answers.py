"""The group coordinator of an offsets partition answers, and the offsets committed there can be read.

Leadership proves neither: a coordinator that is still loading its log answers 14 (COORDINATOR_LOAD_IN_PROGRESS), a
phantom leader 16 (NOT_COORDINATOR). Where no group of the partition is known, the probe makes up a group name that
hashes to the partition: a request for it changes nothing, and only a working coordinator can answer it.
"""

from __future__ import annotations

from itertools import count

from kfix.core.args import ArgKind, Args
from kfix.core.derive.coordinator import partition_of_group
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import CoordinatorProbe, TopicPartition
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about
from kfix.heal.probes.base import ON_PARTITION, Probe

# No answer, or the coordinator is loading: the next attempt may succeed, so the answer is still open.
_NOT_YET = frozenset({-1, 14, None})


def group_on(partition: int, partitions: int) -> str:
    """Returns a group name that hashes to the partition; on average `partitions` names are tried.

    The number comes early in the name: the hash multiplies by 31, so a number at the end would never reach some
    partitions where 31 divides the partition count (31, 62, 93, ...).
    """
    if not 0 <= partition < partitions:
        raise ValueError(f"there is no partition {partition} of {partitions}")
    return next(
        name for n in count() if partition_of_group(name := f"kfix-{n}-coordinator-probe", partitions) == partition
    )


def freeze(args: Args, read: ReadFact) -> Args:
    """Uses the group that the finding names where it belongs to this partition, else makes up one."""
    tp = args.tp()
    (key,) = about(tp, "partition_count")
    partitions = read(key).value
    if not isinstance(partitions, int):
        raise RefusedError(f"{tp.topic} does not exist, so it has no groups")
    if not 0 <= tp.partition < partitions:
        raise RefusedError(f"{tp.topic} has {partitions} partitions, so no group can be on {tp}")
    group = str(args.get("group", ""))
    if not group or partition_of_group(group, partitions) != tp.partition:
        group = group_on(tp.partition, partitions)
    return args.with_(group=group)


def _ask(args: Args, reader: ClusterReader) -> Answer:
    found = reader.probe_group(args.text("group"))
    wanted = "FindCoordinator and OffsetFetch answer without an error"
    # The topic may have grown since the plan was made: then the answer is about another partition.
    if found.partition != args.tp().partition:
        observed = f"group {found.group} is now on {TopicPartition(args.tp().topic, found.partition)}"
        return judge(None, observed, wanted)
    return judge(_good(found), _words(found), wanted)


def _good(found: CoordinatorProbe) -> bool | None:
    if found.answers:
        return True
    error = found.find_error if found.find_error != 0 else found.fetch_error
    return None if error in _NOT_YET else False


def _words(found: CoordinatorProbe) -> str:
    if found.answers:
        offset = "no offset" if found.committed is None else f"offset {found.committed}"
        return f"group {found.group}: broker {found.coordinator} answers, {offset} read"
    where = "" if found.coordinator is None else f" of broker {found.coordinator}"
    why = f" ({found.error})" if found.error else ""
    return f"group {found.group}: FindCoordinator {found.find_error}, OffsetFetch{where} {found.fetch_error}{why}"


PROBE = Probe(
    "coordinator_answers",
    "FindCoordinator and OffsetFetch answer for a group of the offsets partition",
    _ask,
    ON_PARTITION,
    {"group": ArgKind.TEXT},
    freeze=freeze,
)
