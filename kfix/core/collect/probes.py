"""Probes group coordinators by FindCoordinator and OffsetFetch; a group listing proves nothing.

Source: docs/facts/operations.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kfix.core.deadline import Deadline
from kfix.core.derive.coordinator import made_up_groups, partition_of_group
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages
from kfix.core.kafka.codes import NO_ANSWER
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.snapshot import CoordinatorProbe


def representatives(groups: Iterable[str], requested: Iterable[str], partitions: int) -> dict[str, CoordinatorProbe]:
    """Returns {group: a probe without an answer}: one group per offsets partition, plus every group in `requested`.

    All groups of an offsets partition have the same coordinator, so one of them is enough. If none is known, kfix makes
    up its name: a coordinator that failed no longer lists its groups.
    """
    chosen: dict[int, str] = {}
    for group in groups:
        chosen.setdefault(partition_of_group(group, partitions), group)
    named = {group: partition for partition, group in chosen.items()}
    named |= {g: partition_of_group(g, partitions) for g in requested}
    made_up = made_up_groups(set(range(partitions)) - set(named.values()), partitions)
    return {
        group: CoordinatorProbe(group, partition, None, None, None, made_up=group in made_up)
        for group, partition in (named | made_up).items()
    }


def find_coordinators(
    askers: Iterable[BrokerConnection], groups: Mapping[str, CoordinatorProbe], deadline: Deadline
) -> dict[str, CoordinatorProbe]:
    """Asks one broker for the coordinators of all groups, and the others for the coordinators still unknown."""
    found: dict[str, CoordinatorProbe] = {}
    for asker in askers:
        open_questions = [g for g in groups if g not in found or found[g].find_error != 0]
        if not open_questions:
            break
        began = time.monotonic()
        try:
            answers = asker.call_many([group_messages.find_coordinator(g) for g in open_questions], deadline)
        except UnreachableError as error:
            for group in open_questions:
                found.setdefault(group, replace(groups[group], find_error=NO_ANSWER, error=str(error)))
            continue
        seconds = round(time.monotonic() - began, 3)
        for group, answer in zip(open_questions, answers, strict=True):
            broker = answer.broker if answer.error == 0 else None
            found[group] = replace(groups[group], find_error=answer.error, coordinator=broker, seconds=seconds)
    return found


def fetch_offsets(
    connection: BrokerConnection, probes: list[CoordinatorProbe], deadline: Deadline
) -> list[CoordinatorProbe]:
    """Returns the probes of one coordinator with its responses to OffsetFetch."""
    began = time.monotonic()
    try:
        answers = connection.call_many([group_messages.offset_fetch(p.group) for p in probes], deadline)
    except UnreachableError as error:
        return [without_answer(p, str(error)) for p in probes]
    seconds = round(time.monotonic() - began, 3)
    return [
        replace(
            p,
            fetch_error=error,
            committed=sum(each.offset >= 0 for each in offsets.values()),
            seconds=p.seconds + seconds,
        )
        for p, (error, offsets) in zip(probes, answers, strict=True)
    ]


def without_answer(probe: CoordinatorProbe, why: str) -> CoordinatorProbe:
    return replace(probe, fetch_error=NO_ANSWER, error=why)
