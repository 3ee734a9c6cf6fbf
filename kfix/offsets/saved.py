"""The saved offsets, for people: the source of each partition, and what is missing."""

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.snapshot.offsets import Rescued, SavedOffsets, SavedSource
from kfix.core.wording import several, some

_SHOWN = 5


def saved_lines(rescued: Rescued) -> list[str]:
    """Returns the summary, one sentence a line."""
    rows = [line for source in rescued.saved.sources for line in _of_source(source, rescued.saved)]
    rows += [f"  tried before: {text}" for text in rescued.tried]
    return rows + [f"not saved: {text}" for text in rescued.saved.not_saved]


def _of_source(source: SavedSource, saved: SavedOffsets) -> list[str]:
    groups = [group for group in saved.groups if group.partition == source.partition]
    count = sum(len(group.offsets) for group in groups)
    read = f"records {source.start} to {source.end - 1}" if source.end > source.start else "the log is empty"
    whole = f"INCOMPLETE: its log ends at {source.log_end}"
    if source.complete or source.end >= source.log_end > source.start:
        whole = "everything that it holds" if source.complete else "INCOMPLETE"
    what = f"{several(count, 'offset')} of {several(len(groups), 'group')}"
    rows = [f"{OFFSETS_TOPIC}-{source.partition}: {what}, read from {source.kind} {source.name}: {read}, {whole}"]
    rows += [f"  not read: {text}" for text in source.missing]
    if source.pending:
        rows.append(
            f"  pending: newer offsets of {some(source.pending, _SHOWN)} belong to a transaction that has not ended; "
            "the offsets before it are saved"
        )
    return rows
