"""What a diagnostic reports: a code, an object, one sentence with numbers, and everything an operator needs to act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from kfix.core.snapshot.snapshot import TopicPartition, Vantage

if TYPE_CHECKING:
    from kfix.core.run import UnfinishedRun


class Severity(IntEnum):
    """How bad a finding is; ordered, so that the worst of many is `max`."""

    INFO = 0
    WARNING = 1
    CRITICAL = 2

    @property
    def word(self) -> str:
        return self.name.lower()


class Confidence(StrEnum):
    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"
    UNKNOWN = "unknown"


#: Sources of rows that are conclusions: what supports the cause, and which similar faults were excluded.
EVIDENCE_FOR = "evidence for"
RULED_OUT = "ruled out"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observed value: its source, what was asked, the answer, and its age in seconds (None: unknown)."""

    source: str
    what: str
    value: str
    age: float | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    text: str
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Blocked:
    """Which clients cannot work. `groups` are known by name; with `others_unknown` there may be groups not listed."""

    who: str = ""
    groups: tuple[str, ...] = ()
    others_unknown: bool = False

    def __bool__(self) -> bool:
        return bool(self.who or self.groups or self.others_unknown)


class ChangeKind(StrEnum):
    """A kind of change that one finding may forbid while the remedy of another one makes it."""

    ELECTION = "election"
    #: With ZooKeeper: another broker becomes the controller, reads all of it again, and elects leaders where it can.
    CONTROLLER_ELECTION = "controller election"
    UNCLEAN_ELECTION = "unclean election"
    REASSIGNMENT = "reassignment"
    RESTART = "restart"
    START = "start"
    #: A broker that runs, and is fenced or not registered, is repaired and registers again.
    REGISTRATION = "registration"


@dataclass(frozen=True, slots=True)
class Ban:
    """Changes that must not be made while a finding lasts, to these partitions or brokers; None: to any of them."""

    changes: tuple[ChangeKind, ...]
    partitions: frozenset[TopicPartition] | None = None
    brokers: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """One remedy, safest first. `command` is ready to paste; "" if an operator has to act, such as start a broker.

    `changes` are the kinds of change that it makes, as far as another finding may forbid them, and `brokers` those that
    it restarts, starts or repairs; none: one after the other. `after` is the key of the finding that forbids it and has
    to be resolved first, "" if none does; it then has no command.
    """

    text: str
    command: str = ""
    runbook: str = ""
    changes: tuple[ChangeKind, ...] = ()
    brokers: tuple[int, ...] = ()
    after: str = ""


#: The code of a change that was requested without any finding, such as another replication factor.
REQUEST = "REQUEST"

FactValue = int | str | bool | tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault or latent risk.

    `key` is stable over runs: code and object, or code and `about` where the object lists members that come and go.
    `follows` names keys of findings that explain this one, `follows_codes` the codes of findings that explain it where
    they share a partition. `facts` are the values that a runbook may refer to as `finding.NAME`. `folded` is filled by
    the engine, never by a check.
    `lasted` is for how many seconds, at least, the fault has lasted by its own evidence; -1: unknown.
    `token` distinguishes one fault from the next with the same symptom (a leader epoch, a czxid): two snapshots must
    agree on it. `headline` is what the first line says in place of "healthy" while this finding is only advice, such as
    that a broker may be restarting. `prevention` is set by the engine for a latent risk: nothing is broken today.

    `forbids` is what `never` says to other findings' remedies, which the engine then holds back.

    Summary, remedies and `never` are sentences without the final period; reports add it.
    """

    code: str
    severity: Severity
    obj: str
    summary: str
    cause: Cause
    evidence: tuple[Evidence, ...] = ()
    blocked: Blocked = Blocked()
    remedies: tuple[Remedy, ...] = ()
    never: tuple[str, ...] = ()
    forbids: tuple[Ban, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    follows: tuple[str, ...] = ()
    follows_codes: tuple[str, ...] = ()
    folded: tuple[Finding, ...] = ()
    token: str = ""
    unsettled: bool = False
    prevention: bool = False
    about: str = ""
    headline: str = ""
    lasted: float = -1.0

    @property
    def key(self) -> str:
        return f"{self.code}:{self.about or self.obj}"

    @property
    def worst(self) -> Severity:
        return max((self.severity, *(f.worst for f in self.folded)))

    def walk(self) -> Iterator[Finding]:
        yield self
        for child in self.folded:
            yield from child.walk()

    def counted(self) -> Iterator[Finding]:
        """Yields itself and its consequences; one of its own code, such as of a second dead broker, is a part of it."""
        yield self
        for child in self.folded:
            yield from (each for each in child.counted() if each is not child or child.code != self.code)

    def with_folded(self, children: tuple[Finding, ...]) -> Finding:
        return replace(self, folded=children)


@dataclass(frozen=True, slots=True)
class MutedFinding:
    """A finding that the inventory mutes, with those that it explains: the reason, the last day, and who decided it."""

    finding: Finding
    reason: str
    until: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the reader of a diagnosis chose not to be shown, so that no output calls it absent.

    `findings` are without those folded under them, which are listed by themselves; `muted` are those of the muted ones;
    `runs` are the unfinished runs that were cut short.
    """

    findings: tuple[Finding, ...] = ()
    muted: tuple[Finding, ...] = ()
    runs: int = 0

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Warnings and worse, muted ones included."""
        return tuple(f for f in (*self.findings, *self.muted) if f.severity > Severity.INFO)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings of one snapshot, heads first by severity, and the sources that could not be read.

    `prevention` is true if latent risks were judged too. `vantages` are the named places the snapshot was taken from.
    `notes` are sentences about what is under way and is no fault. `unfinished` are runs on this cluster that were
    begun on this host and not finished; no snapshot shows them. `profile` is the cluster's name in the inventory that
    it was read with, "" without one; `muted` are the findings that this inventory mutes, which are not in `findings`,
    and `maintenance` is the reason of its current maintenance window, "" without one. `left_out` are headlines about
    what the reader chose not to be shown, and `hidden` is what that is.
    `inapplicable` are the checks that could not find anything, by code, each with the reason.
    """

    cluster: str
    taken_at: float
    findings: tuple[Finding, ...]
    could_not_read: tuple[str, ...] = ()
    looked_at: Mapping[str, int] = field(default_factory=dict)
    prevention: bool = False
    vantages: tuple[Vantage, ...] = ()
    unfinished: tuple[UnfinishedRun, ...] = ()
    notes: tuple[str, ...] = ()
    profile: str = ""
    muted: tuple[MutedFinding, ...] = ()
    maintenance: str = ""
    left_out: tuple[str, ...] = ()
    hidden: Hidden = Hidden()
    inapplicable: Mapping[str, str] = field(default_factory=dict)

    def walk(self) -> Iterator[Finding]:
        for finding in self.findings:
            yield from finding.walk()

    def counted(self) -> Iterator[Finding]:
        """Yields the findings as they are counted: each fault once."""
        for finding in self.findings:
            yield from finding.counted()

    @property
    def headlines(self) -> tuple[str, ...]:
        """Returns what keeps the cluster from being called healthy although nothing is an alarm."""
        found = dict.fromkeys(f.headline for f in self.walk() if f.headline and f.severity is Severity.INFO)
        if any(f.unsettled for f in self.walk()):
            found["something has just changed"] = None
        return tuple(found | dict.fromkeys(self.left_out))

    @property
    def worst(self) -> Severity | None:
        return max((f.worst for f in self.findings), default=None)
