"""Probes group coordinators by FindCoordinator and OffsetFetch; a group listing proves nothing.

Source: docs/facts/operations.md.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kfix.core.collect.tasks import Brokers, Questions, by_broker
from kfix.core.derive.coordinator import made_up_groups, partition_of_group
from kfix.core.errors import UnreachableError
from kfix.core.kafka import group_messages
from kfix.core.kafka.codes import NO_ANSWER, name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.snapshot import CoordinatorProbe
from kfix.core.timing import Deadline
from kfix.core.wording import several

_SOURCE = "coordinator probe"
#: TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED.
_NOT_ALLOWED = frozenset({29, 30, 31})


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
    connection: BrokerConnection, probes: Sequence[CoordinatorProbe], deadline: Deadline
) -> list[CoordinatorProbe]:
    """Returns the probes of one coordinator with its responses to OffsetFetch."""
    began = time.monotonic()
    try:
        answers = connection.call_many([group_messages.offset_fetch(p.group) for p in probes], deadline)
    except UnreachableError as error:
        return [_without_answer(p, str(error)) for p in probes]
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


def read_probes(brokers: Brokers, groups: Mapping[str, CoordinatorProbe]) -> tuple[CoordinatorProbe, ...]:
    """Returns one probe per group; empty if no group is known, which shows neither health nor a problem."""
    if not groups:
        return ()
    lines, deadline = brokers.lines, brokers.deadline
    answer, _ = brokers.once(_SOURCE, lambda: find_coordinators(lines.values(), groups, deadline))
    found = answer or {}
    unasked = sorted(p.group for p in found.values() if p.find_error == NO_ANSWER)
    if unasked:
        known = [group for group in unasked if not found[group].made_up]
        whose = f"{several(len(known), 'group')}, such as {known[0]}" if known else "any group"
        why = f"no broker returned the coordinator of {whose}"
        brokers.questions.failed(_SOURCE, f"{why}: {found[unasked[0]].error}")
    finished = [p for p in found.values() if p.coordinator is None]
    named = by_broker((p.coordinator, p) for p in found.values() if p.coordinator is not None)
    answers = brokers.each("offset fetch broker", named, fetch_offsets).found
    for broker, probes in named.items():
        why = f"broker {broker}: no answer in time" if broker in lines else f"broker {broker} does not respond"
        finished += answers.get(broker) or [_without_answer(p, why) for p in probes]
    _note_refused(brokers.questions, finished)
    # A refusal to ask about a group that does not exist shows nothing about its coordinator: its state is unknown.
    kept = (p for p in finished if not (p.made_up and _is_refused(p)))
    return tuple(sorted(kept, key=lambda p: (p.partition, p.group)))


def _note_refused(questions: Questions, finished: Sequence[CoordinatorProbe]) -> None:
    """Notes a refused group, and the offsets partitions without any group that kfix may read: both are unknown."""
    refused = [p for p in finished if _is_refused(p)]
    for probe in [p for p in refused if not p.made_up][:1]:
        questions.failed(_SOURCE, f"coordinator of group {probe.group}: {_error_of(probe)}")
    asked = {p.partition for p in finished if not _is_refused(p)}
    left = {p.partition: p for p in refused if p.partition not in asked}
    if left and (probe := left[min(left)]).made_up:
        what = f"coordinators of {several(len(left), 'offsets partition')}, by groups that do not exist"
        questions.failed(_SOURCE, f"{what}: {_error_of(probe)}")


def _is_refused(probe: CoordinatorProbe) -> bool:
    return bool({probe.find_error, probe.fetch_error} & _NOT_ALLOWED)


def _error_of(probe: CoordinatorProbe) -> str:
    return name_of(probe.find_error or probe.fetch_error or 0)


def _without_answer(probe: CoordinatorProbe, why: str) -> CoordinatorProbe:
    return replace(probe, fetch_error=NO_ANSWER, error=why)
