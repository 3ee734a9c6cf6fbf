"""The second round: requests that need the brokers, topics and groups. One thread and one connection per broker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kfix.core.collect.broker import ask_topic_configs
from kfix.core.collect.listed_groups import as_groups, describe_listed
from kfix.core.collect.logs import (
    ask_ends_before,
    ask_epoch_ends,
    ask_log_ends,
    ask_visible,
    claims,
    epochs_before,
    older_epochs,
)
from kfix.core.collect.offsets_log import MOST_ORPHANED, Part, ask_parts, orphaned_part, read_parts
from kfix.core.collect.probes import fetch_offsets, find_coordinators, without_answer
from kfix.core.collect.tasks import Questions, Task
from kfix.core.deadline import Deadline
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.codes import NO_ANSWER, TOPIC, name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import ListedGroup
from kfix.core.snapshot.snapshot import (
    TOPIC_CONFIGS,
    Assignment,
    BrokerView,
    CoordinatorProbe,
    EpochEnd,
    Group,
    LogEnd,
    OffsetsLog,
    TopicPartition,
)
from kfix.core.wording import several

T = TypeVar("T")
#: TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED.
_NOT_ALLOWED = frozenset({29, 30, 31})


class Details:
    """Sends the requests of the second round to the brokers that responded, in sequence per connection."""

    def __init__(self, questions: Questions, connections: Mapping[int, BrokerConnection], deadline: Deadline) -> None:
        self._questions = questions
        self._connections = connections
        self._deadline = deadline

    def _each(self, name: str, brokers: Iterable[int], ask: Callable[[int, BrokerConnection], T]) -> dict[int, T]:
        tasks: dict[int, Task[T]] = {
            b: self._questions.start(f"{name} broker {b}", lambda b=b: ask(b, self._connections[b]))  # type: ignore[misc]
            for b in brokers
            if b in self._connections
        }
        answers = {b: task.result(self._deadline) for b, task in tasks.items()}
        return {b: answer for b, answer in answers.items() if answer is not None}

    def topic_configs(
        self, topics: tuple[str, ...], deadline: Deadline
    ) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]] | None:
        """Returns the effective configs, and the topics' own configs; None if no broker answered."""
        for broker in self._connections:
            found = self._each("topic configs", [broker], lambda _, line: ask_topic_configs(line, topics, deadline))
            if broker in found:
                effective, own, refused = found[broker]
                if refused:
                    self._questions.failed(TOPIC_CONFIGS, refused)
                return effective, own
        return None

    def groups(self, listed: Mapping[int, tuple[ListedGroup, ...]]) -> tuple[Group, ...]:
        answers = self._each(
            "groups",
            [b for b, groups in listed.items() if groups],
            lambda broker, line: describe_listed(line, listed[broker], self._deadline),
        )
        return as_groups(listed, {each.name: each for found in answers.values() for each in found})

    def reassignments(self, controller: int | None) -> dict[TopicPartition, Assignment] | None:
        if controller is None or controller not in self._connections:
            return None

        def ask(_: int, line: BrokerConnection) -> dict[TopicPartition, Assignment]:
            error, found = line.call(requests.list_reassignments(), self._deadline)
            if error:
                raise UnreachableError(f"reassignments: {name_of(error)}")
            return found

        return self._each("reassignments", [controller], ask).get(controller)

    def probes(self, groups: Mapping[str, CoordinatorProbe]) -> tuple[CoordinatorProbe, ...]:
        """Returns one probe per group; empty if no group is known, which shows neither health nor a problem."""
        if not groups:
            return ()
        task = self._questions.start(
            "coordinator probe", lambda: find_coordinators(self._connections.values(), groups, self._deadline)
        )
        found = task.result(self._deadline) or {}
        unasked = sorted(p.group for p in found.values() if p.find_error == NO_ANSWER)
        if unasked:
            known = [group for group in unasked if not found[group].made_up]
            whose = f"{several(len(known), 'group')}, such as {known[0]}" if known else "any group"
            why = f"no broker returned the coordinator of {whose}"
            self._questions.failed("coordinator probe", f"{why}: {found[unasked[0]].error}")
        named: dict[int, list[CoordinatorProbe]] = {}
        finished = []
        for probe in found.values():
            if probe.coordinator is None:
                finished.append(probe)
            elif probe.coordinator not in self._connections:
                finished.append(without_answer(probe, f"broker {probe.coordinator} does not respond"))
            else:
                named.setdefault(probe.coordinator, []).append(probe)
        answers = self._each("offset fetch", named, lambda b, line: fetch_offsets(line, named[b], self._deadline))
        for broker, probes in named.items():
            finished += answers.get(broker) or [
                without_answer(p, f"broker {broker}: no answer in time") for p in probes
            ]
        refused = [p for p in finished if _is_refused(p)]
        for probe in [p for p in refused if not p.made_up][:1]:
            self._questions.failed("coordinator probe", f"coordinator of group {probe.group}: {_error_of(probe)}")
        # A refusal to ask about a group that does not exist shows nothing about its coordinator: its state is unknown.
        self._say_unasked(refused, {p.partition for p in finished if not _is_refused(p)})
        kept = (p for p in finished if not (p.made_up and _is_refused(p)))
        return tuple(sorted(kept, key=lambda p: (p.partition, p.group)))

    def _say_unasked(self, refused: Sequence[CoordinatorProbe], asked: Collection[int]) -> None:
        """Notes the offsets partitions without any group that kfix may read: their coordinators' state is unknown."""
        left = {p.partition: p for p in refused if p.partition not in asked}
        if left and (probe := left[min(left)]).made_up:
            what = f"coordinators of {several(len(left), 'offsets partition')}, by groups that do not exist"
            self._questions.failed("coordinator probe", f"{what}: {_error_of(probe)}")

    def offsets_logs(
        self,
        places: Mapping[TopicPartition, tuple[int, tuple[int, ...]]],
        listed: Collection[int],
        requested: Collection[int],
    ) -> tuple[OffsetsLog, ...]:
        """Returns the logs of the offsets partitions that leave a doubt; usually there are none.

        `places` is {partition: (leader, replicas)}, `listed` are the partitions of listed groups, `requested` the
        partitions of the requested groups.
        """
        led: dict[int, list[TopicPartition]] = {}
        orphaned = []
        for tp, (leader, _) in places.items():
            if leader in self._connections:
                led.setdefault(leader, []).append(tp)
            else:
                orphaned.append(tp)

        def ask(
            broker: int, line: BrokerConnection
        ) -> tuple[list[OffsetsLog], list[TopicPartition], list[TopicPartition]]:
            parts, strange, withheld = ask_parts(line, tuple(led[broker]), listed, requested, self._deadline)
            return read_parts(line, broker, parts, self._deadline, compare=True), strange, withheld

        found: list[OffsetsLog] = []
        refused: dict[int, list[TopicPartition]] = {}
        for broker, (logs, strange, withheld) in self._each("offsets log", led, ask).items():
            found += logs
            orphaned += strange
            if withheld:
                refused[broker] = withheld
        if orphaned:
            found += self._orphaned({tp: places[tp][1] for tp in orphaned[:MOST_ORPHANED]})
        for broker, tps in refused.items():
            # The coordinator's offsets cannot be compared with the log then: unknown is not healthy. Noted last: the
            # logs of other partitions are read under the same name.
            why = f"{tps[0]}: its leader returns no offsets (OFFSET_NOT_AVAILABLE)"
            self._questions.failed(f"offsets log broker {broker}", why)
        for log in found:
            # The groups stored there, or waiting for the transaction, are unknown: they may be blocked.
            if log.error == name_of(TOPIC) and log.stable >= 0 and _in_doubt(log, listed):
                self._questions.failed(f"offsets log {log.partition}", f"{OFFSETS_TOPIC}-{log.partition}: {log.error}")
        kept_back = {tp.partition: broker for broker, tps in refused.items() for tp in tps}
        found = [
            replace(log, withheld=kept_back.get(log.partition) == log.broker and log.log_end > log.start)
            for log in found
        ]
        return tuple(sorted(found, key=lambda log: (log.partition, log.broker)))

    def _orphaned(self, replicas: Mapping[TopicPartition, tuple[int, ...]]) -> list[OffsetsLog]:
        """Reads the logs of partitions without a coordinator, each from the first replica that serves its records."""
        ends = self.log_ends(replicas)
        found: dict[TopicPartition, OffsetsLog] = {}
        for turn in range(max((len(ids) for ids in replicas.values()), default=0)):
            parts: dict[int, list[Part]] = {}
            for tp, ids in replicas.items():
                end = ends.get(tp, {}).get(ids[turn]) if turn < len(ids) else None
                served = tp in found and found[tp].groups
                if end is not None and not end.error and end.end > end.start and not served:
                    parts.setdefault(ids[turn], []).append(orphaned_part(tp, end))
            read = self._each(
                "offsets log",
                parts,
                lambda b, line, parts=parts: read_parts(line, b, parts[b], self._deadline, compare=False),  # type: ignore[misc]
            )
            for log in (log for logs in read.values() for log in logs):
                tp = TopicPartition(OFFSETS_TOPIC, log.partition)
                if log.groups or tp not in found:
                    found[tp] = log
        return list(found.values())

    def log_ends(self, assigned: Mapping[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, dict[int, LogEnd]]:
        hosted: dict[int, list[TopicPartition]] = {}
        for tp, replicas in assigned.items():
            for broker in replicas:
                hosted.setdefault(broker, []).append(tp)
        answers = self._each("log ends", hosted, lambda b, line: ask_log_ends(line, tuple(hosted[b]), self._deadline))
        found: dict[TopicPartition, dict[int, LogEnd]] = {}
        for broker, ends in answers.items():
            for tp, end in ends.items():
                found.setdefault(tp, {})[broker] = end
        return found

    def claimed(
        self,
        replicas: Mapping[TopicPartition, tuple[int, ...]],
        views: Mapping[int, BrokerView],
        *,
        apart: bool = False,
    ) -> tuple[dict[TopicPartition, dict[int, int]], dict[TopicPartition, EpochEnd]]:
        """Returns high watermarks at every broker that claims leadership, and epoch ends at the newer of two leaders.

        With `apart`, also reads the end of the previous epoch: another place may see a leader of that epoch.
        """
        claimed = claims(replicas, views)
        led: dict[int, list[TopicPartition]] = {}
        for tp, leaders in claimed.items():
            for broker in leaders:
                led.setdefault(broker, []).append(tp)
        seen = self._each("high watermarks", led, lambda b, line: ask_visible(line, tuple(led[b]), self._deadline))
        visible: dict[TopicPartition, dict[int, int]] = {}
        for broker, ends in seen.items():
            for tp, end in ends.items():
                visible.setdefault(tp, {})[broker] = end
        ended = self.epoch_ends("epoch ends", older_epochs(claimed))
        if apart:
            last = epochs_before(claimed, views)
            more = self._each("last epochs", last, lambda b, line: ask_ends_before(line, b, last[b], self._deadline))
            ended |= {tp: end for found in more.values() for tp, end in found.items()}
        return visible, ended

    def epoch_ends(
        self, name: str, epochs: Mapping[int, Mapping[TopicPartition, int]]
    ) -> dict[TopicPartition, EpochEnd]:
        """Reads where leader epochs ended; `epochs` is {broker: {partition: epoch}}, `name` is the source's name."""
        found_ends = self._each(name, epochs, lambda b, line: ask_epoch_ends(line, b, epochs[b], self._deadline))
        return {tp: end for found in found_ends.values() for tp, end in found.items()}


def _is_refused(probe: CoordinatorProbe) -> bool:
    return bool({probe.find_error, probe.fetch_error} & _NOT_ALLOWED)


def _error_of(probe: CoordinatorProbe) -> str:
    return name_of(probe.find_error or probe.fetch_error or 0)


def _in_doubt(log: OffsetsLog, listed: Collection[int]) -> bool:
    """Whether the log was read for its content, and not only for a requested group."""
    return log.stable < log.log_end or log.partition not in listed
