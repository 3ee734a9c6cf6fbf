"""`kfix diagnose --group G`: explains why one consumer group waits, from a diagnosis that has already been made."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator

from kfix.derive.casefile import CaseFile, open_case
from kfix.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.model.cluster.snapshot import CoordinatorProbe, Snapshot, TopicPartition
from kfix.model.diagnosis.finding import Diagnosis, Evidence, Finding, Remedy
from kfix.model.diagnosis.group_story import GroupStory
from kfix.wording import several
from kfix_diagnostics._advice import servers
from kfix_diagnostics._evidence import assignment_row, live_row, probe_words, state_row, view_rows

#: Findings that block a group when they name its offsets partition.
STOPS_COORDINATOR = frozenset({"KFX101", "KFX103", "KFX104", "KFX105", "KFX106", "KFX107"})
#: Findings that name the groups they concern; other groups of the partition are not affected.
STOPS_GROUP = frozenset({"KFX108", "KFX109"})
STOPS_COMMITS = "KFX304"
_NO_ANSWER = -1
#: The default of offsets.topic.num.partitions.
_USUAL_PARTITIONS = 50
#: TOPIC, GROUP and CLUSTER_AUTHORIZATION_FAILED.
_NOT_ALLOWED = frozenset({29, 30, 31})


def explain_group(snapshot: Snapshot, diagnosis: Diagnosis, group: str) -> GroupStory:
    case = open_case(snapshot)
    if case.offsets_partitions_unknown:
        return _unknown_count(group, diagnosis)
    if not case.offsets_partitions:
        return _without_topic(group, case)
    tp = TopicPartition(OFFSETS_TOPIC, partition_of_group(group, case.offsets_partitions))
    probe = next((p for p in case.probes if p.group == group), None)
    shared = next((p for p in case.probes if p.partition == tp.partition), None)
    findings = tuple(f for f in diagnosis.walk() if _concerns(f, tp, group))
    blocked, verdict = _verdict(tp, probe or shared, findings)
    unheard = blocked is False and not _named(group, probe, case)
    if unheard:
        blocked, verdict = None, _unheard_of(group, tp, probe or shared, case)
    return GroupStory(
        group,
        tp,
        blocked,
        f"group {group}: {verdict}",
        tuple(_steps(group, tp, probe or shared, case)),
        findings,
        (_list_groups(case),) if unheard else tuple(_next(group, findings, case)) if not blocked else (),
    )


def _concerns(finding: Finding, tp: TopicPartition, group: str) -> bool:
    return group in finding.blocked.groups if finding.code in STOPS_GROUP else tp in finding.partitions


def _named(group: str, probe: CoordinatorProbe | None, case: CaseFile) -> bool:
    """Returns whether any source names the group: a list of groups, an earlier snapshot, or its committed offsets."""
    names = {g.name for g in case.snapshot.groups} | set(case.snapshot.remembered_groups)
    names |= {g.name for log in case.offsets_logs for g in log.groups}
    return group in names or (probe is not None and bool(probe.committed))


def _list_groups(case: CaseFile) -> Remedy:
    return Remedy("List the groups of the cluster", f"kafka-consumer-groups.sh {servers(case)} --list")


def _unheard_of(group: str, tp: TopicPartition, probe: CoordinatorProbe | None, case: CaseFile) -> str:
    known = sorted({name for names in case.groups.values() for name in names} - {group})
    close = difflib.get_close_matches(group, known, n=1)
    guess = f". Did you mean {close[0]!r}?" if close else ""
    offsets = " and it has no committed offset" if probe is not None and probe.group == group else ""
    return f"no source names it{offsets}, although the coordinator of {tp} responds: check the name{guess}"


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
        (Evidence("hash", f"group {group}", "the partition count is unknown"),),
        findings,
        (
            Remedy(
                "Give the whole description, whose first line states PartitionCount",
                f"kafka-topics.sh --bootstrap-server HOST:PORT --describe --topic {OFFSETS_TOPIC}",
            ),
        ),
    )


def _without_topic(group: str, case: CaseFile) -> GroupStory:
    known = bool(case.views) or bool(case.registrations)
    said = (
        f"{OFFSETS_TOPIC} does not exist, so no group has committed yet"
        if known
        else "its state is unknown, no source was read"
    )
    return GroupStory(
        group, None, None, f"group {group}: {said}", (Evidence("metadata", OFFSETS_TOPIC, "no partition"),)
    )


def _steps(group: str, tp: TopicPartition, probe: CoordinatorProbe | None, case: CaseFile) -> Iterator[Evidence]:
    yield Evidence("hash", f"group {group}", f"{tp} of {several(case.offsets_partitions, 'partition')}")
    if probe is not None:
        via = "" if probe.group == group else f" (probed with group {probe.group}, which shares the partition)"
        said = probe_words(probe.find_error, probe.fetch_error) + (f": {probe.error}" if probe.error else "")
        named = f"broker {probe.coordinator}; " if probe.coordinator is not None else ""
        yield Evidence("coordinator probe", "coordinator", f"{named}{said}{via}")
        if probe.group == group and probe.committed is not None:
            yield Evidence("coordinator probe", "committed", f"offsets of {several(probe.committed, 'partition')}")
    else:
        yield Evidence("coordinator probe", "coordinator", "not probed")
    yield from _log_rows(group, tp, case)
    yield from state_row(case, tp)
    yield from view_rows(case, tp)
    yield from assignment_row(case, tp)
    yield from live_row(case)
    yield from _controller(case)
    listed = next((g for g in case.snapshot.groups if g.name == group), None)
    if listed is not None:
        by = ", ".join(map(str, listed.listed_by))
        yield Evidence(
            f"ListGroups of broker {by}", "group", f"{listed.state or 'listed'} (a listing does not prove health)"
        )


def _log_rows(group: str, tp: TopicPartition, case: CaseFile) -> Iterator[Evidence]:
    """Yields what the log of the partition says of this group, and what was read of it."""
    for log in (log for log in case.offsets_logs if log.partition == tp.partition):
        source = f"log of {tp} on broker {log.broker}"
        if log.error:
            yield Evidence(source, f"group {group}", f"not read: {log.error}")
            continue
        found = next((g for g in log.groups if g.name == group), None)
        part = "every record" if log.whole else f"records {log.first} to {log.end - 1} of {log.log_end}"
        said = f"offsets of {several(found.offsets, 'partition')}" if found is not None else "not named"
        yield Evidence(source, f"group {group}", f"{said} ({part} read)")


def _controller(case: CaseFile) -> Iterator[Evidence]:
    node = case.controller
    if node is not None:
        who = "none" if node.broker is None else f"broker {node.broker}"
        yield Evidence(case.zookeeper_name, "controller", f"{who}, epoch {node.epoch}")


def _verdict(
    tp: TopicPartition, probe: CoordinatorProbe | None, findings: tuple[Finding, ...]
) -> tuple[bool | None, str]:
    """Returns (blocked or not, why): a successful probe outweighs the metadata; without a probe the findings decide."""
    reason = next((f for f in findings if f.code in STOPS_COORDINATOR and not f.unsettled), None)
    if probe is not None and probe.answers:
        own = next((f for f in findings if f.code in STOPS_GROUP and not f.unsettled), None)
        if own is not None:
            return True, f"its coordinator responds, but {own.code}: {own.summary}"
        commits = next((f for f in findings if f.code == STOPS_COMMITS), None)
        if commits is not None:
            return True, f"its coordinator responds, but commits fail: {commits.summary}"
        return False, f"its coordinator on broker {probe.coordinator} is healthy"
    if reason is not None:
        return True, f"blocked by {reason.code}: {reason.summary}"
    if probe is not None and (probe.find_error or probe.fetch_error):
        return _unanswered(probe)
    return None, f"no finding concerns its coordinator on {tp}, but the coordinator was not probed"


def _unanswered(probe: CoordinatorProbe) -> tuple[bool | None, str]:
    """Returns (blocked or not, why): a silent coordinator blocks its groups; a refused probe shows nothing."""
    said = probe_words(probe.find_error, probe.fetch_error)
    if probe.find_error == _NO_ANSWER:
        return None, f"its coordinator is unknown, because no broker could be asked for it: {probe.error}"
    if (probe.find_error or probe.fetch_error) in _NOT_ALLOWED:
        return None, f"the state of its coordinator is unknown, because kfix has no right to ask: {said}"
    return True, f"its coordinator does not respond: {said}"


def _next(group: str, findings: tuple[Finding, ...], case: CaseFile) -> Iterator[Remedy]:
    for finding in findings:
        yield Remedy(f"See {finding.code} first, which names its partition: {finding.summary}")
    yield Remedy(
        "The coordinator is not the problem. Check the group's members, its lag and the partitions it reads",
        f"kafka-consumer-groups.sh {servers(case)} --describe --group {shlex.quote(group)}",
    )
    yield Remedy("Check that every partition of its topics has a leader: `kfix diagnose` names those that have none")
