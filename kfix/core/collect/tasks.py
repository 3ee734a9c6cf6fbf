"""Runs requests in parallel. A hung request is abandoned at the deadline; its daemon thread blocks nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from kfix.core.derive.grouping import grouped
from kfix.core.errors import NoAnswerError, UnreachableError
from kfix.core.kafka.api import Request
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.snapshot import Source
from kfix.core.timing import Deadline

T = TypeVar("T")
Q = TypeVar("Q")


class Task(Generic[T]):
    """One request in progress. `result` returns its answer, or None after a failure, which becomes a source."""

    def __init__(self, name: str, ask: Callable[[], T], record: Callable[[Source], None]) -> None:
        self.name = name
        self.error: str = ""
        #: Whether the request failed because no answer came, not because the server refused it.
        self.hung = False
        self._answer: T | None = None
        self._bug: BaseException | None = None
        self._record = record
        self._done = threading.Event()
        self._began = time.monotonic()
        self._took = 0.0
        self._thread = threading.Thread(target=self._run, args=(ask,), name=f"kfix {name}", daemon=True)
        self._thread.start()

    def _run(self, ask: Callable[[], T]) -> None:
        try:
            self._answer = ask()
        except UnreachableError as error:
            self.error, self.hung = str(error), isinstance(error, NoAnswerError)
        except BaseException as bug:  # noqa: BLE001 - raised again where the answer is asked for
            self._bug = bug
        self._took = time.monotonic() - self._began
        self._done.set()

    def result(self, deadline: Deadline) -> T | None:
        finished = self._done.wait(deadline.left)
        if self._bug is not None:
            raise self._bug
        if not finished and not self.error:
            self.error, self.hung = f"{self.name}: no answer in time", True
        took = self._took if finished else time.monotonic() - self._began
        self._record(Source(self.name, ok=not self.error, error=self.error, seconds=round(took, 3)))
        return self._answer if finished else None

    def outcome(self) -> T:
        """Waits for a task that ends by itself and cannot fail, and returns its answer."""
        self._done.wait()
        if self._bug is not None:
            raise self._bug
        return self._answer  # type: ignore[return-value]

    @property
    def done(self) -> bool:
        return self._done.is_set()

    @property
    def answer_so_far(self) -> T | None:
        """Returns the answer without waiting; None also after a failure."""
        return self._answer if self.done else None


class Questions:
    """Starts named requests and keeps one `Source` per name, including failures and timeouts."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}

    def start(self, name: str, ask: Callable[[], T]) -> Task[T]:
        return Task(name, ask, self._keep)

    def failed(self, name: str, error: str) -> None:
        self._keep(Source(name, ok=False, error=error))

    def retract(self, name: str) -> None:
        """Removes a failure that another response has explained."""
        self._sources.pop(name, None)

    def _keep(self, source: Source) -> None:
        self._sources[source.name] = source

    def sources(self) -> tuple[Source, ...]:
        return tuple(self._sources[name] for name in sorted(self._sources))


@dataclass(frozen=True, slots=True)
class Answers(Generic[T]):
    """{broker: its answer}, and {broker: the error} of the others that were asked."""

    found: dict[int, T]
    errors: dict[int, str]


@dataclass(frozen=True, slots=True)
class Brokers:
    """The brokers that responded, `lines` by id, and the deadline for their answers. Failures go to `questions`."""

    questions: Questions
    lines: Mapping[int, BrokerConnection]
    deadline: Deadline

    def each(self, name: str, asked: Mapping[int, Q], ask: Callable[[BrokerConnection, Q, Deadline], T]) -> Answers[T]:
        """Sends each broker its question, all at once. `asked` are {broker: the argument of `ask`}.

        The source of a broker's answer is called `name` and its id. A broker that did not respond is not asked.
        """
        tasks = {
            b: self.questions.start(f"{name} {b}", partial(ask, self.lines[b], each, self.deadline))
            for b, each in asked.items()
            if b in self.lines
        }
        answers = {b: task.result(self.deadline) for b, task in tasks.items()}
        return Answers(
            {b: answer for b, answer in answers.items() if answer is not None},
            {b: tasks[b].error for b, answer in answers.items() if answer is None},
        )

    def once(self, name: str, ask: Callable[[], T]) -> tuple[T | None, str]:
        """Asks one question, maybe to several brokers. Returns the answer, or None and the error."""
        task = self.questions.start(name, ask)
        return task.result(self.deadline), task.error

    def aside(self) -> Brokers:
        """Returns the brokers for questions whose failures are part of their answer, and no failed source."""
        return replace(self, questions=Questions())

    def within(self, seconds: float) -> Brokers:
        return replace(self, deadline=self.deadline.within(seconds))


def asks(request: Callable[[Q], Request[T]]) -> Callable[[BrokerConnection, Q, Deadline], T]:
    """Returns the argument `ask` of `Brokers.each` that sends this one request."""
    return lambda line, each, deadline: line.call(request(each), deadline)


def by_broker(pairs: Iterable[tuple[int, T]]) -> dict[int, tuple[T, ...]]:
    """Returns {broker: what it is asked about} of such pairs."""
    return {broker: tuple(each) for broker, each in grouped(pairs).items()}


def by_partition(answers: Mapping[int, Mapping[Q, T]]) -> dict[Q, dict[int, T]]:
    """Returns {partition: {broker: answer}} of {broker: {partition: answer}}."""
    found: dict[Q, dict[int, T]] = {}
    for broker, each in answers.items():
        for tp, answer in each.items():
            found.setdefault(tp, {})[broker] = answer
    return found


def as_finished(tasks: Iterable[Task[T]], deadline: Deadline) -> Iterator[Task[T]]:
    """Yields each task as soon as it is finished, and at the deadline the unfinished ones."""
    waiting = list(tasks)
    while waiting and deadline.left > 0:
        for task in [t for t in waiting if t.done]:
            waiting.remove(task)
            yield task
        time.sleep(0.001)
    yield from waiting


def wait(tasks: Iterable[Task[T]], deadline: Deadline) -> None:
    for _ in as_finished(tasks, deadline):
        pass
