"""Partitions without a leader and with an empty ISR, of which it was not read who may lead them without a loss.

A dead replica may hold every record, and to start it loses none (docs/facts/kraft.md). So KFX103 and KFX104 propose no
unclean election of them, and no number of records that it would lose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kfix.core.derive.checks import CaseFile, Rows
from kfix.core.derive.elections import UNCLEAN
from kfix.core.diagnosis.finding import Cause, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, brokers_named, has, per_topic, topics
from kfix_diagnostics._advice import NEVER_SET_MIN_ISR, NEVER_UNCLEAN_CONFIG, blocked, diagnose_again, start
from kfix_diagnostics._bans import no_unclean_election, starts
from kfix_diagnostics._evidence import assignment_row, live_row, log_end_row, rows_of, view_rows
from kfix_diagnostics._explained import explained_by, find_out_why, running_and_dead, runs_but
from kfix_diagnostics.leadership import _unclean as unclean
from kfix_diagnostics.leadership._eligible import not_read

_SHOWN = 3
_AGAIN = "iagnose again, so that kfix reads which replicas are eligible"


def describe_unread(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    """Yields one finding of the partitions that allow unclean elections, and one each of the others and the unknown."""
    for setting, tps in unclean.by_setting(rows, case).items():
        if unread := [tp for tp in tps if not_read(tp, case)]:
            yield _finding(unread, case, setting)


def _finding(tps: list[TopicPartition], case: CaseFile, setting: str) -> Finding:
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
        remedies=tuple(_remedies(dead, up, tps, case, trapped=trapped)),
        never=tuple(_never(dead, trapped=trapped)),
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


def _remedies(
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


def _never(dead: tuple[int, ...], *, trapped: str) -> Iterator[str]:
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
