"""Every error kfix raises on purpose. Each class carries the exit code of `docs/exit-codes.md`.

One boundary (`kfix.cli.app`) turns them into one line on standard error; nothing else catches them to print.
"""

from __future__ import annotations

from typing import ClassVar

from kfix.harmless import lines


class KfixError(Exception):
    """One clear line: what, where, how to go on. `hint` is the "how to go on", printed on a line of its own.

    A message that is made of several lines is `kfix.harmless.lines`; any other line end in it is printed as an escape.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(KfixError):
    """A wrong option, an unknown code, a file that is not what it should be: nothing was changed."""

    exit_code = 2


class InvalidFileError(UsageError):
    """One or many mistakes in a file, each with its place; all of them are told at once."""

    def __init__(self, problems: tuple[str, ...], *, hint: str = "") -> None:
        super().__init__(lines(*problems), hint=hint)
        self.problems = problems


class RefusedError(KfixError):
    """Stale, expired, spent or foreign plan, a failed precondition, a limit: nothing was changed."""

    exit_code = 3


class ApprovalError(KfixError):
    """Approval missing or declined before the first change."""

    exit_code = 4


class NotProvedError(KfixError):
    """Applied, but the proof failed or was inconclusive."""

    exit_code = 5


class StoppedError(KfixError):
    """Stopped part-way after a change: declined later, an invariant, Ctrl-C."""

    exit_code = 6


class RolledBackError(KfixError):
    """A step failed and everything was taken back, proved: the cluster is as it was before the run."""

    exit_code = 7


class RollbackFailedError(KfixError):
    """A step failed and could not all be taken back: a person is needed."""

    exit_code = 8


class HeldError(KfixError):
    """Another run or operator holds the cluster, or its cooldown has not passed."""

    exit_code = 9


class UnreachableError(KfixError):
    """The cluster, or a source without which nothing can be said, does not answer."""

    exit_code = 22


class StoreError(UnreachableError):
    """The fleet store cannot be written: no space, no permission, gone. No cluster's fault: the whole run stops."""


class LabError(KfixError):
    """The lab cannot do what it was asked: no Java, no Maven, no free port, a broker that does not start."""

    exit_code = 1


class ReadOnlyViolationError(KfixError):
    """A mutating request reached a read-only transport: a mistake in kfix, stopped before it was sent."""

    exit_code = 1
