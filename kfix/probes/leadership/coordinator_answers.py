"""The group coordinator of an offsets partition answers, and the offsets committed there can be read.

Leadership proves neither: a coordinator that still loads its log says 14, a phantom leader 16. Where no group of the
partition is known, one is made up whose name hashes there: asking after it reads nothing and changes nothing, and only
a working coordinator can answer.
"""

from __future__ import annotations

from itertools import count

from kfix.derive.coordinator import partition_of_group
from kfix.errors import RefusedError
from kfix.model.cluster.snapshot import CoordinatorProbe, TopicPartition
from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact, about
from kfix.ports import ClusterReader
from kfix.probes.base import Probe

# No answer, coordinator loading: the question may be answered the next time; nobody knows yet.
_NOT_YET = frozenset({-1, 14, None})


def group_on(partition: int, partitions: int) -> str:
    """A group name that hashes to the partition; on average `partitions` names are tried.

    The number stands early in the name: the hash multiplies by 31, so with a number at the end and a partition count
    that 31 divides (31, 62, 93, ...) some partitions would never be hit.
    """
    if not 0 <= partition < partitions:
        raise ValueError(f"there is no partition {partition} of {partitions}")
    return next(
        name for n in count() if partition_of_group(name := f"kfix-{n}-coordinator-probe", partitions) == partition
    )


def freeze(args: Args, read: ReadFact) -> Args:
    """A group given by the finding is used where it lives on this partition, else one is made up."""
    tp = args.tp()
    (key,) = about(tp, "partition_count")
    partitions = read(key).value
    if not isinstance(partitions, int):
        raise RefusedError(f"{tp.topic} does not exist, so nothing coordinates its groups")
    if not 0 <= tp.partition < partitions:
        raise RefusedError(f"{tp.topic} has {partitions} partitions, so no group can live on {tp}")
    group = str(args.get("group", ""))
    if not group or partition_of_group(group, partitions) != tp.partition:
        group = group_on(tp.partition, partitions)
    return args.with_(group=group)


def ask(args: Args, reader: ClusterReader) -> Answer:
    said = reader.probe_group(args.text("group"))
    wanted = "FindCoordinator and OffsetFetch answer without an error"
    # The topic may have grown since the plan was made: then the answer is about another partition.
    if said.partition != args.tp().partition:
        observed = f"group {said.group} is now on {TopicPartition(args.tp().topic, said.partition)}"
        return judge(None, observed, wanted)
    return judge(_good(said), _words(said), wanted)


def _good(said: CoordinatorProbe) -> bool | None:
    if said.answers:
        return True
    error = said.find_error if said.find_error != 0 else said.fetch_error
    return None if error in _NOT_YET else False


def _words(said: CoordinatorProbe) -> str:
    if said.answers:
        offset = "no offset" if said.committed is None else f"offset {said.committed}"
        return f"group {said.group}: broker {said.coordinator} answers, {offset} read"
    where = "" if said.coordinator is None else f" of broker {said.coordinator}"
    why = f" ({said.error})" if said.error else ""
    return f"group {said.group}: FindCoordinator {said.find_error}, OffsetFetch{where} {said.fetch_error}{why}"


PROBE = Probe(
    name="coordinator_answers",
    summary="FindCoordinator and OffsetFetch answer for a group of the offsets partition",
    params={"partition": ArgKind.PARTITION},
    optional={"group": ArgKind.TEXT},
    freeze=freeze,
    ask=ask,
)
