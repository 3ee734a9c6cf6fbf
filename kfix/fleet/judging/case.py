"""Judges a stored cluster: it is opened as the case file that the checks of a live diagnosis judge."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kfix.core.criteria import CRITERIA, Criteria
from kfix.core.cyclic import without_collector
from kfix.core.derive.background import background_of
from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.errors import UsageError
from kfix.core.saved.files import decode
from kfix.core.snapshot.snapshot import Snapshot
from kfix.fleet.judging.partitions import StoredPartitions
from kfix.fleet.store.columns import Columns
from kfix.fleet.store.mappings import StoredMapping, assignment_in, state_in, view_in
from kfix.fleet.store.places import place_of
from kfix.fleet.store.rows import with_partitions
from kfix.fleet.store.runs import StoredCluster, read_stored_document
from kfix_diagnostics.engine import diagnose, examine_case

#: How an audit judges a cluster.
_AS_AUDITED: Final = Criteria(prevention=True)


def judge_stored(stored: StoredCluster, criteria: Criteria = _AS_AUDITED) -> Diagnosis:
    """Returns the diagnosis of one cluster of a run (`Run.stored`), word for word that of its snapshot.

    Raises as `open_stored`.
    """
    return open_and_judge(stored, criteria)[0]


def open_and_judge(stored: StoredCluster, criteria: Criteria) -> tuple[Diagnosis, Snapshot]:
    """Returns the diagnosis, as `judge_stored` does, and the snapshot, which reads its partitions on demand."""
    with without_collector():
        case = open_stored(stored, criteria)
        return diagnose(examine_case(case)), case.snapshot


def open_stored(stored: StoredCluster, criteria: Criteria = CRITERIA) -> CaseFile:
    """Opens one cluster of a run.

    The case file answers as that of the original snapshot and reads partitions on demand. Raises UsageError and
    UnreachableError, which name the file, if a file is damaged, missing or cannot be read.
    """
    document = read_stored_document(stored)
    columns = Columns(place_of(stored.partitions), (), stored.groups)
    if document.get("partitions") != columns.rows:
        raise UsageError(
            f"{stored.partitions}: has {columns.rows} rows of {stored.name}, but the cluster's document states "
            f"{document.get('partitions')}: they are from different snapshots",
            hint="collect the cluster again",
        )
    try:
        return _opened(columns, document, criteria)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise UsageError(
            f"{stored.document}: {stored.name}: is damaged: {type(error).__name__} at {error}",
            hint="collect the cluster again",
        ) from None


def _opened(columns: Columns, document: Mapping[str, Any], criteria: Criteria) -> CaseFile:
    partitions = StoredPartitions(columns, document, criteria.expected)
    raw = partitions.raw
    # Written and read once more: only as JSON are a list and a row of a table the same.
    bare = decode(json.dumps(document["snapshot"]), str(document["origin"]))
    snapshot = with_partitions(
        bare,
        {
            int(b): StoredMapping(raw, lambda row, b=int(b): view_in(b, row), n)  # type: ignore[misc]
            for b, n in document["known_to"].items()
        },
        StoredMapping(raw, assignment_in, document["assignments"]),
        StoredMapping(raw, state_in, document["states"]),
    )
    assigned = frozenset(document["assigned"])
    background = background_of(bare)
    background = replace(
        background,
        assigned=assigned,
        lost={int(b): (heir, same) for b, (heir, same) in document["lost"].items()},
        n_brokers=len(assigned | (background.live or frozenset())),
    )
    return CaseFile(snapshot, partitions, background, criteria)
