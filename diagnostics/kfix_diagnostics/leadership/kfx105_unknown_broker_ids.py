"""KFX105 unknown-broker-ids: replicas are assigned to broker ids that no longer exist.

Why it matters
    Containers that are re-created with new ids leave their old ids in the assignments. A partition whose replicas all
    have such ids has no leader, and no election of any kind can give it one. Others stay under-replicated forever.

How kfix knows
    The id is not registered, and one of two signs shows that it will not return: its former address (from earlier
    snapshots, or from its registration, which KRaft keeps) now answers under another id, which makes it likely; or a
    broker without any replica has registered since the id was lost, which makes it possible, and which KRaft does not
    show. Each lost id has its own replacement, by address, host, or the order of ids; if several brokers may be it, an
    operator has to name it. Without such a sign kfix reports a dead broker (KFX401).

Remedies, safest first
    Start a broker with the old id and the old disk; all its replicas recover without further action. If the id is gone
    for good but an in-sync replica is alive, reassign the replicas of the lost id to the new one. If none is alive, the
    records exist on the old disk only.

Do not
    Do not trigger an election. Do not start the old id with an empty disk while it is the only member of an ISR: it
    would be elected without any records, and the others would truncate to it.

Sources
    Kafka 2.7.1: elections consider only live assigned replicas. Reproduced on real brokers. See
    docs/facts/controller.md.
"""

from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, PartitionCheck, Rows
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import brokers_named, either, has, per_topic, several, topics, were
from kfix_diagnostics._advice import blocked, runbook
from kfix_diagnostics._bans import CHANGES_OF, no_election
from kfix_diagnostics._evidence import assignment_row, live_row, state_row
from kfix_diagnostics._explained import explained_by


@PartitionCheck(severity=Severity.CRITICAL, rows="n_unknown_replicas > 0 and not deleting")
def describe(rows: Rows, case: CaseFile) -> Iterator[Finding]:
    lost = sorted({b for row in rows for b in case.assignment(row.tp).replicas if b in case.lost})
    down = [row.tp for row in rows if row.leaderless and row.n_live_replicas == 0]
    severity = Severity.CRITICAL if down else Severity.INFO if case.calm(lost) else Severity.WARNING
    first = down[0] if down else rows[0].tp
    sure = all(case.lost[b][1] for b in lost)
    gone = ("no longer exists" if len(lost) == 1 else "no longer exist") if sure else "may no longer exist"
    summary = (
        f"{brokers_named(lost)} {gone}, but {several(len(rows), 'partition')} still {has(len(rows))} replicas there"
    )
    if down:
        summary += f". {per_topic(down)} {has(topics(down))} replicas only on lost broker ids, so no election can help"
    yield Finding(
        severity=severity,
        obj=brokers_named(lost),
        about="brokers",
        summary=summary,
        cause=_cause(lost, case),
        evidence=(
            *(_heir(broker, case) for broker in lost),
            *state_row(case, first),
            *assignment_row(case, first),
            *live_row(case),
        ),
        blocked=blocked(case, down),
        remedies=tuple(_remedies(lost, rows, bool(down), case)),
        never=(
            *(
                ("Do not trigger an election of any kind where no replica is alive: it cannot elect a leader",)
                if down
                else ()
            ),
            (
                "Do not start the old id with an empty disk while it is the only member of an ISR: the others would "
                "truncate to it"
            ),
        ),
        forbids=(no_election(down),) if down else (),
        partitions=tuple(row.tp for row in rows),
        facts={"lost": tuple(lost)},
        follows=explained_by(lost, case),
    )


def _heir(broker: int, case: CaseFile) -> Evidence:
    heir, same_address = case.lost[broker]
    if heir is None:
        return Evidence(
            case.record_name, brokers_named(_empty(case)), f"without replicas; any may replace broker {broker}"
        )
    if same_address:
        known = "DescribeCluster" if broker in case.fenced else "earlier snapshot"
        return Evidence(known, f"address of broker {broker}", f"now answers as broker {heir}")
    return Evidence(
        case.record_name, f"broker {heir}", f"holds no replica and registered after broker {broker} had left"
    )


def _cause(lost: list[int], case: CaseFile) -> Cause:
    sure = all(case.lost[b][1] for b in lost)
    known = [heir for b in lost if (heir := case.lost[b][0]) is not None]
    heirs = brokers_named(known) if len(known) == len(lost) else f"some of {brokers_named(_empty(case))}"
    return Cause(
        f"{brokers_named(lost)} {were(len(lost))} re-created under another id: {heirs}",
        Confidence.LIKELY if sure else Confidence.POSSIBLE,
    )


def _remedies(lost: list[int], rows: Rows, down: bool, case: CaseFile) -> Iterator[Remedy]:
    old = "the old id and the old disk" if len(lost) == 1 else "their old ids and disks"
    yield Remedy(f"Start {brokers_named(lost)} with {old}. All replicas recover without further action")
    if any(row.n_live_isr > 0 for row in rows):
        yield _replace(lost, case, without_copy=any(row.leaderless for row in rows))
    if down:
        yield Remedy("Where no replica is alive, the records exist on the old disk only: save it before anything else")


def _replace(lost: list[int], case: CaseFile, *, without_copy: bool) -> Remedy:
    """Returns the runbook with the replacement of each id, or the question which broker it is.

    With `without_copy` it has to leave out the partitions that have no leader, which it refuses otherwise.
    """
    found = {b: case.lost[b][0] for b in lost}
    rest = ("without_copy=leave",) if without_copy else ()
    text = f"Where an in-sync replica is alive: reassign the replicas of {brokers_named(lost)} to "
    if None in found.values():
        asked, empty = " ".join(f"{b}=NEW" for b in lost), _empty(case)
        which = f"which of {brokers_named(empty)} replaces {either(lost)}"
        if len(empty) == 1:
            which = f"whether broker {empty[0]} replaces {either(lost)}"
        ask = f"Find out {which} (log directory, host, rack), and name each"
        return Remedy(
            f"{text}their replacements. {ask}: kfix runbook plan replace-broker -p 'renamed={asked}'"
            + "".join(f" -p {each}" for each in rest),
            runbook="replace-broker",
            changes=CHANGES_OF["replace-broker"],
        )
    renamed = " ".join(f"{b}={heir}" for b, heir in found.items())
    heirs = brokers_named(h for h in found.values() if h)
    return runbook(case, "replace-broker", text + heirs, f"renamed={renamed}", *rest)


def _empty(case: CaseFile) -> list[int]:
    return sorted((case.live or frozenset()) - case.assigned)
