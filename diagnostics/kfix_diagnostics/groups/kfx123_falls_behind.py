"""KFX123 falls-behind: a group reads some of its partitions, or all of them, more slowly than records arrive.

Why it matters
    A lag that grows is a delay that grows, and it ends with records that retention deletes before they are read. The
    sum over a group hides a single partition that stands.

How kfix knows
    `kfix diagnose --group G` reads the committed offsets and the log ends of a group that lags twice; the differences
    are rates. A plain diagnosis, a watch and an audit compare them with those that this host read a minute to an hour
    before, and report what stands while other partitions of the topic are read. A partition stands if its committed
    offset is the same in both and records wait in both. It falls behind if its lag grew, and less than 90 % of the
    arriving records were read. In both cases the lag has to be worth 5 s of the arriving records at both ends: less is
    a burst, a restart, or the delay of a commit. If the consumers of a group cannot read on because of a transaction
    (KFX116, KFX122), a rebalance (KFX111) or a lost leader, those findings report it.

    Partitions that stand while the member that has them reads others, or while members leave and join, wait at a record
    that fails its consumer. If everything that falls behind belongs to one member, and other members keep up, it is
    that member. If the partitions that fall behind get three times the records of the usual one, or more, they are hot.
    If most partitions fall behind, the members are too slow for the topic. `kfix diagnose --group G` also asks for the
    quotas of the client ids of a group that does not catch up, and how large its records are: if more bytes arrive at a
    broker than such a quota allows, the brokers throttle the consumers. No request shows their throttle times, nor
    their users, whose quotas count before those of client ids. If the start of
    the log moves faster than the committed offset, which is nearer to it than to the end, retention deletes unread
    records soon. A group in which nothing is
    committed in 10 s is not judged, unless a quota explains it: its members may commit more seldom.

Remedies, safest first
    A record that fails: read the consumer's log at that offset; then mend the consumer, or skip exactly this record,
    after it was saved (kfix offsets record, kfix offsets skip). A slow member: compare its host and its log with the
    others'. A hot partition: see which keys it gets; more members do not help, since one member reads a partition. Too
    few members: add some, up to the number of partitions, and check the quotas of their client ids. Unread records that
    will be deleted: the runbook hold-retention keeps them until the group has caught up.

Do not
    Do not reset the offsets of the whole group: it loses or repeats records of every partition. Do not add partitions
    in a hurry: records of a key then go to another one.

Sources
    Tried on 2.7.1 and 4.3.1. See docs/facts/consumer-groups.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kfix.core.derive.checks import CaseFile, ClusterCheck, Debounce, Rows
from kfix.core.derive.memory import APART, FORGET_POSITIONS
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.fleet_facts import CONSUMER_RATE
from kfix.core.snapshot.group_reading import SHARE_GROUP, GroupMember, GroupReading, by_group
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import ago, per_topic, rate_text, several
from kfix_diagnostics._advice import cluster_options, diagnose_group, runbook, servers
from kfix_diagnostics.groups._members import called
from kfix_diagnostics.groups._pace import LagPattern, Paces, Slowness, paces_of, slow
from kfix_diagnostics.groups._throttled import QuotaLimit, named, throttled

_SHOWN = 5
#: Seconds within which a deletion of unread records is reported.
_SOON = 24 * 3600.0


class _Meaning(NamedTuple):
    """`{where}` are the partitions, `{lag}` their records, `{read}` and `{came}` their rates, `{times}` the quotient;
    `{who}` is the member, `{at}` the committed offset, `{since}` the time between the readings.
    """

    said: str
    cause: str
    confidence: Confidence
    remedies: tuple[str, ...]
    never: str


_LIKELY, _POSSIBLE = Confidence.LIKELY, Confidence.POSSIBLE
_NO_PARTITIONS = "Do not add partitions in a hurry: the records of a key then go to another partition"
_NO_RESET = "Do not reset the offsets of the group: it skips or repeats records of every partition"
_MEANINGS: Final[Mapping[LagPattern, _Meaning]] = {
    LagPattern.STOPPED: _Meaning(
        "has no member, and its lag in {where} grows by {came} records/s: {lag} now",
        "the consumers were stopped, crashed, or use another group id now", Confidence.CERTAIN,
        ("Start the consumers of the group again; if they are gone for good, delete the group",), _NO_RESET,
    ),
    LagPattern.RECORD: _Meaning(
        "stands in {where} at {at} for {since} or longer, {lag} behind, and reads its other partitions",
        "a record there fails its consumer each time{rejoined}", _POSSIBLE,
        ("Read the log of {who} for the error at {where}, {at}: which record it is, and why it fails",
         "Mend the consumer: it reads on from there by itself"),
        _NO_RESET,
    ),
    LagPattern.MEMBER: _Meaning(
        "falls behind: {who} reads {read} of {came} records/s of {where}, {lag} behind, and the other members keep up",
        "the process or its host is slow or hangs, or it commits more seldom than every {since}", _POSSIBLE,
        ("Compare the log, a thread dump and the host of {who} with those of the other members",
         "Restart that process: its partitions go to the others meanwhile"),
        _NO_PARTITIONS,
    ),
    LagPattern.HOT: _Meaning(
        "falls behind in {where}, {lag} behind: it reads {read} of {came} records/s. {n} far more than others",
        "the keys of the records are skewed", _LIKELY,
        ("See which keys {where} gets. More members do not help: one member reads a partition",
         "Make the processing of one record quicker, or spread the key at the producer"),
        _NO_PARTITIONS,
    ),
    LagPattern.CAPACITY: _Meaning(
        "falls behind in {where}, {lag} behind: {came} records/s arrive, {times} times as many as it reads",
        "the members are too few or too slow, or a quota holds them back", _POSSIBLE,
        ("Check the quotas of its client ids and users: kafka-configs.sh {servers} --describe --entity-type clients",
         "Add members, up to the number of partitions, or make the processing quicker"),
        _NO_PARTITIONS,
    ),
    LagPattern.QUOTA: _Meaning(
        "falls behind in {where}, {lag} behind: the quota of {quota} allows {allowed} from each broker, and {arriving} "
        "arrive at broker {broker} alone",
        "the brokers throttle client id {client}: consumer_byte_rate of {quota}", _LIKELY,
        ("Raise the quota: kafka-configs.sh {servers} --alter --add-config consumer_byte_rate=BYTES {entity}",),
        "Do not add members with the same client id: they share the quota",
    ),
    LagPattern.SOME: _Meaning(
        "falls behind in {where}, {lag} behind: it reads {read} of {came} records/s",
        "the members that have these partitions are slower than their records arrive", _POSSIBLE,
        ("Compare the members that have these partitions with the others",), _NO_PARTITIONS,
    ),
    LagPattern.STANDS: _Meaning(
        "stands in {where} at {at} for {since} or longer, {lag} behind, and reads others of the topic",
        "a record there fails its consumer each time, or the member that has it hangs or is slow", _POSSIBLE, (),
        _NO_RESET,
    ),
}  # fmt: skip


@ClusterCheck(severity=Severity.CRITICAL, debounce=Debounce.NONE)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    remembered = {each.group: each for each in case.snapshot.memory.positions}
    for name, readings in by_group(case.snapshot.group_readings).items():
        last = readings[-1]
        several_read = len(readings) > 1 and last.members is not None
        before = readings[-2] if several_read else _old_enough(remembered.get(name), last)
        if before is None or last.group_type == SHARE_GROUP:
            continue
        paces = paces_of(before, last)
        found, limit = slow(before, last, paces), throttled(last, paces, case.snapshot.views)
        if limit is not None and (found is None or found.pattern is not LagPattern.RECORD):
            found = Slowness(LagPattern.QUOTA, limit.tps)
        overtaken = {tp: left for tp, each in paces.items() if (left := each.overtaken_in) is not None and left < _SOON}
        if found is not None:
            yield _slow(last, found, paces, ago(last.taken_at - before.taken_at), case, limit)
        if overtaken:
            yield _overtaken(last, overtaken, paces, case)


def _old_enough(was: GroupReading | None, last: GroupReading) -> GroupReading | None:
    """Returns what an earlier snapshot of this host read of the group, if it is old enough and not too old."""
    return was if was is not None and APART <= last.taken_at - was.taken_at <= FORGET_POSITIONS else None


def _slow(
    last: GroupReading, found: Slowness, paces: Paces, since: str, case: CaseFile, limit: QuotaLimit | None
) -> Finding:
    meaning, tps = _MEANINGS[found.pattern], found.tps
    read, came = (sum(getattr(paces[tp], name) for tp in tps) for name in ("read", "came"))
    words = {
        "where": per_topic(tps),
        "lag": several(sum(paces[tp].lag for tp in tps), "record"),
        "read": f"{read:.3g}",
        "came": f"{came:.3g}",
        "times": f"{came / read:.1f}" if read else "many",
        "who": f"member {called(found.member)}" if found.member is not None else "the members that left and joined",
        "at": f"offset {paces[tps[0]].committed}" if len(tps) == 1 else "one offset each",
        "since": since,
        "rejoined": ", and the consumer ends" if found.rejoined else ", or its processing takes long",
        "n": f"{'This partition gets' if len(tps) == 1 else 'These partitions get'}",
        "servers": servers(case),
        **(_limits(limit) if limit is not None else {}),
    }
    blocks = bool(found.rejoined)
    members = found.rejoined or ((found.member,) if found.member is not None else ())
    return Finding(
        severity=Severity.CRITICAL if blocks else Severity.WARNING,
        obj=f"group {last.group}",
        summary=f"group {last.group} {meaning.said.format_map(words)}",
        cause=Cause(meaning.cause.format_map(words), _LIKELY if blocks else meaning.confidence),
        evidence=(*_rates(tps, paces, case), *_who(members, case), *_quotas(last, found.pattern, limit)),
        blocked=Blocked(f"consumers of {words['where']}", (last.group,)) if blocks else Blocked(),
        remedies=(
            *(Remedy(text.format_map(words)) for text in meaning.remedies),
            *(_skip(last.group, tps, paces, case) if found.pattern is LagPattern.RECORD else ()),
            *([diagnose_group(case, last.group, "See which member it is")] if last.members is None else ()),
        ),
        never=(meaning.never,),
        partitions=tps,
        facts={"group": last.group},
        token=f"{found.pattern.name}:{','.join(map(str, tps))}",
    )


def _limits(limit: QuotaLimit) -> dict[str, str]:
    quota = limit.quota
    kinds = (("users", quota.user), ("clients", quota.client))
    return {
        "quota": named(quota),
        "client": limit.client,
        "allowed": rate_text(quota.value),
        "arriving": rate_text(limit.arriving),
        "broker": str(limit.broker),
        "entity": " ".join(
            f"--entity-type {kind} " + (f"--entity-name {shlex.quote(name)}" if name else "--entity-default")
            for kind, name in kinds
            if name is not None
        ),
    }


def _quotas(last: GroupReading, pattern: LagPattern, limit: QuotaLimit | None) -> Iterator[Evidence]:
    """Yields what is known of quotas, where one explains the finding or may do so, and what cannot be known."""
    if pattern not in {LagPattern.QUOTA, LagPattern.CAPACITY, LagPattern.SOME}:
        return
    if limit is not None:
        yield Evidence("quotas", named(limit.quota), f"{limit.quota.key} {limit.quota.value:.0f}, of each broker")
        yield Evidence("Fetch", "records of the group", f"{last.record_bytes:.0f} bytes each, on the wire")
    elif last.quotas is not None:
        limits = any(each.key == CONSUMER_RATE for each in last.quotas)
        unsized = " (the size of its records was not read)" if limits and not last.record_bytes else ""
        said = "none of them, and no default, is known to allow less than arrives" if limits else "none limits fetches"
        yield Evidence("quotas", "client ids of its members", f"{said}{unsized}")
    elif (why := last.errors.get("group quotas")) is not None:
        yield Evidence("quotas", "client ids of its members", f"not read: {why}")
    if last.quotas is not None:
        unknown = "no request shows them; a quota of their user counts before that of a client id"
        yield Evidence("quotas", "users and throttle times of its members", unknown)


def _skip(group: str, tps: tuple[TopicPartition, ...], paces: Paces, case: CaseFile) -> Iterator[Remedy]:
    """Yields how to keep the record that fails, and how to skip it alone."""
    tp, committed = tps[0], paces[tps[0]].committed
    file = shlex.quote(f"{tp}@{committed}.json")
    yield Remedy(
        "If it has to be skipped, save the record first",
        f"kfix offsets record {shlex.quote(f'{tp}@{committed}')} --output-file {file} {cluster_options(case)}",
    )
    yield Remedy(
        "Then skip this record alone: the plan asks to stop the consumers of the group, commits, and proves it",
        f"kfix offsets skip {file} --group {shlex.quote(group)} {cluster_options(case)}",
        "skip-record",
    )


def _overtaken(last: GroupReading, overtaken: dict[TopicPartition, float], paces: Paces, case: CaseFile) -> Finding:
    tps = tuple(sorted(overtaken, key=lambda tp: overtaken[tp]))
    where = per_topic(tps)
    return Finding(
        severity=Severity.WARNING,
        obj=f"unread records of group {last.group}",
        summary=f"retention deletes records of {where} faster than group {last.group} reads them: unread ones are "
        f"deleted in about {ago(overtaken[tps[0]])}, if both go on as they did",
        cause=Cause("the group is slower than retention.ms or retention.bytes of the topic allow", Confidence.LIKELY),
        evidence=_rates(tps, paces, case),
        remedies=(
            runbook(
                case,
                "hold-retention",
                "Keep all records of the topic until the group has caught up, then restore its retention; the brokers "
                "need the disk space",
                f"topic={tps[0].topic}",
                f"group={last.group}",
            ),
        ),
        never=("Do not restart the consumers because of it: they lose time that they do not have",),
        partitions=tps,
        facts={"group": last.group},
        token=f"OVERTAKEN:{','.join(map(str, tps))}",
    )


def _rates(tps: tuple[TopicPartition, ...], paces: Paces, case: CaseFile) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            "OffsetFetch and ListOffsets, twice" if case.snapshot.pasted is None else "text",
            str(tp),
            f"committed {each.committed}, lag {each.before}, then {each.lag}; per second {each.came:.3g} arrived, "
            f"{each.read:.3g} read, {each.deleted:.3g} deleted",
        )
        for tp in tps[:_SHOWN]
        for each in (paces[tp],)
    )


def _who(members: tuple[GroupMember, ...], case: CaseFile) -> tuple[Evidence, ...]:
    source = "DescribeGroups" if case.snapshot.pasted is None else "text"
    return tuple(Evidence(source, f"member {m.id}", called(m)) for m in members[:_SHOWN])
