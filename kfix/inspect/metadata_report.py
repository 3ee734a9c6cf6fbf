"""The copies of a metadata log as text, and as JSON, `kfix.metadata-log/v1`."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.disk.model import Epoch, Oddity
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.core.metadata.copies import LastElection, MetadataCopy, MetadataLogs, MetadataVoter, Missing
from kfix.core.wording import several, some
from kfix.front.lines import Line

_STEP: Final = 2
_ODD_SHOWN: Final = 20
_STYLES: Final = {HEALTHY: "bold green", WARNINGS: "bold yellow", CRITICAL: "bold red", CANNOT_TELL: "bold yellow"}


class MissingJson(Missing):
    """What a copy lacks against the longest one: offsets from `start` to before `end`."""

    records: Annotated[int, "offsets between the two"]


class MetadataCopyJson:
    """A copy of __cluster_metadata."""

    node: Annotated[int | None, "id in meta.properties; null where it is missing"]
    folder: str
    directory_id: Annotated[str, '"" before Kafka 3.7']
    clean: Annotated[bool, "shut down cleanly, and not started since"]
    log_start: int
    log_end: Annotated[int, "the offset after the last complete batch"]
    epochs: Annotated[tuple[Epoch, ...], "of the batches"]
    snapshot: Annotated[tuple[int, ...] | None, "end offset and epoch of the newest checkpoint; null: none"]
    voters: Annotated[tuple[MetadataVoter, ...], "by this copy"]
    state: Annotated[LastElection | None, "of quorum-state; null: none"]
    missing: MissingJson
    own: Annotated[int, "offsets that the longest copy does not have: the logs have diverged"]


class MetadataLogsJson:
    """Copies of a KRaft cluster's metadata log: kfix inspect metadata-log --json"""

    schema: Literal["kfix.metadata-log/v1"]
    cluster: Annotated[str, 'id in meta.properties, "" where it is missing']
    exit_code: Annotated[Literal[0, 20, 21, 22], "exit code of the command"]
    newest_epoch: Annotated[int, "that any of these nodes has seen"]
    copies: Annotated[tuple[MetadataCopyJson, ...], "the longest first"]
    oddities: Annotated[tuple[Oddity, ...], "remarks about files"]


def metadata_json(found: MetadataLogs) -> str:
    document = written(MetadataLogsJson, found, copies=[_copy_json(each) for each in found.copies])
    return for_json(document, indent=2)


def _copy_json(one: MetadataCopy) -> dict[str, object]:
    replica = one.replica
    return written(
        MetadataCopyJson,
        one,
        folder=replica.folder,
        log_start=replica.log_start,
        log_end=replica.log_end,
        epochs=replica.epochs,
        missing=written(MissingJson, one.missing, records=one.missing.offsets),
    )


def metadata_lines(found: MetadataLogs) -> Iterator[Line]:
    """Returns the verdict, and what each copy has, lacks and remembers, the longest first."""
    behind = sum(1 for each in found.copies if each.missing.offsets and not each.own)
    apart = sum(1 for each in found.copies if each.own)
    counts = [f"{number} {word}" for number, word in ((apart, "divergent"), (behind, "behind")) if number]
    copies = several(len(found.copies), "copy of", "copies of")
    what = f"{copies} __cluster_metadata: {', '.join(counts) or 'no difference'}"
    yield Line(f"cluster {found.cluster or 'unknown'}, {what}", style=_STYLES[found.exit_code], hang=_STEP)
    best = found.best
    yield Line(
        f"longest: {_name(best)}, epoch {best.replica.last_epoch}, log end {best.replica.log_end}; "
        f"newest epoch that any node has seen: {found.newest_epoch}",
        hang=_STEP,
    )
    for each in found.copies:
        yield Line("")
        yield from _copy(each)
    if found.oddities:
        yield Line("")
        yield Line("remarks about files:", style="bold")
    for odd in found.oddities[:_ODD_SHOWN]:
        yield Line(f"{odd.file}{'' if odd.at is None else f', byte {odd.at}'}: {odd.what}", _STEP, hang=_STEP)
    if len(found.oddities) > _ODD_SHOWN:
        yield Line(f"and {len(found.oddities) - _ODD_SHOWN} more (all with --json)", _STEP)


def _name(one: MetadataCopy) -> str:
    return f"{'an unknown node' if one.node is None else f'node {one.node}'} ({one.replica.folder})"


def _copy(one: MetadataCopy) -> Iterator[Line]:
    replica = one.replica
    checkpoint = "no checkpoint" if one.snapshot is None else f"checkpoint {one.snapshot[0]} of epoch {one.snapshot[1]}"
    state = "shut down cleanly" if one.clean else "running, or not shut down cleanly"
    yield Line(_name(one), style="bold", hang=_STEP)
    yield Line(
        f"offsets {replica.log_start} to {replica.log_end}, epoch {replica.last_epoch}, {checkpoint}, {state}",
        _STEP,
        hang=_STEP,
    )
    yield Line(_lacks(one), _STEP, style="bold red" if one.own else "", hang=_STEP)
    if one.voters:
        voters = ", ".join(f"{each.node}{f' ({each.directory})' if each.directory else ''}" for each in one.voters)
        mine = f"; its own directory id: {one.directory_id}" if one.directory_id else ""
        yield Line(f"voters: {voters}{mine}", _STEP, hang=_STEP)
    if one.state is not None:
        voted = f", voted for {one.state.voted}" if one.state.voted >= 0 else ""
        leader = f"leader {one.state.leader}" if one.state.leader >= 0 else "no leader"
        yield Line(f"last election: epoch {one.state.epoch}, {leader}{voted}", _STEP, hang=_STEP)


def _lacks(one: MetadataCopy) -> str:
    missing = one.missing
    if not missing.offsets and not one.own:
        return "lacks nothing"
    parts = [f"topics created: {some(missing.created)}"] if missing.created else []
    parts += [f"topics deleted: {some(missing.deleted)}"] if missing.deleted else []
    parts += [several(missing.others, "other change")] if missing.others else []
    parts += [] if missing.complete else ["and what could not be read"]
    what = f": {'; '.join(parts)}" if parts else ""
    lacks = f"lacks {several(missing.offsets, 'record')} from offset {missing.start} on{what}"
    if not one.own:
        return lacks
    return f"has diverged at offset {missing.start}: {several(one.own, 'record')} of its own; {lacks}"
