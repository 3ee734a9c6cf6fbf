"""The rungs of the group's position: committed offsets within the log, last stable offset, lag, and rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kfix.core.diagnosis.finding import Rung
from kfix.core.snapshot.group_reading import SHARE_GROUP, GroupPartition, GroupReading, advanced
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import ago, several, some
from kfix_diagnostics._transactions import holder
from kfix_diagnostics.ladder.asked import Asked, clear, fails, in_doubt, refused, unread

_OFFSETS = ("group offsets", "group coordinator", "coordinator")
_LOGS = ("group logs", *_OFFSETS)
#: A group that reads, too slowly.
FALLS_BEHIND = "KFX123"
_AUTHORIZER = "authorizer.class.name"


def position(asked: Asked) -> Rung:
    name, known = "position", _known(asked)
    found = asked.of_group("KFX113")
    if found is not None:
        return fails(name, found)
    if asked.latest is None or asked.latest.partitions is None:
        return unread(name, asked.why_unread(*_OFFSETS))
    committed = [tp for tp, each in asked.latest.partitions.items() if each.committed >= 0]
    if _shared(asked):
        return _start_offsets(committed)
    if not committed:
        return clear(name, "no committed offset: auto.offset.reset decides where a consumer starts")
    within = [tp for tp in committed if tp in known]
    if not within:
        return unread(name, f"the log ends of {some(list(map(str, committed)))} were not read")
    but = f"; {several(len(committed) - len(within), 'log')} not read" if len(within) < len(committed) else ""
    return clear(name, f"{several(len(within), 'committed offset')} within the log{but}")


def _shared(asked: Asked) -> bool:
    return asked.latest is not None and asked.latest.group_type == SHARE_GROUP


def _start_offsets(committed: Sequence[TopicPartition]) -> Rung:
    """Returns the rung of a share group, which commits no offset: brokers move its start offsets into the log."""
    said = "no share-partition start offset: share.auto.offset.reset decides where its consumers start"
    return clear("position", several(len(committed), "share-partition start offset") if committed else said)


def last_stable_offset(asked: Asked) -> Rung:
    name, known = "last stable offset", _known(asked)
    found = asked.of_group("KFX116") or asked.of_group("KFX122")
    if found is not None:
        return fails(name, found)
    if not known:
        return unread(name, asked.why_unread(*_LOGS) if asked.latest is None else "no log end was read")
    held = {tp: each for tp, each in known.items() if each.stable < each.end}
    if not held:
        return clear(name, f"the last stable offset of {several(len(known), 'partition')} is the high watermark")
    if _shared(asked):
        said = f"{some(list(map(str, held)))}: a transaction is open; a share group with read_committed waits for it"
        return in_doubt(name, said)
    tp, each = next(iter(held.items()))
    said = f"{tp} has the last stable offset {each.stable}, below the high watermark {each.end}"
    before = _before(asked)
    if before is None:
        return in_doubt(name, f"{said}: a transaction is open; one snapshot does not show whether it ends")
    return _standing(asked, said, {tp: e for tp, e in held.items() if tp in before and before[tp].stable == e.stable})


def _standing(asked: Asked, said: str, still: Mapping[TopicPartition, GroupPartition]) -> Rung:
    """Returns the rung where no finding has judged these last stable offsets, which stood still."""
    name = "last stable offset"
    if not still:
        return clear(name, f"{said}, and it advances")
    waits = {tp: each for tp, each in still.items() if each.committed <= each.stable}
    if not waits:
        why = "it reads uncommitted records, or an unclean election has moved the offset back and its consumers wait"
        return in_doubt(name, f"{said}, and the group has committed offsets above it: {why}; no answer shows which")
    tp, each = next(iter(waits.items()))
    return in_doubt(
        name,
        f"{tp} has had the last stable offset {each.stable} for {ago(asked.seconds)}, below the high watermark "
        f"{each.end}: {_holder(asked, tp)}",
    )


def _holder(asked: Asked, tp: TopicPartition) -> str:
    batch = asked.latest.held.get(tp) if asked.latest is not None else None
    if batch is None or batch.error:
        why = f" ({batch.error})" if batch is not None else ""
        return f"an open transaction holds it{why}"
    found = holder(asked.case, batch.producer, batch.epoch, batch.since_ms)
    return f"the transaction of {found.called} holds it, has been open for {found.age}, and may be an ordinary one"


def lag(asked: Asked) -> Rung:
    name, reading = "lag", asked.latest
    if reading is None or reading.partitions is None or reading.lag is None:
        unknown = reading is not None and reading.partitions is not None
        return unread(name, "no committed offset whose log end was read" if unknown else asked.why_unread(*_OFFSETS))
    found = asked.of_group(FALLS_BEHIND)
    if found is not None:
        return replace(fails(name, found), next_steps=found.remedies)
    if reading.lag == 0:
        return clear(name, f"no record waits in {several(len(_known(asked)), 'partition')} whose log was read")
    return _lag(asked, reading, reading.lag)


def _lag(asked: Asked, reading: GroupReading, records: int) -> Rung:
    """Returns the rung of a group that lags and does not fall behind, as far as that was read."""
    mark = "start offset" if _shared(asked) else "committed offset"
    said = f"{several(records, 'record')} behind the {mark}s"
    if reading.members == ():
        return clear("lag", f"{said}, and no member reads them")
    before = asked.earlier or asked.remembered
    if before is None or before.partitions is None:
        return in_doubt("lag", f"{said}; one snapshot does not show whether a member reads them")
    moved, lasted = advanced(before, reading), ago(reading.taken_at - before.taken_at)
    if not moved:
        return in_doubt("lag", f"{said}, and no {mark} advanced in {lasted}: check what the members do")
    return clear("lag", f"{said}; {mark}s advanced by {moved} in {lasted}")


def rights(asked: Asked) -> Rung:
    name, case, probe = "rights", asked.case, asked.probe
    errors = [each.commit_error for each in (asked.latest.partitions or {}).values()] if asked.latest else []
    codes = [*((probe.find_error, probe.fetch_error) if probe is not None else ()), *errors]
    lacking = refused(codes)
    if lacking:
        return unread(name, f"kfix's own user was refused ({lacking}); ask with the consumer's properties file")
    found = case.settings(_AUTHORIZER)
    if found and found.keys() == case.views.keys() and not any(found.values()):
        return clear(name, f"no broker has an {_AUTHORIZER}")
    return unread(name, "only the consumer's own user shows them: repeat this with its file as --command-config")


def _known(asked: Asked) -> dict[TopicPartition, GroupPartition]:
    """Returns the partitions whose log was read."""
    return {tp: e for tp, e in ((asked.latest and asked.latest.partitions) or {}).items() if not e.log_error}


def _before(asked: Asked) -> dict[TopicPartition, GroupPartition] | None:
    earlier = asked.earlier
    return None if earlier is None or earlier.partitions is None else dict(earlier.partitions)
