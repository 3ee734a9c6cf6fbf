"""Which replica is to come first in the assignment, and the order that results.

The first replica of the assignment is the preferred leader, and an unclean election elects the first live one
(docs/facts/controller.md). `reassign.reorder` makes the order; `leader.elect_preferred` and `leader.elect_unclean`
expect it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kfix.core.errors import RefusedError
from kfix.core.numbers import broker_id
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.actions.base import NotApplicable
from kfix.heal.model.facts import ReadFact, about, about_brokers, brokers, show_value

LONGEST_LOG = "longest-log"
OTHER_IN_SYNC = "other-in-sync"
#: The order stays as it is.
AS_IT_IS = ""


class LogPosition(NamedTuple):
    """The end of a log; the greater of two holds more (docs/facts/data-loss.md). Epoch -1: empty or unknown."""

    epoch: int
    end: int

    @property
    def words(self) -> str:
        return f"log end {self.end}, epoch {'unknown' if self.epoch < 0 else self.epoch}"


def parse_tails(text: str) -> Mapping[int, LogPosition]:
    """Reads the text of the fact `log_tails`, such as `2:5/10412 3:5/10398` (broker:epoch/end)."""
    found = {}
    for each in text.split():
        broker, _, rest = each.partition(":")
        epoch, _, end = rest.partition("/")
        found[int(broker)] = LogPosition(int(epoch), int(end))
    return found


def longest(tp: TopicPartition, order: tuple[int, ...], tails: Mapping[int, LogPosition]) -> int:
    """Returns the replica that holds most, of equals the first in `order`; raises RefusedError where that is unknown.

    Where no epoch at all is known the log ends alone decide.
    """
    live = [b for b in order if b in tails]
    unknown = [b for b in live if tails[b].epoch < 0 and tails[b].end > 0]
    if unknown and any(tails[b].epoch >= 0 for b in live):
        text = f"{tp}: the epoch of the last record of {show_value(tuple(unknown))} is unknown"
        raise RefusedError(f"{text}, so the longest log is unknown too; name the broker that is to come first")
    return max(live, key=lambda b: (tails[b], -live.index(b)))


def put_first(order: tuple[int, ...], broker: int) -> tuple[int, ...]:
    return (broker, *(b for b in order if b != broker))


def who_comes_first(tp: TopicPartition, word: str, order: tuple[int, ...], read: ReadFact) -> int:
    """Returns the broker that the word means.

    Raises NotApplicable where no replica fits the word, RefusedError where the word names no replica that could lead.
    """
    if word == LONGEST_LOG:
        return _longest_log(tp, order, read)
    if word == OTHER_IN_SYNC:
        return _other_in_sync(tp, order, read)
    broker = _id(tp, word)
    if broker not in order:
        raise RefusedError(f"{tp}: broker {broker} holds no replica; the replicas are {show_value(order)}")
    if read(*about_brokers(broker)).value is not True:
        raise RefusedError(f"{tp}: broker {broker} is not registered, so it cannot be elected")
    return broker


def facts_of(tp: TopicPartition, word: str) -> tuple[str, ...]:
    """Returns the facts that `who_comes_first` reads."""
    if word == LONGEST_LOG:
        return about(tp, "leader", "live_isr", "live_replicas", "log_tails")
    return about(tp, "leader", "live_isr") if word == OTHER_IN_SYNC else about_brokers(_id(tp, word))


def ordered(tp: TopicPartition, word: str, order: tuple[int, ...], read: ReadFact) -> tuple[int, ...]:
    """Returns the order after `reassign.reorder` with that word; the present order where no word is given."""
    return order if word == AS_IT_IS else put_first(order, who_comes_first(tp, word, order, read))


def _id(tp: TopicPartition, word: str) -> int:
    found = broker_id(word)
    if found is None:
        raise RefusedError(f"{tp}: {word!r} is neither {LONGEST_LOG} nor {OTHER_IN_SYNC} nor the id of a broker")
    return found


def _longest_log(tp: TopicPartition, order: tuple[int, ...], read: ReadFact) -> int:
    live_isr_key, live_key, leader_key = about(tp, "live_isr", "live_replicas", "leader")
    live, live_isr = brokers(read(live_key)), brokers(read(live_isr_key))
    if live_isr:
        raise NotApplicable(f"{show_value(live_isr)} of the ISR is alive and holds every acknowledged record")
    if read(leader_key).value in live:
        raise NotApplicable(f"{tp} has a live leader; which log is longest does not matter")
    if not live:
        raise NotApplicable(f"no replica of {tp} is alive")
    return longest(tp, order, parse_tails(str(read(*about(tp, "log_tails")).value)))


def _other_in_sync(tp: TopicPartition, order: tuple[int, ...], read: ReadFact) -> int:
    leader_key, live_isr_key = about(tp, "leader", "live_isr")
    leader, live = read(leader_key).value, brokers(read(live_isr_key))
    others = [b for b in order if b in live and b != leader]
    if not others:
        raise NotApplicable(f"no replica but the leader {leader} is alive and in sync: live ISR {show_value(live)}")
    return others[0]
