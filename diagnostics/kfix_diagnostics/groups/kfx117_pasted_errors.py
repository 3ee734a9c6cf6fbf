"""KFX117 pasted-errors: a pasted text has errors of clients, brokers or controllers.

Why it matters
    The error of one client names what blocks it: a group without a coordinator waits for the leader of its partition of
    `__consumer_offsets`, a producer for the leader or the ISR of its topic. The log of a stopped broker names the
    reason.

How kfix knows
    The text has an error in the wording of a broker, a controller or a client, and names its subject. A name comes only
    from the place where that client prints names. `kafka-consumer-groups` prints no group, so kfix takes the one in its
    command. A group hashes to one of the partitions that the text states for the topic, otherwise of 50, Kafka's
    default. An error that a later line settles does not count, and an error that the same text explains by a partition
    is reported with the partition only. An error that a diagnosis of the cluster has a finding for, such as a failed
    log directory (KFX406) or a lost quorum (KFX811), is reported with the code of that finding.

Remedies, safest first
    Check the named object, or diagnose the cluster itself: `kfix diagnose --group GROUP`.

Do not
    Do not restart the clients: a group without a coordinator would only wait again.

Sources
    Kafka 2.7.1 and 4.3.1, Errors.java and the log messages. See docs/facts/consumer-groups.md and docs/pasted-text.md.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows, Scope
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.pasted import Complaint
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has, per_topic, some
from kfix_diagnostics._advice import blocked, diagnose_again, diagnose_group, runbook, servers
from kfix_diagnostics._words import error_name
from kfix_diagnostics.sources._logged import MEANINGS, NO_LEADER, Meaning

#: The default of offsets.topic.num.partitions.
_USUAL_PARTITIONS = 50
_SHOWN = 5
_UNNAMED = -1
#: The two forms of a word in a `Meaning`.
_NUMBER = re.compile(r"\[([^|\]]+)\|([^\]]+)\]")
_LEADER_ERRORS = frozenset({5, 6, 19, 20})
_MIN_ISR_ERRORS = frozenset({19, 20})
#: Why a broker does not start, or stops.
_NO_START = (
    "files",
    "all log dirs",
    "disk full",
    "locked",
    "truncation refused",
    "cluster id",
    "broker id",
    "id taken",
)
#: {kind: the kinds that explain it where they are about the same broker}.
_EXPLAINED_BY = {
    "stopped": (*_NO_START, "memory"),
    "shutting down": (*_NO_START, "stopped", "memory"),
    "all log dirs": ("disk full",),
    "process": (*_NO_START, "stopped", "memory"),
    "log dir": ("files", "all log dirs", "disk full", "locked"),
    "gone": ("all log dirs", "disk full", "truncation refused", "stopped", "shutting down"),
    "unreachable": ("advertised", "gone", "stopped", "shutting down"),
    "voter": ("no voters",),
}


@ClusterCheck(
    severity=Severity.CRITICAL,
    rows="(leaderless or n_isr < min_isr and n_isr < n_replicas) and not deleting",
    debounce=Debounce.NONE,
    scope=Scope.TEXT,
)
def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    text = case.snapshot.pasted
    if text is None:
        return
    kinds: dict[str, list[Complaint]] = {}
    for each in text.complaints:
        of_commits = each.about == "min isr" and each.name.startswith(f"{OFFSETS_TOPIC}-")
        kinds.setdefault("commits" if of_commits else each.about, []).append(each)
    down = {row.tp for row in rows if row.leaderless} | {_partition(c.name) for c in kinds.get("offline", ())}
    groups = [c for c in kinds.get("group", ()) if not _explained(c.name, down, case)]
    if groups:
        yield _of_groups(groups, case)
    shown = {row.topic for row in rows} | {_partition(c.name).topic for c in kinds.get("min isr", ())}
    topics = [c for c in kinds.get("topic", ()) if c.code in _LEADER_ERRORS and c.name not in shown]
    over = [c for c in topics if _looks_well(c.name, case)]
    for found in (over, [c for c in topics if c not in over]):
        if found:
            yield _of_topics(found, case, over=found is over)
    sick = {str(row.tp) for row in rows}
    for kind, meaning in MEANINGS.items():
        lasting = [c for c in kinds.get(kind, ()) if not _known(c, kinds, sick, case)]
        if lasting:
            yield _of_kind(meaning, lasting, case)


def _looks_well(topic: str, case: CaseFile) -> bool:
    """Returns whether the text shows every partition of the topic, none without a leader or below its minimum."""
    count = (case.snapshot.stated_partitions or {}).get(topic, 0)
    return bool(count) and all(case.views_of(TopicPartition(topic, number)) for number in range(count))


def _known(error: Complaint, kinds: dict[str, list[Complaint]], sick: set[str], case: CaseFile) -> bool:
    """Returns whether another finding of this diagnosis reports it, with its cause or its partition."""
    causes = (other for kind in _EXPLAINED_BY.get(error.about, ()) for other in kinds.get(kind, ()))
    if any(other.node == error.name if error.about == "process" else other.broker == error.broker for other in causes):
        return True
    if error.about == "min isr":
        return error.name in sick
    if error.about == "shrunk":
        tp = _partition(error.name)
        return bool(case.views_of(tp)) and error.broker not in case.isr(tp)
    return error.about == "gone" and (
        any(_waits_for(tp, error.broker, case) for tp in {*map(_partition, sick), *(row.tp for row in case.odd)})
    )


def _waits_for(tp: TopicPartition, broker: int, case: CaseFile) -> bool:
    """Returns whether the broker can give the partition its leader again, or its ISR lacks it."""
    return (broker in case.isr(tp)) == (not any(view.leader >= 0 for view in case.views_of(tp).values()))


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def _explained(group: str, down: set[TopicPartition], case: CaseFile) -> bool:
    """Returns whether the text shows the partition of the group without a leader, or any where it names no group."""
    if not group:
        return any(tp.topic == OFFSETS_TOPIC for tp in down)
    count = case.offsets_partitions
    return bool(count) and TopicPartition(OFFSETS_TOPIC, partition_of_group(group, count)) in down


def _of_groups(found: list[Complaint], case: CaseFile) -> Finding:
    names = tuple(sorted({c.name for c in found if c.name}))
    count = case.offsets_partitions
    tps = (
        tuple(sorted({TopicPartition(OFFSETS_TOPIC, partition_of_group(name, count)) for name in names}))
        if count
        else ()
    )
    who = _groups(names)
    return Finding(
        severity=Severity.CRITICAL,
        obj=who,
        summary=f"{who} cannot work: {_errors(found)}{_where(names, case)}",
        cause=Cause(
            "the partition has no leader, or its coordinator is loading or does not respond", Confidence.UNKNOWN
        ),
        evidence=_evidence(found),
        blocked=Blocked(groups=names, others_unknown=True),
        remedies=tuple(_group_remedies(names, case)),
        never=("Do not restart the consumers: they wait for the same coordinator again",),
        partitions=tps,
    )


def _groups(names: tuple[str, ...]) -> str:
    return f"group{'' if len(names) == 1 else 's'} {some(names)}" if names else "a group that the text does not name"


def _where(names: tuple[str, ...], case: CaseFile) -> str:
    """Returns which partition coordinates the first group, and how that is known."""
    if not names:
        return ""
    stated = case.offsets_partitions
    tp = TopicPartition(OFFSETS_TOPIC, partition_of_group(names[0], stated or _USUAL_PARTITIONS))
    basis = "" if stated else f", if the topic has {_USUAL_PARTITIONS} partitions, Kafka's default"
    view = next(iter(case.views_of(tp).values()), None)
    leader = f". Broker {view.leader} leads it in this text" if view is not None and view.leader >= 0 else ""
    who = "Its" if len(names) == 1 else "The first one's"
    return f". {who} coordinator is the leader of {tp}{basis}{leader}"


def _group_remedies(names: tuple[str, ...], case: CaseFile) -> Iterator[Remedy]:
    if not case.offsets_partitions:
        yield Remedy(
            "Describe the offsets topic: the partition of the group needs a leader",
            f"kafka-topics.sh {servers(case)} --describe --topic {OFFSETS_TOPIC}",
        )
    if names:
        yield diagnose_group(case, names[0], "Ask the coordinator of the group itself")
    else:
        yield diagnose_again(case, "Diagnose the cluster itself, which asks every coordinator")


def _of_topics(found: list[Complaint], case: CaseFile, *, over: bool) -> Finding:
    """Returns the finding about errors of clients; with `over`, the text shows their topics without a fault."""
    names = tuple(sorted({c.name for c in found if c.name}))
    who = f"topic{'' if len(names) == 1 else 's'} {some(names)}" if names else "a topic that the text does not name"
    past = ". The text shows each of its partitions with a leader, so it may be over" if over else ""
    describe = Remedy(
        "Describe the topic: check for partitions without a leader and for short ISRs",
        f"kafka-topics.sh {servers(case)} --describe --topic {shlex.quote(names[0])}" if names else "",
    )
    return Finding(
        severity=Severity.WARNING if over else Severity.CRITICAL,
        obj=who,
        summary=f"clients of {who} report an error: {_errors(found)}{past}",
        cause=_cause_of_topics({c.code for c in found}, over=over),
        evidence=_evidence(found),
        blocked=Blocked() if over else Blocked(f"clients of {who}"),
        remedies=(*(() if over else (describe,)), diagnose_again(case, "Diagnose the cluster itself")),
        never=("Do not trigger an unclean election: an in-sync replica may be alive",),
    )


def _cause_of_topics(codes: set[int], *, over: bool) -> Cause:
    if over:
        return Cause("the leader moved", Confidence.POSSIBLE)
    if codes <= _MIN_ISR_ERRORS:
        return Cause("fewer replicas are in sync than min.insync.replicas requires", Confidence.LIKELY)
    if not codes & _MIN_ISR_ERRORS:
        return Cause("a partition has no leader, or its leader moved", Confidence.POSSIBLE)
    return Cause("a partition has no leader, or too few replicas are in sync", Confidence.POSSIBLE)


def _of_kind(meaning: Meaning, found: list[Complaint], case: CaseFile) -> Finding:
    brokers = tuple(sorted({c.broker for c in found if c.broker >= 0}))
    named = tuple(sorted({c.name for c in found if c.name}))
    tps = tuple(sorted(map(_partition, named))) if meaning.of_partitions else ()
    groups = named if meaning.about == "a group" else ()
    names = _groups(groups) if meaning.about == "a group" else per_topic(tps) or some(named)
    details = tuple(dict.fromkeys(c.detail for c in found if c.detail))
    words = {
        "names": names or "a partition that the text does not name",
        "first": named[0] if named else "NAME",
        "have": has(max(len(named), 1)),
        "detail": some(details) or "the text names nothing more",
        "more": f": {some(details)}" if details else "",
    }

    def said(text: str, article: str = "the") -> str:
        nodes = {
            "broker": brokers_named(brokers) if brokers else _unnamed(found, article),
            "node": _nodes("controller", brokers, article),
            "voter": _nodes("voter", brokers, article),
        }
        return _NUMBER.sub(lambda forms: forms[2 if len(brokers) > 1 else 1], text).format_map(words | nodes)

    return Finding(
        code=meaning.code,
        severity=meaning.severity,
        obj=_object(meaning, brokers, names),
        summary=said(meaning.summary, "a"),
        cause=Cause(said(meaning.cause), meaning.confidence),
        evidence=_evidence(found),
        blocked=blocked(case, tps)
        if meaning.code == NO_LEADER
        else Blocked("" if groups else meaning.blocked, groups if meaning.blocked else ()),
        remedies=(
            *(Remedy(said(text)) for text in meaning.remedies),
            *([runbook(case, meaning.runbook, meaning.repairs)] if meaning.runbook else []),
            diagnose_again(case, "Diagnose the cluster itself"),
        ),
        never=(said(meaning.never),),
        partitions=tps,
        headline=meaning.about if meaning.severity is Severity.INFO else "",
    )


def _nodes(noun: str, ids: tuple[int, ...], article: str = "a") -> str:
    if not ids:
        return f"{article} {noun}"
    return f"{noun}{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


def _unnamed(found: list[Complaint], article: str) -> str:
    """Returns the broker by its pod, host or file, where the text does not show its id."""
    nodes = sorted({c.node for c in found if c.node})
    return f"the broker of {some(nodes)}" if nodes else f"{article} broker"


def _object(meaning: Meaning, brokers: tuple[int, ...], names: str) -> str:
    if brokers and meaning.of_brokers:
        return brokers_named(brokers)
    if brokers and meaning.about == "a voter":
        return _nodes("voter", brokers)
    return names or meaning.about


def _errors(found: list[Complaint]) -> str:
    codes = sorted({c.code for c in found if c.code != _UNNAMED})
    return ", ".join(map(error_name, codes)) or "the text names no error code"


def _evidence(found: list[Complaint]) -> tuple[Evidence, ...]:
    shown = tuple(Evidence("text", _where_of(c), c.text[:160]) for c in found[:_SHOWN])
    rest = len(found) - _SHOWN
    return (*shown, Evidence("text", "more errors", f"{rest} of them {are(rest)} not shown")) if rest > 0 else shown


def _where_of(error: Complaint) -> str:
    """Returns the first line of an error, and how often the text has it."""
    where = error.where or f"line {error.line}"
    return f"{where} ({error.times} times)" if error.times > 1 else where
