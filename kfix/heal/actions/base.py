"""What an action is: one change with everything a person must know before it and everything that proves it after.

An action never asks and never retries. `freeze` runs at plan time and makes every argument literal, or raises
`NotApplicable` with the reason why this cluster has no use for it. `guards` are asked of the cluster in the same second
before `apply`, whether or not the runbook's author named them.
"""

import json
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NoReturn

from kfix.core.args import ABSENT, ArgKind, Args
from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult, ResourceKind
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import rate_text
from kfix.heal.model.facts import Fact, ReadFact
from kfix.heal.model.plan import CheckCall, Estimate, Gate, Risk, Undo

Kinds = Mapping[str, ArgKind]
Names = tuple[str, ...]
Checks = tuple[CheckCall, ...]


class NotApplicable(Exception):  # noqa: N818 - an answer to the planner's question, not a failure
    """A step that is of no use here; the message is the reason that the plan shows."""


class ActionStatus(StrEnum):
    """How far a change got whose answer was lost, or whose run was killed. `IN_PROGRESS` needs waiting, not asking."""

    DONE = "done"
    IN_PROGRESS = "in_progress"
    NOT_STARTED = "not_started"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Inverse:
    """What takes the change back. Where `reversible` is False nothing does, and `text` states what that means.

    `undo` is that change itself, with every argument literal.
    """

    reversible: bool
    text: str
    undo: Undo | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """`what` in one line; `live` is the fact that a typed gate wants typed; `command` does the same without kfix."""

    what: str
    target: str
    live: str
    command: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Copied:
    """How many bytes of the replicas are copied. `total` is None where the size is unknown."""

    done: int
    total: int | None


class Action(ABC):
    """`gate_floor` is the lowest gate of any use; `gate_for` raises it for these arguments. `risk` is the widest blast
    radius of any use; `risk_for` gives that of these arguments.

    `params` are required in YAML, `optional` may be left out there, and `freeze` adds the `frozen` ones. An action that
    `changes` nothing waits, or asks a person to do something; its `apply` is never called.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    risk: ClassVar[Risk]
    gate_floor: ClassVar[Gate] = Gate.PLAN
    params: ClassVar[Kinds] = {}
    optional: ClassVar[Kinds] = {}
    frozen: ClassVar[Kinds] = {}
    changes: ClassVar[bool] = True
    #: Whether a broker of KRaft may carry the change out later, after the run has ended.
    forwarded: ClassVar[bool] = True
    #: Whether it may continue after its run was killed, with ZooKeeper, too.
    outlives: ClassVar[bool] = False
    #: {check: the arguments of the step that it takes}.
    guarded: ClassVar[Mapping[str, Names]] = {}
    proved: ClassVar[Mapping[str, Names]] = {}
    #: What takes the change back, or why nothing does, if it has no `inverse` of its own.
    irreversible: ClassVar[str]

    @property
    def kinds(self) -> Kinds:
        """Every argument of a planned step, literal by then."""
        return {**self.params, **self.optional, **self.frozen}

    def reads(self, args: Args) -> Names:
        """Returns the facts that the change rests on: those that it moves, unless an action has others."""
        return self.writes(args)

    def writes(self, _args: Args) -> Names:
        """Returns the facts that the change moves."""
        return ()

    def freeze(self, args: Args, _read: ReadFact) -> Args:
        """Returns literal arguments. Raises NotApplicable or RefusedError."""
        return args

    @abstractmethod
    def preview(self, args: Args) -> Preview: ...

    def inverse(self, _args: Args) -> Inverse:
        return Inverse(False, self.irreversible)

    @abstractmethod
    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        """Makes the change, with one call."""

    def probe(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """Returns how far the change got since the facts in `before` were read; UNKNOWN if nothing answers."""
        try:
            return self.status(args, before, reader)
        except UnreachableError:
            return ActionStatus.UNKNOWN

    @abstractmethod
    def status(self, args: Args, before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """As `probe`. Raises UnreachableError if a source does not answer."""

    def joined(self, _one: Args, _other: Args) -> Args | None:
        """Returns the arguments of one step for both, if a person does the same for both; else None."""
        return None

    def guards(self, args: Args) -> Checks:
        return tuple(CheckCall(check, args.only(*names)) for check, names in self.guarded.items())

    def proves(self, args: Args) -> Checks:
        """Returns the checks that show the change: they prove a step without a `verify`, and a rollback."""
        return tuple(CheckCall(check, args.only(*names)) for check, names in self.proved.items())

    def hopeless(self, _args: Args) -> Checks:
        """Returns checks that must hold while the effect is waited for: once one fails, waiting is useless."""
        return ()

    def copied(self, _args: Args, _reader: ClusterReader) -> Copied | None:
        """Returns how far the copying is; None where nothing is copied, or where that is unknown."""
        return None

    @property
    def proves_itself(self) -> bool:
        return bool(self.proved) or type(self).proves is not Action.proves

    def gate_for(self, _args: Args) -> Gate:
        return self.gate_floor

    def risk_for(self, _args: Args) -> Risk:
        return self.risk


ESTIMATE = Estimate(seconds=0.0, max_loss="none: kfix changes nothing")


class Idle(Action):
    """A step that a person carries out, or that only waits."""

    risk = Risk.NOTHING
    gate_floor = Gate.STEP
    changes = False
    irreversible = "none needed: kfix changes nothing"

    def apply(self, _args: Args, _changer: ClusterChanger) -> NoReturn:
        """Raises TypeError: calling it is a mistake in kfix."""
        raise TypeError("this action changes nothing and must not be carried out")

    def status(self, _args: Args, _before: Mapping[str, Fact], _reader: ClusterReader) -> ActionStatus:
        """Only the person who does it knows the progress; the step's checks show the result."""
        return ActionStatus.UNKNOWN


# Amounts and moves in words, and the commands that do the same by hand.


def rate_words(value: str) -> str:
    """Returns a throttle's rate, which Kafka keeps in bytes per second, in words."""
    return rate_text(int(value)) if re.fullmatch(r"[0-9]{1,19}", value) else "none" if value == ABSENT else value


def throttle_words(kind: ResourceKind, value: str) -> str:
    """Returns a broker's rate, or a topic's list of throttled replicas, in words."""
    return rate_words(value) if kind is ResourceKind.BROKER else "none" if value == ABSENT else value


def reassign_command(tp: TopicPartition, replicas: tuple[int, ...], name: str, *options: str) -> str:
    """Returns `kafka-reassign-partitions.sh` with its file, for one partition."""
    entry = {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)}
    body = json.dumps({"version": 1, "partitions": [entry]}, separators=(",", ":"))
    more = "".join(f" {option}" for option in options)
    return (
        f"echo '{body}' > {name}.json && kafka-reassign-partitions.sh --bootstrap-server HOST:PORT "
        f"--reassignment-json-file {name}.json{more}"
    )


def configs_command(kind: str, name: str, changes: dict[str, str]) -> str:
    """Returns `kafka-configs.sh` that sets these keys, and removes those that are ABSENT."""
    head = f"kafka-configs.sh --bootstrap-server HOST:PORT --entity-type {kind}s --entity-name {name} --alter"
    # Square brackets keep a list with commas in one value.
    added = [
        f"{key}=[{value}]" if "," in value else f"{key}={value}" for key, value in changes.items() if value != ABSENT
    ]
    gone = [key for key, value in changes.items() if value == ABSENT]
    adds = f" --add-config {shlex.quote(','.join(added))}" if added else ""
    return head + adds + (f" --delete-config {','.join(gone)}" if gone else "")
