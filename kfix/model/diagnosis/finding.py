"""What a diagnostic says: a code, an object, one sentence with numbers, and everything a person needs to act on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum

from kfix.model.cluster.snapshot import TopicPartition, Vantage
from kfix.model.run import UnfinishedRun


class Severity(IntEnum):
    """Ordered, so that the worst of many is `max`."""

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


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observed value: which source, what was asked, what it said, how old the value is (seconds, None: unknown)."""

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
    """Who cannot work. `groups` are known by name; `others_unknown` says that more may be hidden (prior-art, 1)."""

    who: str = ""
    groups: tuple[str, ...] = ()
    others_unknown: bool = False

    def __bool__(self) -> bool:
        return bool(self.who or self.groups or self.others_unknown)


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way to help, least harm first. `command` is ready to paste; "" where a person has to act (start a broker)."""

    text: str
    command: str = ""
    runbook: str = ""


#: The code of what a person asked for without any finding, such as another replication factor.
REQUEST = "REQUEST"

FactValue = int | str | bool | tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """`key` (code and object) is stable over runs. `follows` names keys of findings that explain this one.

    `facts` are what a runbook may refer to as `finding.NAME`. `folded` are filled by the engine, never by a check.
    `token` tells one fault from the next with the same symptom (a leader epoch, a czxid): two looks must agree on it.
    `prevention` is set by the engine: nothing is broken today, it will bite one day.
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
    partitions: tuple[TopicPartition, ...] = ()
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    follows: tuple[str, ...] = ()
    folded: tuple[Finding, ...] = ()
    token: str = ""
    unsettled: bool = False
    prevention: bool = False

    @property
    def key(self) -> str:
        return f"{self.code}:{self.obj}"

    @property
    def worst(self) -> Severity:
        return max((self.severity, *(f.worst for f in self.folded)))

    def walk(self) -> Iterator[Finding]:
        yield self
        for child in self.folded:
            yield from child.walk()

    def with_folded(self, children: tuple[Finding, ...]) -> Finding:
        return replace(self, folded=children)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings of one snapshot, heads first by severity, and what could not be read.

    `prevention`: what works today and will bite one day was judged too. `vantages`: the named places it was seen from.
    `unfinished`: runs on this cluster that were begun on this host and not finished; no snapshot shows them.
    """

    cluster: str
    taken_at: float
    findings: tuple[Finding, ...]
    could_not_read: tuple[str, ...] = ()
    looked_at: Mapping[str, int] = field(default_factory=dict)
    prevention: bool = False
    vantages: tuple[Vantage, ...] = ()
    unfinished: tuple[UnfinishedRun, ...] = ()

    def walk(self) -> Iterator[Finding]:
        for finding in self.findings:
            yield from finding.walk()

    @property
    def worst(self) -> Severity | None:
        return max((f.worst for f in self.findings), default=None)
