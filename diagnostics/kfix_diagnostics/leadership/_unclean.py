"""Partitions without a leader whose topic allows unclean elections: Kafka may elect a replica that lacks records.

On KRaft it looks for such partitions every 5 minutes, and whenever a broker registers; on ZooKeeper whenever a broker
registers (docs/facts/kraft.md, docs/facts/controller.md). A member of the ISR that registers is elected in any case.
On KRaft the active controller's settings decide. Where it did not report them, such an election is possible.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kfix.core.derive.checks import CaseFile, Rows
from kfix.core.derive.elections import UNCLEAN
from kfix.core.derive.grouping import grouped
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.diagnosis.finding import Ban, ChangeKind, Finding, Remedy
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, per_topic, some
from kfix_diagnostics._advice import diagnose_again, runbook, servers
from kfix_diagnostics._bans import CHANGES_OF, no_registration, no_start

_SHOWN = 3
#: What `allowed` returns, of settings that are due to elect and of those that are not known.
IS_TRUE, MAY_BE_TRUE = "is true", "may be true"


def allowed(row: PartitionFacts, case: CaseFile) -> str:
    """Returns "is true" or, of a controller that did not report it, "may be true"; "" if no such election is due."""
    if row.unclean:
        return IS_TRUE
    return MAY_BE_TRUE if case.kraft and not row.unclean_known else ""


def by_setting(rows: Rows, case: CaseFile) -> dict[str, list[TopicPartition]]:
    """Returns {what `allowed` returns of them: partitions}."""
    return dict(sorted(grouped((allowed(row, case), row.tp) for row in rows).items()))


def is_set(setting: str) -> str:
    """Returns the clause of a summary; `setting` is that of `allowed`."""
    why = "" if setting == IS_TRUE else ", since the active controller did not report its settings"
    return f"{UNCLEAN} {setting}{why}"


def trap(finding: Finding, setting: str) -> str:
    """Returns the object of the finding, which is another one than without the setting."""
    return f"{finding.obj}, unclean elections {'on' if setting == IS_TRUE else 'unknown'}"


def set_to_false(tps: Iterable[TopicPartition], case: CaseFile, *, before: str, after: str = "") -> Iterator[Remedy]:
    """Yields how to forbid unclean elections of the first topics; nothing is elected by that, and nothing lost."""
    for topic in sorted({tp.topic for tp in tps})[:_SHOWN]:
        yield Remedy(
            f"{before}: set {UNCLEAN}=false on topic {topic}{after}",
            f"kafka-configs.sh {servers(case)} --alter --entity-type topics --entity-name {shlex.quote(topic)} "
            f"--add-config {UNCLEAN}=false",
        )


def before_any_start(case: CaseFile) -> str:
    """Returns when the setting is to be changed; a broker that runs and is repaired registers, too."""
    if not case.shut_out:
        return "Before any broker is started"
    return f"Before any broker is started or {'unfenced' if case.kraft else 'registered again'}"


def nothing_registers(case: CaseFile, safe: Iterable[int] = ()) -> Iterator[Ban]:
    """Yields the bans while the registration of any broker but the safe ones may elect a replica that lacks records."""
    dead = set(case.dead) - {*safe}
    if dead:
        yield no_start(dead)
    yield no_registration({*(case.live or ()), *case.shut_out} - {*safe})


def unclean_runbook(tps: Sequence[TopicPartition], case: CaseFile, if_ever: str, text: str) -> Remedy:
    """Returns the last resort: `if_ever` is the condition, `text` what the runbook does.

    While a reassignment is under way the runbook refuses: the first live replica may be a new, empty one.
    """
    moved = [tp for tp in tps if tp in case.being_moved]
    if not moved:
        return runbook(case, "unclean-election", f"{if_ever}: {text}; max_loss=-1 accepts any loss", "max_loss=-1")
    return Remedy(
        f"{if_ever}: an unclean election is left. The runbook refuses it while the reassignment of {per_topic(moved)} "
        "is under way, since a new replica that lacks everything may win",
        changes=CHANGES_OF["unclean-election"],
    )


def outside(tps: Iterable[TopicPartition], case: CaseFile) -> tuple[int, ...]:
    """Returns the replicas, live or dead, that are not in the ISR of every one of these partitions."""
    every = [*tps]
    safe = set.intersection(*(set(case.isr(tp)) for tp in every))
    return tuple(sorted({b for tp in every for b in case.assignment(tp).replicas} - safe))


def _verified_later(remedies: Iterable[Remedy]) -> Iterator[Remedy]:
    """Yields the remedies; the runbook that verifies a start refuses until the setting is false (KRaft)."""
    for remedy in remedies:
        if remedy.runbook == "isr-dead":
            text = f"{remedy.text}. Once {UNCLEAN} is false, the runbook isr-dead names it and verifies the recovery"
            yield replace(remedy, text=text, command="")
        else:
            yield remedy


def soon_elected(finding: Finding, isr: tuple[int, ...], case: CaseFile, setting: str) -> Finding:
    """Returns the finding of partitions whose ISR is dead, of which Kafka elects a live replica before long (KRaft)."""
    tps = finding.partitions
    winners = sorted({b for tp in tps if (b := case.unclean_winner(tp)) is not None})
    elects = "elects" if setting == IS_TRUE else "may elect"
    before = f"At once, since Kafka {elects} {brokers_named(winners)} within 5 minutes otherwise"
    return replace(
        finding,
        obj=trap(finding, setting),
        summary=f"{finding.summary}. {is_set(setting)}: {brokers_named(winners)} may be elected at any time, and may "
        "lack records",
        remedies=(*set_to_false(tps, case, before=before), *_verified_later(finding.remedies)),
        never=(
            (
                f"Do not start or restart any broker other than {brokers_named(isr)} while {UNCLEAN} {setting}: a "
                f"replica that lacks records {'is' if setting == IS_TRUE else 'may be'} elected"
            ),
            *finding.never,
        ),
        forbids=(*finding.forbids, *nothing_registers(case, isr)),
    )


def elected_at_start(finding: Finding, case: CaseFile, setting: str) -> Finding:
    """Returns the finding of partitions without a live replica, of which Kafka elects the first one that starts."""
    tps = finding.partitions
    others = outside(tps, case)
    topics = some(sorted({tp.topic for tp in tps}), _SHOWN)
    rest = [*(_verified_later(finding.remedies) if case.kraft else finding.remedies)]
    many = len({tp.topic for tp in tps}) > _SHOWN
    if many and any(set(others) & set(remedy.brokers) for remedy in rest if ChangeKind.START in remedy.changes):
        # No broker has every partition: the start of one elects it for those of the topics that are not shown, too.
        rest = [diagnose_again(case, "Then diagnose again: KFX104 names the brokers to start")]
    return replace(
        finding,
        obj=trap(finding, setting),
        remedies=(*set_to_false(tps, case, before=before_any_start(case)), *rest),
        never=(
            (
                f"Do not start {brokers_named(others)} while {UNCLEAN} {setting} on topic {topics}: the first replica "
                f"that starts {'is' if setting == IS_TRUE else 'may be'} elected, and records that only the ISR has "
                "are lost"
            ),
            *finding.never,
        ),
        forbids=(*finding.forbids, no_start(others), no_registration(others)),
    )
