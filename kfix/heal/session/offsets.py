"""Compares saved offsets with a cluster as it is, to find which of them a plan commits again."""

from kfix.core.args import Args
from kfix.core.derive.restoring import Restoration, RestoreRules, Restoring, restorations
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.offsets import GroupOffsets, SavedOffsets
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from kfix.core.wording import several, some
from kfix.heal.probes.groups import leader_log

_SHOWN = 3


def rules_of(params: Args) -> RestoreRules:
    """Returns the rules that the parameters of restore-offsets set."""
    named = str(params.get("group", ""))
    return RestoreRules(bool(params.get("back")), bool(params.get("outside")), frozenset({named} - {""}))


def compared(saved: SavedOffsets, reader: ClusterReader, rules: RestoreRules) -> tuple[Restoration, ...]:
    """Returns one row per saved offset.

    Raises RefusedError if the file is of another cluster, UsageError if it lacks the group, UnreachableError if a
    coordinator does not answer.
    """
    here = reader.identity()
    if not saved.cluster:
        raise RefusedError("the offsets name no cluster, so nothing shows that they are of this one")
    if here.id and saved.cluster != here.id:
        raise RefusedError(f"the offsets were saved on cluster {saved.cluster}; this one is {here.id}")
    groups = [group for group in saved.groups if not rules.groups or group.name in rules.groups]
    if rules.groups and not groups:
        raise UsageError(f"the file has no group {', '.join(sorted(rules.groups))}")
    logs = _logs(reader, {tp for group in groups for tp in group.offsets})
    now: dict[str, GroupOffsets] = {}
    for group in groups:
        now[group.name] = reader.group(group.name, tuple(sorted(group.offsets)))
    return restorations(saved, now, logs, rules)


def _logs(reader: ClusterReader, tps: set[TopicPartition]) -> dict[TopicPartition, LogEnd | None]:
    found: dict[TopicPartition, LogEnd | None] = {}
    counts = {topic: reader.partition_count(topic) or 0 for topic in sorted({tp.topic for tp in tps})}
    for tp in sorted(tps):
        if tp.partition < counts[tp.topic]:
            try:
                found[tp] = leader_log(tp, reader)
            except UnreachableError:
                found[tp] = None
    return found


def gaps(saved: SavedOffsets) -> tuple[str, ...]:
    """Returns sentences if the file says that it does not hold every offset of its partitions."""
    missing = [f"__consumer_offsets-{source.partition}: {m}" for source in saved.sources for m in source.missing]
    lacking = [*saved.not_saved, *missing]
    found = (f"the file is incomplete, newer offsets may exist: {some(lacking, _SHOWN)}",) if lacking else ()
    pending = sorted({group for source in saved.sources for group in source.pending})
    if not pending:
        return found
    groups = f"group{'' if len(pending) == 1 else 's'} {some(pending, _SHOWN)}"
    open_then = f"the newest offsets of {groups} were in an open transaction when the file was saved and are not in it"
    return (*found, open_then)


def left_out(rows: tuple[Restoration, ...]) -> tuple[str, ...]:
    """Returns a sentence for each reason why saved offsets are not committed, with the first of them."""
    found: dict[Restoring, list[str]] = {}
    for row in rows:
        if not row.commits and row.verdict is not Restoring.SAME:
            now = "none" if row.now is None else str(row.now.offset)
            note = f", {row.note}" if row.note else ""
            text = f"group {row.group} {row.tp} (saved {row.saved.offset}, committed {now}{note})"
            found.setdefault(row.verdict, []).append(text)
    return tuple(f"{several(len(each), 'saved offset')} {why}: {some(each, _SHOWN)}" for why, each in found.items())
