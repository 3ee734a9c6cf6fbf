"""The canary itself: opens its clients, makes rounds, and removes what it made."""

import contextlib
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self

from kfix.canary.course import Course, course_of, read_metadata
from kfix.canary.librdkafka import settings_of
from kfix.canary.model import NAME, CanaryOptions, CanaryResult, CanaryRound, CoordinatorTry, met
from kfix.core.application import App
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.target import Target

#: Members that join at once: each has threads and connections of its own.
_MOST_AT_ONCE: Final = 8
_PAUSE: Final = 0.1
_LAST_SECONDS: Final = 5.0


class Canary:
    """An open canary. Raises UsageError for settings that librdkafka lacks, UnreachableError if no broker answers."""

    def __init__(self, target: Target, options: CanaryOptions) -> None:
        self._target, self._options = target, options
        self._settings = settings_of(target, options.within)
        self.course: Course = course_of(read_metadata(target, options.topic, target.timeout), options)
        self._topic_left = ""
        #: {group that a member had joined, and that is not deleted: why}
        self._undeleted: dict[str, str] = {}
        #: Groups whose coordinator may know a member that has not joined.
        self._attempted: set[str] = set()
        self._rounds = 0
        self._records: Any = None

    def __enter__(self) -> Self:
        from kfix.canary.records import RecordTrips  # noqa: PLC0415 - takes long to import

        try:
            if self.course.new:
                self._create_topic()
            self._records = RecordTrips(self._settings, self._options.within, self.course.reads, f"{NAME}-reader")
        except BaseException:
            self._clean()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._clean()

    @property
    def left_behind(self) -> tuple[str, ...]:
        """Returns one sentence for each thing of the canary that could not be removed."""
        groups = tuple(f"group {group}: {why}" for group, why in self._undeleted.items())
        return (*groups, self._topic_left) if self._topic_left else groups

    def round(self) -> CanaryRound:
        """Sends a record through each leader and joins a group of each coordinator, at the leaders of this moment."""
        self._rounds += 1
        at, course = time.time(), self._at_present()
        with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
            joining = [pool.submit(self._join, course, group) for group in course.groups]
            leaders = self._records.exchange(course.leaders, f"{NAME} {self._rounds}")
            coordinators = tuple(each.result() for each in joining)
        self._attempted |= {each.group for each in coordinators if not each.joined}
        self._delete_groups({each.group for each in coordinators if each.joined})
        return CanaryRound(at, leaders, coordinators)

    def _at_present(self) -> Course:
        try:
            answer = read_metadata(self._target, self._options.topic, self._target.timeout)
        except UnreachableError:
            return self.course
        now = {tp: view.leader for tp, view in answer.partitions.items()}
        course = self.course
        return replace(course, leaders=_updated(course.leaders, now), coordinators=_updated(course.coordinators, now))

    def _join(self, course: Course, group: str) -> CoordinatorTry:
        from kfix.canary.groups import try_coordinator  # noqa: PLC0415 - takes long to import

        where = course.groups[group]
        at = where, course.coordinators[where]
        return try_coordinator(self._settings, group, at, self._options.topic, self._rounds, self._options.within)

    def _delete_groups(self, groups: AbstractSet[str]) -> None:
        from kfix.canary.groups import delete_groups  # noqa: PLC0415 - takes long to import

        joined = {*self._undeleted, *groups}
        self._undeleted = delete_groups(self._settings, joined, self._options.within)
        self._attempted -= joined

    def _create_topic(self) -> None:
        from kfix.canary.topics import create_topic  # noqa: PLC0415 - takes long to import

        create_topic(self._settings, self._options.topic, self.course.new, self._options.within)
        self._wait(lambda seen: all(seen.get(tp, -1) == leader for tp, leader in self.course.leaders.items()))

    def _clean(self) -> None:
        if self._records is not None:
            self._records.close()
        self._delete_groups(set())
        if self._attempted:
            from kfix.canary.groups import delete_groups  # noqa: PLC0415 - takes long to import

            # A coordinator that does not answer has no such group, or forgets it.
            delete_groups(self._settings, self._attempted, min(self._options.within, _LAST_SECONDS))
        if self.course.new:
            self._delete_topic()

    def _delete_topic(self) -> None:
        from kfix.canary.topics import delete_topic  # noqa: PLC0415 - takes long to import

        name = self._options.topic
        why = delete_topic(self._settings, name, self._options.within)
        if not why and not self._wait(lambda seen: not any(tp.topic == name for tp in seen)):
            why = "its deletion has not ended"
        self._topic_left = f"topic {name}: {why}" if why else ""

    def _wait(self, holds: Callable[[Mapping[TopicPartition, int]], bool]) -> bool:
        """Waits until the brokers' metadata is so, for `within` at most; returns whether it is."""
        ends = time.monotonic() + self._options.within
        while True:
            with contextlib.suppress(UnreachableError):
                answer = read_metadata(self._target, self._options.topic, self._target.timeout)
                if holds({tp: view.leader for tp, view in answer.partitions.items()}):
                    return True
            if time.monotonic() >= ends:
                return False
            time.sleep(_PAUSE)


def _updated(leaders: Mapping[TopicPartition, int], now: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    return {tp: now.get(tp, leader) for tp, leader in leaders.items()}


def run(app: App, target: Target, options: CanaryOptions, rounds: int, every: float) -> CanaryResult:
    """Makes the rounds, with a pause of `every` seconds from one beginning to the next, and removes everything."""
    done: list[CanaryRound] = []
    canary = Canary(target, options)
    with canary:
        for number in range(rounds):
            began = app.clock.monotonic()
            done.append(canary.round())
            if number + 1 < rounds:
                app.clock.sleep(max(every - (app.clock.monotonic() - began), 0.0))
    course = canary.course
    return CanaryResult(
        course.cluster,
        app.clock.now(),
        options.topic,
        bool(course.new),
        rounds,
        met(each for one in done for each in one.leaders),
        met(each for one in done for each in one.coordinators),
        course.untested,
        canary.left_behind,
    )
