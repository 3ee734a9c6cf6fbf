"""Every error that kfix raises on purpose. Each class carries its exit code (`docs/exit-codes.md`).

One boundary (`kfix.shell.app`) prints them as one line on standard error; nothing else does.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from kfix.core.harmless import lines


class KfixError(Exception):
    """One clear line: what, where, what to do next. `hint` is the last part, printed on a separate line.

    `kfix.core.harmless.lines` makes a message of several lines; any other line end is printed as an escape.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(KfixError):
    """A wrong option, an unknown code, an invalid file: nothing was changed."""

    exit_code = 2


class InvalidFileError(UsageError):
    """One or more mistakes in a file, each with its place, reported together."""

    def __init__(self, problems: tuple[str, ...], *, hint: str = "") -> None:
        super().__init__(lines(*problems), hint=hint)
        self.problems = problems


class RefusedError(KfixError):
    """A stale, expired, used or foreign plan, a failed precondition, or a limit: nothing was changed."""

    exit_code = 3


class ApprovalError(KfixError):
    """The approval is missing or was declined before the first change."""

    exit_code = 4


class NotProvedError(KfixError):
    """The changes were applied, but the proof failed or was inconclusive."""

    exit_code = 5


class StoppedError(KfixError):
    """The run stopped after a change: declined later, a broken invariant, Ctrl-C."""

    exit_code = 6


class RolledBackError(KfixError):
    """A step failed and everything was rolled back, with proof: the cluster is as it was before the run."""

    exit_code = 7


class RollbackFailedError(KfixError):
    """A step failed and not everything could be rolled back: a person is needed."""

    exit_code = 8


class HeldError(KfixError):
    """Another run or operator holds the cluster, or its cooldown has not passed."""

    exit_code = 9


class UnreachableError(KfixError):
    """The cluster, or a source that the answer needs, does not respond.

    `notes` looks at the addresses and returns sentences about what listens there instead; it takes about a second.
    """

    exit_code = 22
    notes: Callable[[], Sequence[str]] = staticmethod(tuple)


class OwnLimitError(UnreachableError):
    """kfix itself could not ask, such as for want of file descriptors: this shows nothing about the cluster."""


class NoAnswerError(UnreachableError):
    """A source did not answer in time: unlike a refused connection, this does not show that nothing runs there."""


class StoreError(UnreachableError):
    """The fleet store cannot be written (no space, no permission, missing): the whole run stops."""


class LabError(KfixError):
    """The lab cannot do what was requested: no Java, no Maven, no free port, a broker that does not start."""

    exit_code = 1


class ReadOnlyViolationError(KfixError):
    """A changing request reached a read-only transport: a mistake in kfix, stopped before it was sent."""

    exit_code = 1
