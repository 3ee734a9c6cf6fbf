"""`kfix diagnose --group G`: the whole ladder, from a diagnosis that has already been made. `RUNGS` is the order.

The first rung that fails is the verdict, because everything below it depends on it; the others still say what is known.
Source: docs/facts/consumer-groups.md.
"""

import difflib
import shlex
from collections.abc import Callable, Iterator

from kfix.core.derive.casefile import CaseFile, open_case
from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.diagnosis.finding import Diagnosis, Evidence, Finding, GroupStory, Remedy, Rung, RungState, Severity
from kfix.core.snapshot.group_reading import SHARE_GROUP, STREAMS_GROUP, readings_of
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix_diagnostics._advice import servers
from kfix_diagnostics.ladder import coordinator, members, offsets
from kfix_diagnostics.ladder.asked import PASTED_ERRORS, Asked, fails, unread

RUNGS: tuple[Callable[[Asked], Rung], ...] = (
    coordinator.address,
    coordinator.leader,
    coordinator.loaded,
    coordinator.stable_offsets,
    coordinator.commits,
    members.state,
    members.rebalance,
    members.partitions,
    offsets.position,
    offsets.last_stable_offset,
    offsets.lag,
    offsets.rights,
)
#: Without these, nothing is known of the group.
_NEEDED = ("leader", "loaded")
#: The tools of Kafka that describe the members of other groups than those of consumers.
_TOOLS = {SHARE_GROUP: "kafka-share-groups.sh", STREAMS_GROUP: "kafka-streams-groups.sh"}
#: The default of offsets.topic.num.partitions.
_USUAL_PARTITIONS = 50


def explain_group(snapshot: Snapshot, diagnosis: Diagnosis, group: str) -> GroupStory:
    """Returns the ladder of one group and its verdict; `blocked` is None where a needed rung was not read."""
    case = open_case(snapshot)
    if case.offsets_partitions_unknown:
        return _unknown_count(group, diagnosis)
    if not case.offsets_partitions:
        return _without_topic(group, case, diagnosis)
    tp = TopicPartition(OFFSETS_TOPIC, partition_of_group(group, case.offsets_partitions))
    own = next((p for p in case.probes if p.group == group), None)
    probe = own or next((p for p in case.probes if p.partition == tp.partition), None)
    readings = tuple(each for each in readings_of(snapshot.group_readings, group) if each.in_depth)
    asked = Asked(group, tp, case, diagnosis, probe, readings)
    rungs = tuple(rung(asked) for rung in RUNGS)
    blocked, verdict = _verdict(asked, rungs)
    codes = {rung.code for rung in rungs if rung.code}
    found = tuple(f for f in diagnosis.walk() if f.code in codes and _concerns(f, asked))
    return GroupStory(
        group, tp, blocked, f"group {group}: {verdict}", rungs, found, () if blocked else tuple(_next(asked))
    )


def _concerns(finding: Finding, asked: Asked) -> bool:
    mine = set(asked.latest.partitions or ()) if asked.latest is not None else set()
    named = asked.group in {*finding.blocked.groups, finding.facts.get("group")}
    return asked.tp in finding.partitions or named or bool(mine & {*finding.partitions})


def _verdict(asked: Asked, rungs: tuple[Rung, ...]) -> tuple[bool | None, str]:
    cause = next((rung for rung in rungs if rung.state is RungState.FAILS), None)
    if cause is not None:
        slow = asked.of_group(offsets.FALLS_BEHIND) if cause.code == offsets.FALLS_BEHIND else None
        blocked = slow is None or slow.severity is Severity.CRITICAL
        how = ("blocked by " if cause.code else "blocked: ") if blocked else "its coordinator is healthy, but "
        return blocked, f"{how}{cause.said}"
    lacking = next((rung for rung in rungs if rung.name in _NEEDED and rung.state is RungState.UNREAD), None)
    if lacking is not None:
        return None, lacking.said
    if not _named(asked):
        return None, _unheard_of(asked)
    doubt = next((rung for rung in rungs if rung.state is RungState.OPEN), None)
    if doubt is not None:
        return None, f"its coordinator is healthy and no rung fails, but one leaves a doubt: {doubt.said}"
    broker = asked.probe.coordinator if asked.probe is not None else None
    if incomplete := _not_read(asked):
        return None, f"its coordinator on broker {broker} is healthy, but {incomplete}"
    said = [f"its coordinator on broker {broker} is healthy"]
    if asked.latest is None:
        said.append("its members, offsets and lag were not read")
    elif asked.latest.state == "Empty":
        said.append("the group has no member, so nothing reads")
    return False, "; ".join(said)


def _not_read(asked: Asked) -> str:
    """Returns what of the group was asked for and not read, "" if nothing, or if the group was not asked about."""
    reading = asked.latest
    if reading is not None and reading.group_type == STREAMS_GROUP:
        return "kfix does not read a streams group's members"
    if reading is None or not reading.errors:
        return ""
    missing = [what for what, found in (("members", reading.members), ("offsets", reading.partitions)) if found is None]
    why = "; ".join(dict.fromkeys(reading.errors.values()))
    return f"its {' and '.join(missing)} were not read: {why}" if missing else ""


def _named(asked: Asked) -> bool:
    """Returns whether any source names the group: a list of groups, an earlier snapshot, or its committed offsets."""
    names = {g.name for g in asked.case.snapshot.groups} | set(asked.case.snapshot.memory.groups)
    names |= {g.name for log in asked.case.offsets_logs for g in log.groups}
    own = asked.probe is not None and asked.probe.group == asked.group and bool(asked.probe.committed)
    return asked.group in names or own or bool(asked.latest and (asked.latest.members or asked.latest.partitions))


def _unheard_of(asked: Asked) -> str:
    known = sorted({name for names in asked.case.groups.values() for name in names} - {asked.group})
    close = difflib.get_close_matches(asked.group, known, n=1)
    guess = f". Did you mean {close[0]!r}?" if close else ""
    own = asked.probe is not None and asked.probe.group == asked.group
    offsets_too = " and it has no committed offset" if own else ""
    return f"no source names it{offsets_too}, although the coordinator of {asked.tp} responds: check the name{guess}"


def _next(asked: Asked) -> Iterator[Remedy]:
    if not _named(asked) and asked.probe is not None and asked.probe.answers:
        yield Remedy("List the groups of the cluster", f"kafka-consumer-groups.sh {servers(asked.case)} --list")
        return
    tool = _TOOLS.get(asked.latest.group_type if asked.latest is not None else "", "kafka-consumer-groups.sh")
    yield Remedy(
        "Check the group's members and what they do",
        f"{tool} {servers(asked.case)} --describe --group {shlex.quote(asked.group)} --members",
    )


def _unknown_count(group: str, diagnosis: Diagnosis) -> GroupStory:
    """A text that shows some rows of the offsets topic and no header: the group may hash to any partition."""
    likely = TopicPartition(OFFSETS_TOPIC, partition_of_group(group, _USUAL_PARTITIONS))
    findings = tuple(f for f in diagnosis.walk() if likely in f.partitions)
    said = f"it would be {likely} if there are {_USUAL_PARTITIONS}, Kafka's default"
    said += f", and {findings[0].code} reports that one: {findings[0].summary}" if findings else ""
    return GroupStory(
        group,
        None,
        None,
        f"group {group}: its partition is unknown, because the text does not state the partition count of "
        f"{OFFSETS_TOPIC}; {said}",
        (unread("leader", "the partition count is unknown"),),
        findings,
        (
            Remedy(
                "Give the whole description, whose first line states PartitionCount",
                f"kafka-topics.sh --bootstrap-server HOST:PORT --describe --topic {OFFSETS_TOPIC}",
            ),
        ),
    )


def _without_topic(group: str, case: CaseFile, diagnosis: Diagnosis) -> GroupStory:
    if case.snapshot.pasted is not None:
        return _not_in_the_text(group, diagnosis)
    known = bool(case.views) or bool(case.registrations)
    said = (
        f"{OFFSETS_TOPIC} does not exist, so no group has committed yet"
        if known
        else "its state is unknown, no source was read"
    )
    rung = Rung("leader", RungState.UNREAD, said, (Evidence("metadata", OFFSETS_TOPIC, "no partition"),))
    return GroupStory(group, None, None, f"group {group}: {said}", (rung,))


def _not_in_the_text(group: str, diagnosis: Diagnosis) -> GroupStory:
    """A text without any row of the offsets topic: only an error of the group itself shows anything."""
    found = next((f for f in diagnosis.walk() if f.code == PASTED_ERRORS and group in f.blocked.groups), None)
    if found is None:
        said = f"the text does not show {OFFSETS_TOPIC}, so the state of its coordinator is unknown"
        rung = unread("leader", said)
        return GroupStory(group, None, None, f"group {group}: {said}", (rung,))
    rung = fails("leader", found)
    return GroupStory(group, None, True, f"group {group}: blocked by {rung.said}", (rung,), (found,))
