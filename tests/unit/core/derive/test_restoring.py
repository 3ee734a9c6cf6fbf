"""Which saved offsets are committed again: only missing and older ones, only of groups without members."""

from dataclasses import replace

import pytest

from kfix.core.derive.restoring import RestoreRules, Restoring, items_of, restorations
from kfix.core.snapshot.offsets import GroupOffsets, LoggedOffset, SavedGroup, SavedOffsets, StoredOffset, parse_stored
from kfix.core.snapshot.snapshot import LogEnd, TopicPartition
from tests.each import for_each

TP = TopicPartition("orders", 0)
SAVED = SavedOffsets(1.0, "0", "c", (), (SavedGroup("g", 3, {TP: LoggedOffset(StoredOffset(50, 2, "m"), 7)}),))
EMPTY = GroupOffsets("g", "Empty", {TP: None})
LOGS = {TP: LogEnd(10, 100)}


def verdict(now=EMPTY, logs=LOGS, **rules):
    [row] = restorations(SAVED, {"g": now}, logs, RestoreRules(**rules))
    return row.verdict


def at(offset):
    return replace(EMPTY, committed={TP: StoredOffset(offset)})


@for_each(
    ("now", "logs", "rules", "expected"),
    [
        (EMPTY, LOGS, {}, Restoring.COMMIT),
        (replace(EMPTY, state="Dead"), LOGS, {}, Restoring.COMMIT),
        (at(49), LOGS, {}, Restoring.COMMIT),
        (at(50), LOGS, {"back": True}, Restoring.SAME),
        (at(51), LOGS, {}, Restoring.NEWER),
        (at(51), LOGS, {"back": True}, Restoring.COMMIT),
        (replace(EMPTY, state="Stable"), LOGS, {"back": True, "outside": True}, Restoring.MEMBERS),
        (replace(EMPTY, state="PreparingRebalance"), LOGS, {}, Restoring.MEMBERS),
        (replace(EMPTY, unstable=(TP,)), LOGS, {"back": True}, Restoring.PENDING),
        (EMPTY, {TP: LogEnd(51, 100)}, {}, Restoring.OUTSIDE),
        (EMPTY, {TP: LogEnd(0, 49)}, {}, Restoring.OUTSIDE),
        (EMPTY, {TP: LogEnd(0, 49)}, {"outside": True}, Restoring.COMMIT),
        (EMPTY, {TP: LogEnd(50, 50)}, {}, Restoring.COMMIT),
        (EMPTY, {TP: None}, {}, Restoring.UNREAD),
        (EMPTY, {TP: None}, {"outside": True}, Restoring.COMMIT),
        (EMPTY, {}, {"back": True, "outside": True}, Restoring.GONE),
    ],
)
def test_a_saved_offset_is_committed_only_where_it_is_safe(now, logs, rules, expected):
    assert verdict(now, logs, **rules) is expected


def test_offsets_of_a_group_and_a_topic_are_one_item_and_those_left_out_are_in_none():
    other, bills = TopicPartition("orders", 1), TopicPartition("bills", 0)
    offsets = {tp: LoggedOffset(StoredOffset(n), 0) for n, tp in enumerate((TP, other, bills), 20)}
    saved = replace(SAVED, groups=(SavedGroup("g", 3, offsets), SavedGroup("h", 4, {TP: offsets[TP]})))
    nothing = dict.fromkeys(offsets)
    now = {name: GroupOffsets(name, "Empty", nothing) for name in ("g", "h")}
    logs = {tp: LogEnd(0, 100) for tp in (TP, other)} | {bills: LogEnd(0, 5)}
    items = items_of(restorations(saved, now, logs, RestoreRules()))
    assert [(each.group, each.topic, sorted(each.offsets)) for each in items] == [
        ("g", "orders", [TP, other]),
        ("h", "orders", [TP]),
    ]


def test_a_group_that_was_not_read_is_not_judged():
    assert restorations(SAVED, {}, LOGS, RestoreRules()) == ()


@pytest.mark.parametrize(
    "stored", [StoredOffset(0), StoredOffset(5, 0), StoredOffset(5, 3, "a note @7"), StoredOffset(2**63 - 1, -1, "\n")]
)
def test_a_committed_offset_as_text_is_read_back(stored):
    assert parse_stored(stored.text) == stored


@for_each("text", ["", "-1", "x", "5@", "05", "5 ", "9223372036854775808", "5@2147483648", "5@x"])
def test_other_text_is_no_committed_offset(text):
    with pytest.raises(ValueError, match="committed offset"):
        parse_stored(text)
