"""The record that planning may rest on: that of an authority which can carry a plan out."""

from kfix.core.derive.record import record_of
from kfix.core.snapshot.record import ClusterRecord
from kfix.core.snapshot.snapshot import Mode, Snapshot


def record_to_plan_with(snapshot: Snapshot) -> ClusterRecord | None:
    """Returns the record; None if it was not read, or on KRaft no controller is active that listed the moves."""
    record, quorum = record_of(snapshot), snapshot.quorum
    if record is None or record.mode is not Mode.KRAFT:
        return record
    return record if quorum is not None and quorum.read and snapshot.reassignments is not None else None
