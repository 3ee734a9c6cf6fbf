"""KFX115 offsets-uncompacted: the log cleaner does not compact partitions of __consumer_offsets.

Why it matters
    A coordinator reads its partition from the start before it serves a group. A compacted one has a record for each
    committed offset; without compaction it grows with every commit, and the next coordinator, after any restart or
    election, loads it for minutes or hours (OffsetFetch answers COORDINATOR_LOAD_IN_PROGRESS). Nothing shows it before.

How kfix knows
    DescribeLogDirs gives the size of each replica. Where the leader's is three segments or more (segment.bytes of the
    topic, 100 MB by default), kfix reads a piece of the log that has about 80 % of its bytes behind it: a healthy
    cleaner leaves at most 2/3 of a log uncompacted, and every key occurs once in the rest. If there are at least two
    records for each key there, and the last of them is older than an hour, the cleaner does not come. The log start
    offset shows nothing: compaction does not move it.

Remedies, safest first
    Move the leadership to a copy that is compacted, if there is one: each replica is compacted on its own. Otherwise
    restore the cleaner, first on a broker that leads none of these partitions, whose restart loads nothing; then move
    the leadership there, and do the same on the former leader.

Do not
    Do not restart the leader and do not move the leadership to a copy of the same size before that: the next
    coordinator loads the whole log. Do not delete the topic or add `delete` to its cleanup.policy: that removes
    committed offsets.

Sources
    Tried on 2.7.1. See docs/facts/consumer-groups.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kfix.derive.casefile import CaseFile
from kfix.derive.checks import ClusterCheck, Debounce, Rows
from kfix.derive.coordinator import OFFSETS_TOPIC
from kfix.model.cluster.offsets_size import OffsetsLogSize
from kfix.model.cluster.snapshot import TopicPartition
from kfix.model.diagnosis.finding import Cause, ChangeKind, Confidence, Evidence, Finding, Remedy, Severity
from kfix.wording import brokers_named, known_size, several
from kfix_diagnostics._advice import servers
from kfix_diagnostics._bans import no_restart, restart
from kfix_diagnostics._compaction import CLEANER, short_copies, size_rows, uncompacted
from kfix_diagnostics._words import are, per_topic

CODE = "KFX115"
_POLICY = "cleanup.policy"


def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    logs = uncompacted(case)
    if logs:
        yield _uncompacted(logs, case)


def _uncompacted(logs: tuple[OffsetsLogSize, ...], case: CaseFile) -> Finding:
    tps = tuple(sorted(TopicPartition(OFFSETS_TOPIC, log.partition) for log in logs))
    n, leaders = len(tps), sorted({log.broker for log in logs})
    return Finding(
        code=CODE,
        severity=Severity.WARNING,
        obj=f"topic {OFFSETS_TOPIC}",
        summary=f"{several(n, 'partition')} of {OFFSETS_TOPIC} {are(n)} not compacted: {per_topic(tps)}, up to "
        f"{known_size(logs[0].size)}; after the next change of leader, the groups there wait until it has been loaded",
        cause=_cause(logs, case),
        evidence=(*size_rows(case, logs), *_setting_rows(case)),
        remedies=tuple(_remedies(logs, case)),
        never=(
            f"Do not restart {brokers_named(leaders)}, nor move leadership to a copy as large: it is loaded whole",
            "Do not delete the topic and do not add delete to its cleanup.policy: that removes committed offsets",
        ),
        forbids=(no_restart(leaders),),
        partitions=tps,
    )


def _off(case: CaseFile) -> tuple[int, ...]:
    return tuple(b for b, value in case.settings(CLEANER).items() if value == "false")


def _policy(case: CaseFile) -> str:
    """Returns the cleanup.policy of the topic if it is one without compaction, else ""."""
    found = case.own_setting(OFFSETS_TOPIC, _POLICY)
    return "" if not found or "compact" in found.split(",") else found


def _cause(logs: tuple[OffsetsLogSize, ...], case: CaseFile) -> Cause:
    leaders = {log.broker for log in logs}
    policy, off = _policy(case), [b for b in _off(case) if b in leaders]
    if policy:
        return Cause(f"cleanup.policy of {OFFSETS_TOPIC} is {policy}, without compact", Confidence.CERTAIN)
    if off:
        return Cause(f"{CLEANER} is false on {brokers_named(off)}", Confidence.CERTAIN)
    return Cause(
        f"the log cleaner of {brokers_named(sorted(leaders))} has died, or has marked the partitions as uncleanable",
        Confidence.LIKELY,
    )


def _setting_rows(case: CaseFile) -> Iterator[Evidence]:
    for broker, value in case.settings(CLEANER).items():
        if value == "false":
            yield Evidence(f"DescribeConfigs of broker {broker}", CLEANER, value)
    if _policy(case):
        yield Evidence(case.zookeeper_name, f"{_POLICY} of {OFFSETS_TOPIC}", _policy(case))


def _remedies(logs: tuple[OffsetsLogSize, ...], case: CaseFile) -> Iterator[Remedy]:
    leaders = sorted({log.broker for log in logs})
    if _policy(case):
        yield Remedy(
            "Set cleanup.policy=compact on the topic; the cleaner then begins without a restart",
            f"kafka-configs.sh {servers(case)} --alter --entity-type topics --entity-name {shlex.quote(OFFSETS_TOPIC)} "
            "--add-config cleanup.policy=compact",
        )
        return
    short = sorted({broker for log in logs for broker in short_copies(case, log)})
    if short:
        yield Remedy(
            f"Move the leadership to a compacted copy, on {brokers_named(short)}, which loads a short log; then "
            "restart the former leader with its cleaner on",
            changes=(ChangeKind.ELECTION,),
        )
        return
    if _off(case):
        yield Remedy(
            f"Set {CLEANER}=true in server.properties of {brokers_named(_off(case))}; it takes effect at a restart"
        )
    else:
        yield Remedy(
            f"Read log-cleaner.log of {brokers_named(leaders)} and the metrics DeadThreadCount and "
            "uncleanable-partitions-count: they name what the cleaner failed on"
        )
    yield restart(
        "Restart first a broker that leads none of these partitions: that loads nothing, and its copies are compacted. "
        "Then move the leadership there, and restart the former leader"
    )


CHECK = ClusterCheck(
    code=CODE,
    slug="offsets-uncompacted",
    title="the log cleaner does not compact partitions of the offsets topic",
    severity=Severity.WARNING,
    check=check,
    debounce=Debounce.NONE,
    prevention=True,
)
