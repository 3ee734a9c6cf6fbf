"""KFX115 offsets-uncompacted: the log cleaner does not compact partitions of the offsets topic.

Why it matters
    A coordinator reads its partition from the start before it serves a group. A compacted one has a record for each
    committed offset; without compaction it grows with every commit, and the next coordinator, after any restart or
    election, loads it for minutes or hours (OffsetFetch answers COORDINATOR_LOAD_IN_PROGRESS). Nothing shows it before
    that.

How kfix knows
    DescribeLogDirs gives the size of each replica. If the leader's is three segments or more (segment.bytes of the
    topic, 100 MB by default), kfix reads a piece of the log that has about 80 % of its bytes behind it: a healthy
    cleaner leaves at most 2/3 of a log uncompacted, and every key occurs once in the rest. If there are at least two
    records for each key there, and the last of them is older than an hour, the cleaner does not run there. The log
    start offset shows nothing: compaction does not move it. The piece needs the right Read on the topic; without it,
    and where a broker gives no answer, the partitions count as not read. Of each broker the ten largest such logs are
    read: a smaller one that alone is not compacted, for example because of an open transaction, is not found.

Remedies, safest first
    Move the leadership to a copy that is compacted, if there is one: each replica is compacted on its own. Otherwise
    restore the cleaner, first on a broker that leads none of these partitions, which has nothing to load when it
    restarts; then move the leadership there, and do the same on the former leader. If a setting of the topic or an open
    transaction holds the cleaner back, no restart helps: remove the setting, or end the transaction.

Do not
    Do not restart the leader and do not move the leadership to a copy of the same size before that: the next
    coordinator loads the whole log. Do not delete the topic or add `delete` to its cleanup.policy: that removes
    committed offsets.

Sources
    Tried on 2.7.1. See docs/facts/consumer-groups.md. The statement that an open transaction holds the cleaner back is
    from the source code of 2.7.1 (`LogCleanerManager.cleanableOffsets`).
"""

import shlex
from collections.abc import Collection, Iterator

from kfix.core.derive.checks import CaseFile, RiskOfCluster, Rows
from kfix.core.derive.coordinator import OFFSETS_TOPIC, SECONDS
from kfix.core.diagnosis.finding import Cause, ChangeKind, Confidence, Evidence, Finding, Remedy
from kfix.core.numbers import whole_number
from kfix.core.snapshot.broker_answers import OffsetsLogSize
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has, known_size, per_topic, several, some
from kfix_diagnostics._advice import cluster_options, servers
from kfix_diagnostics._bans import no_restart, restart
from kfix_diagnostics._compaction import CLEANER, short_copies, size_rows, uncompacted

_POLICY, _RATIO, _LAG = "cleanup.policy", "min.cleanable.dirty.ratio", "min.compaction.lag.ms"
#: The default of the ratio. A higher one leaves a larger part of a log uncompacted.
_USUAL_RATIO = 0.5


@RiskOfCluster()
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    logs = uncompacted(case)
    if logs:
        yield _uncompacted(logs, case)


def _uncompacted(logs: tuple[OffsetsLogSize, ...], case: CaseFile) -> Finding:
    tps = tuple(sorted(TopicPartition(OFFSETS_TOPIC, log.partition) for log in logs))
    n, leaders = len(tps), sorted({log.broker for log in logs})
    return Finding(
        obj=f"topic {OFFSETS_TOPIC}",
        summary=f"{several(n, 'partition')} of {OFFSETS_TOPIC} {are(n)} not compacted: {per_topic(tps)}, up to "
        f"{known_size(logs[0].size)}; after the next leader change, its groups wait until it has been loaded",
        cause=_cause(logs, case),
        evidence=(*size_rows(case, logs), *_setting_rows(case)),
        remedies=tuple(_remedies(logs, case)),
        never=(
            (
                f"Do not restart {brokers_named(leaders)}, and do not move leadership to a copy of the same size: the "
                "new leader loads all of it"
            ),
            "Do not delete the topic and do not add delete to its cleanup.policy: that removes committed offsets",
        ),
        forbids=(no_restart(leaders),),
        partitions=tps,
    )


def _ids(producers: list[int]) -> str:
    return f"producer id{'' if len(producers) == 1 else 's'} {some(producers)}"


def _off(case: CaseFile) -> tuple[int, ...]:
    return tuple(b for b, value in case.settings(CLEANER).items() if value == "false")


def _setting(case: CaseFile) -> tuple[str, str] | None:
    """Returns the topic's own setting, as (name, value), that keeps a working cleaner from the log."""
    policy, ratio, lag = (case.own_setting(OFFSETS_TOPIC, name) for name in (_POLICY, _RATIO, _LAG))
    if policy and "compact" not in policy.split(","):
        return _POLICY, policy
    if ratio.replace(".", "", 1).isdecimal() and float(ratio) > _USUAL_RATIO:
        return _RATIO, ratio
    if (whole_number(lag) or 0) > SECONDS * 1000:
        return _LAG, lag
    return None


def _holders(logs: tuple[OffsetsLogSize, ...], case: CaseFile) -> list[int]:
    """Returns the producers of the transactions that were open before the records of a piece that was read.

    The cleaner compacts nothing behind the last stable offset (`LogCleanerManager.cleanableOffsets`).
    """
    until = {log.partition: log.last_ms for log in logs}
    return sorted(
        {
            each.producer
            for log in case.offsets_logs
            for each in log.transactions
            if each.since_ms <= until.get(log.partition, -1)
        }
    )


def _cause(logs: tuple[OffsetsLogSize, ...], case: CaseFile) -> Cause:
    leaders = {log.broker for log in logs}
    setting, off = _setting(case), [b for b in _off(case) if b in leaders]
    if setting is not None:
        name, value = setting
        without, sure = (", without compact", Confidence.CERTAIN) if name == _POLICY else ("", Confidence.LIKELY)
        return Cause(f"{name} of {OFFSETS_TOPIC} is {value}{without}", sure)
    if off:
        return Cause(f"{CLEANER} is false on {brokers_named(off)}", Confidence.CERTAIN)
    if holders := _holders(logs, case):
        return Cause(
            f"{_ids(holders)} {has(len(holders))} an open transaction there, and the cleaner compacts nothing beyond "
            "the last stable offset"
        )
    return Cause(
        f"the log cleaner of {brokers_named(sorted(leaders))} has died, or has marked the partitions as uncleanable"
    )


def _setting_rows(case: CaseFile) -> Iterator[Evidence]:
    for broker, value in case.settings(CLEANER).items():
        if value == "false":
            yield Evidence(f"DescribeConfigs of broker {broker}", CLEANER, value)
    if (setting := _setting(case)) is not None:
        yield Evidence(case.record_name, f"{setting[0]} of {OFFSETS_TOPIC}", setting[1])


def _remedies(logs: tuple[OffsetsLogSize, ...], case: CaseFile) -> Iterator[Remedy]:
    if (setting := _setting(case)) is not None:
        yield _changed(setting[0], case)
        return
    if holders := _holders(logs, case):
        yield Remedy(
            f"Start the application of {_ids(holders)} again with the same transactional.id, which ends its "
            "transaction. The cleaner then compacts the log by itself",
            f"kfix diagnose {cluster_options(case)}",
        )
        return
    moved = [log for log in logs if short_copies(case, log)]
    rest = [log for log in logs if log not in moved]
    leaders = sorted({log.broker for log in rest})
    if moved:
        yield _to_short_copies(moved, leaders, case)
    if not rest:
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
        "First restart a broker that leads none of these partitions: it has nothing to load, and its copies are "
        "compacted. Then move the leadership there, and restart the former leader"
    )


def _changed(name: str, case: CaseFile) -> Remedy:
    at = f"{servers(case)} --alter --entity-type topics --entity-name {shlex.quote(OFFSETS_TOPIC)}"
    if name == _POLICY:
        return Remedy(
            "Set cleanup.policy=compact on the topic; the cleaner then starts without a restart",
            f"kafka-configs.sh {at} --add-config cleanup.policy=compact",
            changes=(ChangeKind.SETTING,),
        )
    return Remedy(
        f"Remove {name} from the topic; the cleaner then starts without a restart",
        f"kafka-configs.sh {at} --delete-config {name}",
        changes=(ChangeKind.SETTING,),
    )


def _to_short_copies(moved: list[OffsetsLogSize], others: Collection[int], case: CaseFile) -> Remedy:
    """Returns how these partitions are led by a compacted copy; `others` lead partitions that have none."""
    short = brokers_named(broker for log in moved for broker in short_copies(case, log))
    if not others:
        return Remedy(
            f"Move the leadership to a compacted copy, on {short}, which loads a short log; then restart the former "
            "leader with its log cleaner enabled",
            changes=(ChangeKind.ELECTION,),
        )
    named = some([TopicPartition(OFFSETS_TOPIC, log.partition) for log in moved])
    return Remedy(
        f"Move the leadership of {named} to a compacted copy, on {short}, which loads a short log. The other "
        "partitions have none",
        changes=(ChangeKind.ELECTION,),
    )
