"""What a diagnostic reports: a code, an object, one sentence with numbers, and everything an operator needs to act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum

from kfix.core.run import UnfinishedRun
from kfix.core.snapshot.snapshot import TopicPartition, Vantage


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
    """Why, in a sentence, and how certain that is."""

    text: str
    confidence: Confidence = Confidence.LIKELY


@dataclass(frozen=True, slots=True)
class Blocked:
    """Which clients cannot work. `groups` are known by name; with `others_unknown` there may be groups not listed.

    `unaffected` are clients of the same partitions or brokers that work.
    """

    who: str = ""
    groups: tuple[str, ...] = ()
    others_unknown: bool = False
    unaffected: str = ""

    def __bool__(self) -> bool:
        return bool(self.who or self.groups or self.others_unknown)


class ChangeKind(StrEnum):
    """A kind of change that one finding may forbid while another finding's remedy makes it."""

    ELECTION = "election"
    #: With ZooKeeper: another broker becomes the controller, reads everything again, and elects leaders if it can.
    CONTROLLER_ELECTION = "controller election"
    UNCLEAN_ELECTION = "unclean election"
    REASSIGNMENT = "reassignment"
    #: A setting of a topic or broker that the active controller, or ZooKeeper, has to store.
    SETTING = "setting"
    RESTART = "restart"
    START = "start"
    #: A running broker that is fenced or not registered is repaired and registers again.
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

    `changes` are the kinds of change that it makes and that another finding may forbid; `brokers` those that it
    restarts, starts or repairs (none: one after the other). `after` is the key of the finding that forbids it and has
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
    """One fault or latent risk. Summary, remedies and `never` are sentences without the final period; reports add it.

    - `code` is that of the check which yields it, unless that names another one; `prevention` is the check's, too: a
      latent risk breaks nothing today. The `findings` of a check sets both.
    - `key` is stable over runs: code and object, or code and `about` if the object lists members that come and go.
    - `follows` names keys of findings that explain this one, `follows_codes` the codes of findings that explain it if
      they share a partition.
    - `facts` are the values that a runbook may refer to as `finding.NAME`.
    - `folded` is filled by the engine, never by a check.
    - `lasted` is the least number of seconds for which the fault has lasted by its own evidence; -1: unknown.
    - `token` distinguishes one fault from the next with the same symptom (a leader epoch, a czxid): two snapshots must
      agree on it.
    - `headline` replaces "healthy" in the first line while this finding is only advice, such as that a broker may be
      restarting. In a warning it says that the cluster is degraded and what is left.
    - `forbids` lists the changes that `never` warns of, so that the engine holds them back in other findings' remedies.
    """

    obj: str
    summary: str
    cause: Cause
    severity: Severity = Severity.WARNING
    code: str = ""
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
        """Yields itself and its consequences, without parts of it: findings of its code, such as a second dead
        broker.
        """
        yield self
        for child in self.folded:
            yield from (each for each in child.counted() if each is not child or child.code != self.code)

    def with_folded(self, children: tuple[Finding, ...]) -> Finding:
        return replace(self, folded=children)


@dataclass(frozen=True, slots=True)
class MutedFinding:
    """A finding that the inventory mutes, with its consequences: the reason, the last day, and who decided it."""

    finding: Finding
    reason: str
    until: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the reader of a diagnosis chose to leave out, so that no output calls it absent.

    `findings` are without those folded under them, which are listed by themselves; `muted` are the left-out muted ones;
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

    - `prevention`: whether latent risks were judged too
    - `vantages`: the named places from which the snapshot was taken
    - `notes`: sentences about normal activity, such as a reassignment
    - `unfinished`: runs on this cluster that this host started and did not finish; no snapshot shows them
    - `profile`: the cluster's name in the inventory with which it was read, "" without one
    - `muted`: the findings that this inventory mutes, which are not in `findings`
    - `maintenance`: the reason of its current maintenance window, "" without one
    - `left_out`: headlines about what the reader chose to leave out; `hidden`: what that is
    - `inapplicable`: the checks that could not find anything, by code, each with the reason
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
        """Yields the findings for counting: each fault once."""
        for finding in self.findings:
            yield from finding.counted()

    @property
    def headlines(self) -> tuple[str, ...]:
        """Returns why the cluster is not healthy although nothing is an alarm."""
        found = dict.fromkeys(f.headline for f in self.walk() if f.headline and f.severity is Severity.INFO)
        if any(f.unsettled for f in self.walk()):
            found["something has just changed"] = None
        return tuple(found | dict.fromkeys(self.left_out))

    @property
    def degraded(self) -> str:
        """Returns what is left of a cluster that one more failure would stop, or ""."""
        return next((f.headline for f in self.walk() if f.headline and f.severity is Severity.WARNING), "")

    @property
    def worst(self) -> Severity | None:
        return max((f.worst for f in self.findings), default=None)


# The explanation of one consumer group: a series of checks from its coordinator's address to its rights.


class RungState(StrEnum):
    """The result of one check of the series. `OPEN` was read and leaves a doubt; `UNREAD` is not healthy."""

    CLEAR = "not the cause"
    FAILS = "fails"
    OPEN = "in doubt"
    UNREAD = "not read"


@dataclass(frozen=True, slots=True)
class Rung:
    """One check of the series. `said` is the answer, or why it was not read; `code` the finding that it rests on."""

    name: str
    state: RungState
    said: str
    evidence: tuple[Evidence, ...] = ()
    next_steps: tuple[Remedy, ...] = ()
    code: str = ""


@dataclass(frozen=True, slots=True)
class GroupStory:
    """Why a group is blocked; `blocked` is None if that is unknown. The first failing one of `rungs` is the cause."""

    group: str
    partition: TopicPartition | None
    blocked: bool | None
    verdict: str
    rungs: tuple[Rung, ...] = ()
    findings: tuple[Finding, ...] = ()
    next_steps: tuple[Remedy, ...] = ()

    @property
    def cause(self) -> Rung | None:
        return next((rung for rung in self.rungs if rung.state is RungState.FAILS), None)


# The exit codes of every diagnosis, audit and inspection (docs/exit-codes.md).

HEALTHY = 0
WARNINGS = 20
CRITICAL = 21
CANNOT_TELL = 22
