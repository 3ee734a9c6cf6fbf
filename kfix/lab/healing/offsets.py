"""Undoes what incidents leave in the log of the offsets topic, which no restored setting or leader removes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:
    from kfix.lab.clients.access import LabClient

#: The producer of the incidents open-transaction and pending-offsets.
TRANSACTIONAL_ID = "ledger-writer"
_SECONDS = 20.0


def end_transaction(access: LabClient) -> str:
    """Aborts the open transaction: whoever takes over its transactional id ends it."""
    access.take_over(TRANSACTIONAL_ID)
    return f"ended the transaction of {TRANSACTIONAL_ID}"


def end_rebalance(access: LabClient) -> str:
    """Deletes the groups with the offsets topic, and what was set for one of the consumer protocol."""
    access.reset_members()
    return delete_offsets(access)


def delete_offsets(access: LabClient) -> str:
    """Deletes the offsets topic; `mend` creates it again. Brokers refuse to delete records of an internal topic."""
    access.delete_topic(OFFSETS_TOPIC)
    wait_for(f"{OFFSETS_TOPIC} is deleted", lambda: OFFSETS_TOPIC not in access.topics(), _SECONDS)
    return f"deleted {OFFSETS_TOPIC}"
