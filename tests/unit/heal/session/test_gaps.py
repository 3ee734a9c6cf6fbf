"""What a file of saved offsets lacks is a warning of the plan that restores it."""

from kfix.core.snapshot.offsets import SavedOffsets, SavedSource
from kfix.heal.session.offsets import gaps

WHOLE = SavedSource(3, "leader", "broker 2", 0, 9, 9)


def test_a_whole_file_has_no_gaps() -> None:
    assert gaps(SavedOffsets(0, "1", "c", (WHOLE,), ())) == ()


def test_what_was_not_read_and_what_was_in_an_open_transaction_may_be_newer() -> None:
    unread = SavedSource(4, "leader", "broker 2", 0, 5, 9, missing=("4 records left unread",))
    pending = SavedSource(5, "leader", "broker 2", 0, 9, 9, pending=("g2", "pay"))
    incomplete, in_transactions = gaps(SavedOffsets(0, "1", "c", (WHOLE, unread, pending), ()))
    assert "__consumer_offsets-4: 4 records left unread" in incomplete
    assert in_transactions == (
        "the newest offsets of groups g2, pay were in an open transaction when the file was saved and are not in it"
    )
    assert gaps(SavedOffsets(0, "1", "c", (pending,), ())) == (in_transactions,)
