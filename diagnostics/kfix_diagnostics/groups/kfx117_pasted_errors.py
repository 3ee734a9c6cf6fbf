"""KFX117 pasted-errors: a pasted text has errors that name groups, topics, brokers or the controller.

Why it matters
    The error of one client names what blocks it: a group without a coordinator waits for the leader of its partition of
    `__consumer_offsets`, a producer for the leader or the ISR of its topic. Each tool words it differently.

How kfix knows
    The text has Kafka's error codes, in the wordings of the Java client, of librdkafka and of Sarama, with the group,
    the topic or the broker in the same line. `kafka-consumer-groups` prints no group, so kfix takes the one in its
    command. A group hashes to one of the partitions that the text states for the topic, otherwise of 50, Kafka's
    default. A group whose partition has no leader in the same text is reported with that partition instead (KFX107).

Remedies, safest first
    Check the partition that is named, or diagnose the cluster itself: `kfix diagnose --group GROUP`.

Do not
    Do not restart the clients: a group without a coordinator would only wait again.

Sources
    Kafka 2.7.1, Errors.java and the logs of its clients. See docs/facts/consumer-groups.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows, Scope
from kfix.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.model.cluster.pasted import Complaint
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.wording import some
from kfix_diagnostics._advice import cluster_options, diagnose_again, servers
from kfix_diagnostics._words import are, error_name

CODE = "KFX117"
#: The default of offsets.topic.num.partitions.
_USUAL_PARTITIONS = 50
_SHOWN = 5
_UNNAMED = -1
_LEADER_ERRORS = frozenset({5, 6, 19, 20})


def check(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    text = case.snapshot.pasted
    if text is None:
        return
    down = {row.tp for row in rows}
    by_subject: dict[str, list[Complaint]] = {}
    for each in text.complaints:
        by_subject.setdefault(each.about, []).append(each)
    groups = [c for c in by_subject.get("group", ()) if not _explained(c.name, down, case)]
    if groups:
        yield _of_groups(groups, case)
    down_topics = {tp.topic for tp in down}
    topics = [c for c in by_subject.get("topic", ()) if c.code in _LEADER_ERRORS and c.name not in down_topics]
    if topics:
        yield _of_topics(topics, case)
    for about in ("broker", "controller", "quorum"):
        if found := by_subject.get(about):
            yield _of_servers(about, found, case)


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
    who = f"group{'' if len(names) == 1 else 's'} {some(names)}" if names else "a group that the text does not name"
    return Finding(
        code=CODE,
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
    yield Remedy(
        "Describe the offsets topic: the partition of the group needs a leader",
        f"kafka-topics.sh {servers(case)} --describe --topic {OFFSETS_TOPIC}",
    )
    if names:
        yield Remedy(
            "Ask the coordinator of the group itself",
            f"kfix diagnose {cluster_options(case)} --group {shlex.quote(names[0])}",
        )
    else:
        yield diagnose_again(case, "Diagnose the cluster itself, which asks every coordinator")


def _of_topics(found: list[Complaint], case: CaseFile) -> Finding:
    names = tuple(sorted({c.name for c in found}))
    who = f"topic{'' if len(names) == 1 else 's'} {some(names)}"
    return Finding(
        code=CODE,
        severity=Severity.CRITICAL,
        obj=who,
        summary=f"clients of {who} report an error: {_errors(found)}",
        cause=Cause("a partition has no leader, or too few replicas are in sync", Confidence.POSSIBLE),
        evidence=_evidence(found),
        blocked=Blocked(f"clients of {who}"),
        remedies=(
            Remedy(
                "Describe the topic: check for partitions without a leader and for short ISRs",
                f"kafka-topics.sh {servers(case)} --describe --topic {shlex.quote(names[0])}",
            ),
            diagnose_again(case, "Diagnose the cluster itself"),
        ),
        never=("Do not trigger an unclean election: an in-sync replica may be alive",),
    )


#: {subject: (object of the finding, what is wrong, the remedy, what not to do)}
_SERVERS = {
    "broker": (
        "brokers with a failed log directory",
        "a log directory has failed, and its replicas are offline",
        "Repair the disk, then restart the broker: until then it serves its other log directories",
        "Do not delete a log directory and do not format one: it may hold the only replica of a record",
    ),
    "controller": (
        "no controller",
        "ZooKeeper has no controller, so no leader is elected",
        "Check that at least one broker is registered: the first one that registers becomes the controller",
        "Do not delete znodes below /brokers: the next controller reads the state of the partitions there",
    ),
    "quorum": (
        "no leader of the KRaft quorum",
        "the controller quorum has no leader, so no partition gets another leader",
        "Start controllers until a majority of the voters runs",
        "Do not format the log directory of a controller: it may hold metadata that no other voter has",
    ),
}


def _of_servers(about: str, found: list[Complaint], case: CaseFile) -> Finding:
    what, summary, remedy, never = _SERVERS[about]
    names = [f"broker {name}" for name in sorted({c.name for c in found if c.name})]
    return Finding(
        code=CODE,
        severity=Severity.WARNING if about == "broker" else Severity.CRITICAL,
        obj=what,
        summary=f"{some(names)}: {summary}" if names else summary,
        cause=Cause("the text shows it", Confidence.CERTAIN),
        evidence=_evidence(found),
        remedies=(Remedy(remedy), diagnose_again(case, "Diagnose the cluster itself")),
        never=(never,),
    )


def _errors(found: list[Complaint]) -> str:
    codes = sorted({c.code for c in found if c.code != _UNNAMED})
    return ", ".join(map(error_name, codes)) or "the text names no error code"


def _evidence(found: list[Complaint]) -> tuple[Evidence, ...]:
    shown = tuple(Evidence("text", f"line {c.line}", c.text[:160]) for c in found[:_SHOWN])
    rest = len(found) - _SHOWN
    return (*shown, Evidence("text", "more errors", f"{rest} of them {are(rest)} not shown")) if rest > 0 else shown


CHECK = ClusterCheck(
    code=CODE,
    slug="pasted-errors",
    title="a pasted text has errors that name groups, topics or brokers",
    severity=Severity.CRITICAL,
    check=check,
    rows="leaderless and not deleting",
    debounce=Debounce.NONE,
    scope=Scope.TEXT,
)
