"""Partitions of Kafka 4 without a leader and with an empty ISR. KFX103 and KFX104 report two kinds of them.

It was not read who may lead without a loss: a dead replica may hold every record, and to start it loses none
(docs/facts/kraft.md). So no unclean election is proposed, and no number of records that it would lose.

Or Kafka has forgotten the eligible replicas, as it does when min.insync.replicas is set. Only an unclean election
gives such a partition a leader. It loses least if every replica is alive and the longest log is first in the
assignment, so the dead ones are started before, and nothing may be elected meanwhile.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kfix.core.derive.checks import CaseFile, Rows
from kfix.core.derive.elections import UNCLEAN
from kfix.core.diagnosis.finding import Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has, per_topic, several, topics
from kfix_diagnostics._advice import NEVER_SET_MIN_ISR, NEVER_UNCLEAN_CONFIG, blocked, diagnose_again, start
from kfix_diagnostics._bans import no_unclean_election, starts
from kfix_diagnostics._evidence import assignment_row, live_row, log_end_row, rows_of, view_rows
from kfix_diagnostics._explained import explained_by, find_out_why, running_and_dead, runs_but
from kfix_diagnostics.leadership import _unclean as unclean
from kfix_diagnostics.leadership._eligible import forgotten, not_read

_SHOWN = 3
_AGAIN = "iagnose again, so that kfix reads which replicas are eligible"


def describe_empty_isr(code: str, rows: Rows, case: CaseFile) -> Iterator[Finding]:
    yield from _describe_unread(rows, case)
    yield from _describe_forgotten(code, forgotten(rows, case), case)


def _describe_unread(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    """Yields one finding of the partitions that allow unclean elections, and one each of the others and the unknown."""
    for setting, tps in unclean.by_setting(rows, case).items():
        if unread := [tp for tp in tps if not_read(tp, case)]:
            yield _unread(unread, case, setting)


def _unread(tps: list[TopicPartition], case: CaseFile, setting: str) -> Finding:
    replicas = sorted({b for tp in tps for b in case.assignment(tp).replicas})
    up, dead = running_and_dead(replicas, case)
    trapped = setting if dead or up else ""
    finding = Finding(
        severity=Severity.CRITICAL,
        obj="eligible replicas not read",
        summary=f"{per_topic(tps)} {has(topics(tps))} no leader: the ISR is empty, and it was not read which replicas "
        f"may lead without a loss. {_who(dead, up, replicas, case)}",
        cause=Cause("the ISR shrank below min.insync.replicas, and then the last in-sync replica left"),
        evidence=(*rows_of(case, tps[:_SHOWN], view_rows, assignment_row, log_end_row), *live_row(case)),
        blocked=blocked(case, tps),
        remedies=tuple(_unread_remedies(dead, up, tps, case, trapped=trapped)),
        never=tuple(_unread_never(dead, trapped=trapped)),
        forbids=(
            no_unclean_election(tps),
            *(unclean.nothing_registers(case) if trapped else ()),
        ),
        partitions=tuple(tps),
        follows=explained_by((*dead, *up), case),
    )
    if not setting:
        return finding
    return replace(finding, obj=unclean.trap(finding, setting), summary=f"{finding.summary}. {unclean.is_set(setting)}")


def _who(dead: tuple[int, ...], up: tuple[int, ...], replicas: list[int], case: CaseFile) -> str:
    found = [runs_but(up, case)] if up else []
    found += [f"{brokers_named(dead)} {are(len(dead))} dead"] if dead else []
    text = "; ".join(found) or f"{brokers_named(replicas)} {are(len(replicas))} alive"
    return text[:1].upper() + text[1:]


def _unread_remedies(
    dead: tuple[int, ...], up: tuple[int, ...], tps: list[TopicPartition], case: CaseFile, *, trapped: str
) -> Iterator[Remedy]:
    if trapped:
        yield from unclean.set_to_false(
            tps, case, before=unclean.before_any_start(case), after=". Do not set min.insync.replicas"
        )
        yield diagnose_again(case, f"Then d{_AGAIN}")
        return
    if up:
        yield find_out_why(up, case, "Once that is repaired a leader may be elected, and no record is lost")
    if dead:
        what = "if it is eligible to lead" if len(dead) == 1 else "if one of them is eligible to lead"
        yield starts(Remedy(f"{start(dead, case)}: {what}, it is elected, and no record is lost"), dead)
    yield diagnose_again(case, f"Then d{_AGAIN}" if up or dead else f"D{_AGAIN}")


def _unread_never(dead: tuple[int, ...], *, trapped: str) -> Iterator[str]:
    if trapped:
        yield (
            f"Do not start or restart any broker while {UNCLEAN} {trapped}: a replica that lacks records may be "
            "elected, although another has them"
        )
    yield "Do not trigger an unclean election: a replica that was not elected yet may hold every record"
    yield NEVER_SET_MIN_ISR
    yield NEVER_UNCLEAN_CONFIG
    if dead:
        yield f"Do not start {brokers_named(dead)} with an empty disk"


def _describe_forgotten(code: str, rows: Rows, case: CaseFile) -> Iterator[Finding]:
    """Yields one finding of the partitions that allow unclean elections, and one each of the others and the unknown."""
    for setting, tps in unclean.by_setting(rows, case).items():
        finding = _forgotten(code, tps, case)
        yield _trapped(finding, case, setting) if setting else finding


def _forgotten(code: str, tps: list[TopicPartition], case: CaseFile) -> Finding:
    replicas = _replicas(tps, case)
    alive, (up, dead) = case.among_live(replicas), running_and_dead(replicas, case)
    return Finding(
        code=code,
        severity=Severity.CRITICAL,
        obj="empty ISR",
        summary=f"{per_topic(tps)} {has(topics(tps))} no leader: the ISR is empty, and Kafka knows no replica that is "
        f"eligible to lead. {_states(alive, dead, up, case)}",
        cause=Cause(
            "Kafka forgot the eligible replicas, as it does when min.insync.replicas is set on the topic, or "
            "eligible.leader.replicas.version is lowered"
        ),
        evidence=(
            *rows_of(case, tps[:_SHOWN], _eligible_row, view_rows, assignment_row, log_end_row),
            *live_row(case),
        ),
        blocked=blocked(case, tps),
        remedies=tuple(_last_remedies(tps, dead, up, case)),
        never=(
            NEVER_UNCLEAN_CONFIG,
            "Do not delete or re-create the topic",
            *((f"Do not start {brokers_named(dead)} with an empty disk",) if dead else ()),
        ),
        forbids=(no_unclean_election(tps),) if dead or up else (),
        partitions=tuple(tps),
        follows=explained_by((*dead, *up), case),
    )


def _trapped(finding: Finding, case: CaseFile, setting: str) -> Finding:
    """Returns the finding where Kafka elects a replica by itself, before every log can be compared."""
    tps = finding.partitions
    alive = case.among_live(_replicas(tps, case))
    sure = setting == unclean.IS_TRUE
    elects = f"{'elects' if sure else 'may elect'} the first live replica"
    before = f"At once, since Kafka {elects} within 5 minutes otherwise" if alive else unclean.before_any_start(case)
    return replace(
        finding,
        obj=unclean.trap(finding, setting),
        summary=f"{finding.summary}. {unclean.is_set(setting)}",
        remedies=(
            *unclean.set_to_false(tps, case, before=before),
            diagnose_again(case, f"Then diagnose again: {finding.code} names the brokers to start"),
        ),
        never=(
            (
                f"Do not start or restart any broker while {UNCLEAN} {setting}: the first live replica "
                f"{'is' if sure else 'may be'} elected, and it may lack records"
            ),
            *finding.never,
        ),
        forbids=(*finding.forbids, *unclean.nothing_registers(case)),
    )


def _replicas(tps: Sequence[TopicPartition], case: CaseFile) -> list[int]:
    return sorted({b for tp in tps for b in case.assignment(tp).replicas})


def _states(alive: Sequence[int], dead: Sequence[int], up: Sequence[int], case: CaseFile) -> str:
    found = [
        f"{brokers_named(ids)} {are(len(ids))} {state}" for ids, state in ((alive, "alive"), (dead, "dead")) if ids
    ]
    found += [runs_but(up, case)] if up else []
    text = "; ".join(found)
    return text[:1].upper() + text[1:]


def _eligible_row(_: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    yield Evidence("DescribeTopicPartitions", str(tp), "no leader, ISR [], eligible [], last known leader []")


def _last_remedies(
    tps: list[TopicPartition], dead: Sequence[int], up: Sequence[int], case: CaseFile
) -> Iterator[Remedy]:
    if up:
        yield find_out_why(up, case, "Its log may be the longest" if len(up) == 1 else "Their logs may be the longest")
    if dead:
        text = "that elects no leader, and an unclean election can then choose the longest of all logs"
        yield starts(Remedy(f"{start(dead, case)}: {text}"), dead)
    if dead or up:
        yield diagnose_again(case, "Then diagnose again")
    electable = [tp for tp in tps if case.unclean_winner(tp) is not None]
    if electable:  # otherwise every live replica is in a failed log directory (KFX406)
        if_ever = f"Only if {brokers_named((*dead, *up))} can never come back" if dead or up else "Then"
        yield unclean.unclean_runbook(
            electable,
            case,
            if_ever,
            "the runbook puts the longest log first and asks for confirmation of each unclean election "
            f"({_ends(electable, case)})",
        )


def _ends(tps: Sequence[TopicPartition], case: CaseFile) -> str:
    """Returns what is known of the logs that an unclean election chooses from."""
    more = f", and {several(len(tps) - _SHOWN, 'more partition')}" if len(tps) > _SHOWN else ""
    return f"{'; '.join(_ends_of(tp, case) for tp in tps[:_SHOWN])}{more}"


def _ends_of(tp: TopicPartition, case: CaseFile) -> str:
    ends = {b: e.end for b, e in case.log_ends(tp).items() if b in (case.live or ())}
    if not ends:
        return f"{tp}: no log end is known"
    return f"{tp}: log ends {', '.join(f'{end} on broker {b}' for b, end in sorted(ends.items()))}"
