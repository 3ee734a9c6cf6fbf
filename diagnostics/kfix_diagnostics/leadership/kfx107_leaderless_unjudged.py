"""KFX107 leaderless-unjudged: no leader, and broker liveness is unknown.

Why it matters
    A pasted description does not list the live brokers. Whether one harmless election helps (an in-sync replica is
    alive) or only a start does (none is alive) has to be inferred.

How kfix knows
    The text names no leader. A broker that leads a partition of the same text, or is in the ISR of one that has a
    leader, is likely alive; one that is in none of those, although others are, is likely dead. A column Offline names
    dead brokers itself. Liveness inferred in this way is called likely, and the cluster itself has to confirm it. A
    state znode or a log shows the ISR only: with a list of live brokers, the rest of the replicas is still unknown.

Remedies, safest first
    Start the broker that can lead without loss: a member of the ISR first, otherwise of the ELR (KRaft), otherwise the
    broker with the only replica. If such a broker is likely alive, diagnose the cluster itself: a clean election helps.
    `kfix diagnose --bootstrap-server HOST:PORT` shows which brokers are registered.

Do not
    Do not trigger an unclean election: a broker that has all records may be alive, or can be started.

Sources
    Kafka 2.7.1: MetadataCache answers LEADER_NOT_AVAILABLE both for "no leader" and for "the leader is not alive". See
    docs/facts/metadata.md and docs/facts/controller.md.
"""

from collections.abc import Iterator
from enum import StrEnum

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, either, has, ids, per_topic, several, topics
from kfix_diagnostics._advice import blocked, diagnose_again
from kfix_diagnostics._bans import no_unclean_election
from kfix_diagnostics._evidence import assignment_row, state_row, view_words
from kfix_diagnostics._words import because

_STARTS_SHOWN = 5
_SIGNS_SHOWN = 5
_NEVER = "Do not trigger an unclean election: a broker with all records may be alive, or can be started"


class _Kind(StrEnum):
    """What is known of the brokers that can lead without loss; the values are parts of finding keys."""

    ALIVE = "likely alive"
    DEAD = "likely dead"
    UNKNOWN = "unknown"


@PartitionCheck(
    severity=Severity.CRITICAL,
    rows="leaderless and not deleting and (not liveness_known or n_replicas == 0 and n_isr > 0 and n_online_isr == 0)",
)
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    by_kind = grouped((_kind(row.tp, case), row.tp) for row in rows)
    for kind in _Kind:
        if tps := by_kind.get(kind):
            yield _finding(kind, tuple(tps), case)


def _can_lead(tp: TopicPartition, case: CaseFile) -> tuple[int, ...]:
    """Returns the brokers that can lead without loss: the ISR, otherwise the ELR, otherwise the only replica."""
    text, replicas = case.snapshot.pasted, case.assignment(tp).replicas
    elr = text.elr.get(tp, ()) if text is not None else ()
    return case.isr(tp) or elr or (replicas if len(replicas) == 1 else ())


def _kind(tp: TopicPartition, case: CaseFile) -> _Kind:
    likely, able = case.background.likely, _can_lead(tp, case)
    if any(b in likely.alive for b in able):
        return _Kind.ALIVE
    dead = {*likely.dead, *case.away(able)}
    return _Kind.DEAD if able and dead.issuperset(able) else _Kind.UNKNOWN


def _finding(kind: _Kind, tps: tuple[TopicPartition, ...], case: CaseFile) -> Finding:
    able = tuple(sorted({b for tp in tps for b in _can_lead(tp, case)}))
    isrs = {tuple(sorted(case.isr(tp))) for tp in tps}
    isr = f"ISR {ids(isrs.pop())}" if len(isrs) == 1 else "several ISRs"
    summary, cause = _said(kind, able, isr, case)
    named = {
        _Kind.ALIVE: f"{brokers_named([b for b in able if b in case.background.likely.alive])} {_Kind.ALIVE}",
        _Kind.DEAD: f"{brokers_named(able)} {_Kind.DEAD}",
        _Kind.UNKNOWN: isr,
    }
    return Finding(
        severity=Severity.CRITICAL,
        obj=named[kind],
        about="" if kind is _Kind.UNKNOWN else kind.value,
        summary=f"{per_topic(tps)} {has(topics(tps))} no leader. {summary}",
        cause=cause,
        evidence=tuple(_evidence(tps, able, case)),
        blocked=blocked(case, tps),
        remedies=tuple(_remedies(kind, tps, able, case)),
        never=(_NEVER,),
        forbids=(no_unclean_election(tps),),
        partitions=tps,
    )


def _said(kind: _Kind, able: tuple[int, ...], isr: str, case: CaseFile) -> tuple[str, Cause]:
    likely = case.background.likely
    if kind is _Kind.ALIVE:
        up = [b for b in able if b in likely.alive]
        said = f"{brokers_named(up).capitalize()} can lead without loss and {are(len(up))} likely alive: "
        return said + because(up, likely.alive), Cause(
            "an in-sync replica was not elected (KFX101, KFX102): a clean election would help", Confidence.POSSIBLE
        )
    if kind is _Kind.DEAD:
        said = f"{brokers_named(able).capitalize()} can lead without loss and {are(len(able))} likely dead"
        return said, Cause(f"{brokers_named(able)} {are(len(able))} down")
    said = f"Broker liveness is unknown: the text shows {isr} but not which brokers are alive"
    if able:
        return said, Cause(
            "the in-sync replicas are dead (KFX103), or alive and not elected (KFX102)", Confidence.UNKNOWN
        )
    return said, Cause("the ISR is empty; the text shows nothing more", Confidence.UNKNOWN)


def _remedies(kind: _Kind, tps: tuple[TopicPartition, ...], able: tuple[int, ...], case: CaseFile) -> Iterator[Remedy]:
    if kind is _Kind.ALIVE:
        up = [b for b in able if b in case.background.likely.alive]
        yield diagnose_again(
            case,
            f"Diagnose the cluster itself. If it confirms that {brokers_named(up)} {are(len(up))} alive, an election "
            "loses no data",
        )
        return
    starts = list(_starts(tps, case))
    for at, (brokers, found) in enumerate(starts[:_STARTS_SHOWN]):
        first = f"Start {either(brokers)} first" if at == 0 else f"Then start {either(brokers)}"
        doubt = "" if kind is _Kind.DEAD else ", if not running"
        why = f"{_basis(found[0], case)} of {per_topic(found)} and can lead without loss"
        yield Remedy(f"{first} with its old disk, never with an empty one{doubt}: {why}")
    if len(starts) > _STARTS_SHOWN:
        rest = sorted({b for brokers, _ in starts[_STARTS_SHOWN:] for b in brokers})
        yield Remedy(f"Then start {brokers_named(rest)} with their old disks")
    lost = tuple(tp for tp in tps if not _can_lead(tp, case))
    if lost:
        yield _start_all(lost, case)
    yield diagnose_again(
        case, "Diagnose the cluster itself, which shows which brokers are registered and what each reports"
    )


def _starts(
    tps: tuple[TopicPartition, ...], case: CaseFile
) -> Iterator[tuple[tuple[int, ...], tuple[TopicPartition, ...]]]:
    """Yields (any of these brokers, the partitions that it restores), those that restore most first."""
    left = grouped((tuple(sorted(able)), tp) for tp in tps if (able := _can_lead(tp, case)))
    while left:
        counts = {b: sum(len(found) for able, found in left.items() if b in able) for able in left for b in able}
        most = max(counts.values())
        broker = min(b for b, n in counts.items() if n == most)
        restored = [able for able in left if broker in able]
        # Where one set of brokers is left that can all do it, any of them is named.
        anyone = restored[0] if len(restored) == 1 else (broker,)
        yield anyone, tuple(tp for able in restored for tp in left[able])
        left = {able: found for able, found in left.items() if able not in restored}


def _basis(tp: TopicPartition, case: CaseFile) -> str:
    if case.isr(tp):
        return "it is in the ISR"
    text = case.snapshot.pasted
    return "it is in the ELR" if text is not None and text.elr.get(tp) else "it has the only replica"


def _start_all(tps: tuple[TopicPartition, ...], case: CaseFile) -> Remedy:
    replicas = sorted({b for tp in tps for b in case.assignment(tp).replicas})
    text = case.snapshot.pasted
    last = sorted({b for tp in tps for b in (text.last_known_elr.get(tp, ()) if text is not None else ())})
    begin = f", {brokers_named(last)} first (LastKnownElr)" if last else ""
    disks = "its old disk" if len(replicas) == 1 else "their old disks"
    who = f"Start {brokers_named(replicas)} with {disks} if not running{begin}" if replicas else "Start every broker"
    return Remedy(
        f"{who}: the text shows neither ISR nor ELR of {per_topic(tps)}, so it is unknown which replica has all records"
    )


def _evidence(tps: tuple[TopicPartition, ...], able: tuple[int, ...], case: CaseFile) -> Iterator[Evidence]:
    tp, likely = tps[0], case.background.likely
    yield from state_row(case, tp)
    for view in case.views_of(tp).values():
        yield Evidence("text", f"{tp}", view_words(view))
    yield from assignment_row(case, tp)
    text = case.snapshot.pasted
    if text is not None and text.elr.get(tp):
        yield Evidence("text", f"{tp}", f"ELR {ids(text.elr[tp])}")
    for broker in able[:_SIGNS_SHOWN]:
        sign = likely.alive.get(broker) or likely.dead.get(broker)
        if sign:
            state = _Kind.ALIVE if broker in likely.alive else _Kind.DEAD
            yield Evidence("inferred from the text", f"broker {broker}", f"{state}: it {sign}")
    if len(tps) > 1:
        yield Evidence("text", "partitions like this one", several(len(tps), "partition"))
