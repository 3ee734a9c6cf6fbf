"""Diagnoses a live cluster, with a second snapshot if the first leaves a doubt, or saved snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.core.clusters import DiagnoseOptions
from kfix.core.criteria import Criteria
from kfix.core.cyclic import without_collector
from kfix.core.derive.loss import led_outside, sample_of, without_earlier_end, without_present_end
from kfix.core.derive.memory import at_risk, compared_with
from kfix.core.derive.record import record_of
from kfix.core.diagnosis.finding import Diagnosis, Finding, Hidden
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.core.snapshot.memory import AtRisk
from kfix.core.snapshot.snapshot import Sample, Snapshot, TopicPartition
from kfix.core.snapshot.traffic import in_all
from kfix.core.target import Target
from kfix.core.timing import DiagnosisTimes
from kfix.core.wording import are, several
from kfix.diagnose.background import InTheBackground
from kfix.diagnose.report.verdict import UNREAD, cut_short
from kfix.diagnose.snapshots import load_merged, load_snapshot, read_cluster

if TYPE_CHECKING:
    from kfix.core.access import Access
    from kfix.core.derive.checks import Check
    from kfix.core.diagnosis.finding import GroupStory

_USUAL = DiagnoseOptions()


def diagnose_live(
    target: Target, judged: DiagnoseOptions, unfinished_runs: Callable[[], Callable[[Diagnosis, Snapshot], Diagnosis]]
) -> tuple[Diagnosis, Snapshot]:
    """Returns the diagnosis of a live cluster and its snapshot.

    `unfinished_runs` is called while the cluster answers; it returns the runs of this host for the diagnosis.

    A second snapshot is taken only if the first shows what an ordinary election or restart also shows for a moment, and
    if ZooKeeper's own times do not prove that it has lasted.
    """
    earlier_snapshot = None if judged.before is None else load_snapshot(judged.before)
    sample = None if earlier_snapshot is None else sample_of(earlier_snapshot)
    before = {} if earlier_snapshot is None else at_risk(earlier_snapshot)

    def read() -> Snapshot:
        taken = read_cluster(target, groups=judged.groups, keep=judged.keep, before=sample)
        return compared_with(before, taken)

    with without_collector():
        first = InTheBackground(read)
        # The catalogue is loaded while the cluster answers, which hides 60 ms.
        from kfix_diagnostics.engine import diagnose, examine, settle_seconds  # noqa: PLC0415

        add_unfinished = unfinished_runs()

        seen, earlier = examine(first.result(), judged), None
        pause = settle_seconds(seen)
        if pause > 0:
            if judged.first is not None:
                judged.first(diagnose(seen))
            judged.waiting(pause)
            try:
                time.sleep(pause)
                second = read()
            except KeyboardInterrupt:
                judged.interrupted(diagnose(seen))
                raise
            again = combined(second, seen.case.snapshot)
            seen, earlier = examine(again, judged), seen
        if earlier_snapshot is not None:
            _one_cluster(earlier_snapshot, seen.case.snapshot, judged.before)
        diagnosis, snapshot = diagnose(seen, earlier=earlier), seen.case.snapshot
        unread = tuple(_unread_losses(snapshot, before, sample, judged.before))
        if unread:
            diagnosis = replace(diagnosis, could_not_read=(*diagnosis.could_not_read, *unread))
        return add_unfinished(diagnosis, snapshot), snapshot


def _one_cluster(earlier: Snapshot, snapshot: Snapshot, path: Path | None) -> None:
    if earlier.cluster.id and snapshot.cluster.id not in ("", earlier.cluster.id):
        raise UsageError(
            f"{path}: is a snapshot of cluster {earlier.cluster.id}, this cluster is {snapshot.cluster.id}",
            hint="give --before a snapshot of the same cluster",
        )


def _unread_losses(
    snapshot: Snapshot, before: Mapping[TopicPartition, AtRisk], sample: Sample | None, path: Path | None
) -> Iterator[str]:
    """Yields why it is unknown whether records were lost since the snapshot of `--before`."""
    if sample is not None and (unknown := without_earlier_end(snapshot, sample)):
        yield (
            f"{path}: holds no log end of the former leader of {several(len(unknown), 'partition')}, such as "
            f"{unknown[0]}: whether records of them were lost. kfix snapshot save reads up to 50 000 log ends"
        )
    if sample is not None and (hidden := without_present_end(snapshot, sample)):
        yield (
            f"OffsetForLeaderEpoch of {several(len(hidden), 'partition')} that another leader leads since the earlier "
            f"snapshot, such as {hidden[0]}: whether records of them were lost"
        )
    if outside := led_outside(snapshot, before):
        yield (
            f"{path}: {several(len(outside), 'partition')}, such as {outside[0]}, had no leader, and a replica that "
            "was not known to hold every record leads now: whether records were lost"
        )


def diagnose_once(target: Target, judged: DiagnosisTimes) -> Diagnosis:
    """Returns the diagnosis of a single snapshot, which is not stored; no change may rest on it."""
    return judge_once(read_cluster(target, keep=False), judged)


def judge_once(snapshot: Snapshot, judged: DiagnosisTimes) -> Diagnosis:
    """Returns the diagnosis of this snapshot alone; no change may rest on it."""
    from kfix_diagnostics.engine import diagnose  # noqa: PLC0415

    criteria = Criteria(judged.debounce, judged.restart_grace, judged.transaction_grace)
    return diagnose(snapshot, criteria=criteria)


def combined(snapshot: Snapshot, earlier: Snapshot) -> Snapshot:
    """Returns the snapshot with the earlier one's log ends, group readings and transactions, which show motion."""
    snapshot = replace(
        snapshot,
        group_readings=(*earlier.group_readings, *snapshot.group_readings),
        traffic=in_all(earlier.traffic, snapshot.traffic),
    )
    if snapshot.transaction_log is not None and earlier.transaction_log is not None:
        log = replace(snapshot.transaction_log, earlier=earlier.transaction_log.found)
        snapshot = replace(snapshot, transaction_log=log)
    if not earlier.log_ends:
        return snapshot
    return replace(snapshot, samples=(*earlier.samples, Sample(earlier.taken_at, earlier.all_reported_ends())))


def diagnose_saved(
    paths: Sequence[Path],
    criteria: Criteria,
    warn: Callable[[str], None] = lambda _: None,
) -> tuple[Diagnosis, Snapshot]:
    """Returns the diagnosis of saved snapshots, merged into one, and the snapshot; `warn` as in `load_merged`."""
    from kfix_diagnostics.engine import diagnose  # noqa: PLC0415

    snapshot = load_merged(paths, warn)
    return diagnose(snapshot, criteria=criteria), snapshot


@dataclass(frozen=True, slots=True)
class Choice:
    """The selected findings: of these codes, of these topics, and of this severity or worse; empty means all.

    `least` is 0 for info, 1 for warning and 2 for critical.
    """

    codes: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    least: int = 0
    prevention: bool = False


EVERYTHING = Choice()
SEVERITIES = ("info", "warning", "critical")


def choice_of(only: Sequence[str], topics: Sequence[str], min_severity: str, *, prevention: bool) -> Choice:
    """Returns the choice; each item of `only` is a code or a pattern, or several separated by commas.

    A code of a latent risk implies `prevention`. Raises UsageError for an unknown code.
    """
    if min_severity not in SEVERITIES:
        raise UsageError(f"--min-severity: {min_severity!r} is not one of {', '.join(SEVERITIES)}")
    codes: tuple[str, ...] = ()
    if only:
        from kfix_diagnostics.catalogue import find_all  # noqa: PLC0415 - the catalogue is loaded while the cluster answers

        checks = [check for given in only for name in given.split(",") for check in find_all(name.strip())]
        codes = tuple(check.code for check in checks)
        prevention = prevention or any(check.prevention for check in checks)
    return Choice(codes, tuple(topics), SEVERITIES.index(min_severity), prevention)


def judged_checks(choice: Choice = EVERYTHING) -> tuple[Check, ...]:
    """Returns the checks of one cluster that this choice judges, by code; latent risks only with `prevention`."""
    from kfix_diagnostics import ALL  # noqa: PLC0415 - only for formats that list the checks

    wanted = (check for check in ALL if choice.prevention or not check.prevention)
    return tuple(check for check in wanted if not choice.codes or check.code in choice.codes)


def as_the_inventory_says(diagnosis: Diagnosis, access: Access) -> Diagnosis:
    """Returns the diagnosis with the mutes and the maintenance window of the cluster, if it was named."""
    if access.listed is None:
        return diagnosis
    from kfix.core.inventory.muting import as_listed  # noqa: PLC0415 - only for a cluster of the inventory

    return as_listed(diagnosis, access.listed.entry, access.listed.mutes)


def require_topics(snapshot: Snapshot, topics: Sequence[str]) -> None:
    """Raises UsageError for a topic that no source of the snapshot names: "nothing found" would be a false answer."""
    if not topics:
        return
    known = {tp.topic for view in snapshot.views.values() for tp in view.partitions} | snapshot.topic_configs.keys()
    if (record := record_of(snapshot)) is not None:
        known |= {tp.topic for tp in (*record.assignments, *record.states)} | record.deleting
    for topic in topics:
        if topic not in known:
            raise UsageError(
                f"--topic: no source names a topic {topic!r}{did_you_mean(topic, known)}",
                hint="it does not exist, or this user may not describe it",
            )


def chosen(diagnosis: Diagnosis, choice: Choice) -> Diagnosis:
    """Returns the chosen findings; a chosen finding that is folded under another appears by itself."""

    def fits(finding: Finding) -> bool:
        return (
            (not choice.codes or finding.code in choice.codes)
            and (not choice.topics or any(tp.topic in choice.topics for tp in finding.partitions))
            and finding.worst >= choice.least
        )

    if not choice.codes and not choice.topics and not choice.least:
        return diagnosis
    muted = tuple(m for m in diagnosis.muted if fits(m.finding))
    if not choice.codes and not choice.topics:
        shown = replace(diagnosis, findings=tuple(f for f in diagnosis.findings if fits(f)), muted=muted)
        return _with_left_out(shown, diagnosis)
    picked = [f.with_folded(()) for f in diagnosis.walk() if fits(f) and f.severity >= choice.least]
    # A run has no code and no topic.
    found = tuple(sorted(picked, key=lambda f: (-f.severity, f.key)))
    return _with_left_out(replace(diagnosis, findings=found, unfinished=(), muted=muted), diagnosis)


def _with_left_out(shown: Diagnosis, whole: Diagnosis) -> Diagnosis:
    """Returns the shown findings with headlines about the rest: a choice of findings makes no cluster healthy."""
    kept = {f.key for f in shown.walk()} | {f.key for m in shown.muted for f in m.finding.walk()}

    def without(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(f.with_folded(()) for f in findings if f.key not in kept and f.code != UNREAD)

    hidden = Hidden(
        without(whole.walk()),
        without(f for m in whole.muted for f in m.finding.walk()),
        len(cut_short(whole)) - len(cut_short(shown)),
    )
    sentences = [
        f"{several(number, noun)} {are(number)} not shown"
        for number, noun in ((len(hidden.alarms), "finding"), (hidden.runs, "unfinished run"))
        if number
    ]
    return replace(shown, left_out=(*whole.headlines, *sentences), hidden=hidden)


def group_story(snapshot: Snapshot, diagnosis: Diagnosis, group: str) -> GroupStory:
    """Returns why a consumer group is blocked, or that its coordinator is not the problem."""
    from kfix_diagnostics.ladder.ladder import explain_group  # noqa: PLC0415 - only who asks for a group needs it

    return explain_group(snapshot, diagnosis, group)
