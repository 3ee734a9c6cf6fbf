"""Rows of evidence: the source, what was asked, what it answered, and how old the answer is."""

from collections.abc import Callable, Iterable, Iterator

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.grouping import grouped
from kfix.core.diagnosis.finding import Evidence
from kfix.core.snapshot.snapshot import OffsetsLog, PartitionView, TopicPartition
from kfix.core.wording import brokers_named, ids, some
from kfix_diagnostics._words import error_name

_GROUPS_SHOWN = 5


def state_row(case: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    state = case.state(tp)
    if state is None:
        return
    said = f"leader {state.leader}, leader epoch {state.leader_epoch}, ISR {ids(state.isr)}"
    yield Evidence(
        case.zookeeper_name,
        f"state of {tp}",
        f"{said}, written under controller epoch {state.controller_epoch}",
        case.taken_at - state.mtime_ms / 1000,
    )


def view_rows(case: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    """Yields one row for all brokers that give the same answer."""
    said = grouped((view_words(view), broker) for broker, view in sorted(case.views_of(tp).items()))
    for words, brokers in said.items():
        # A pasted text is filed as the view of broker -1.
        yield Evidence("text" if brokers == [-1] else brokers_named(brokers), f"metadata of {tp}", words)
    missing = sorted(case.views.keys() - case.views_of(tp).keys())
    if missing and said:
        yield Evidence(brokers_named(missing), f"metadata of {tp}", "does not know the partition")


def view_words(view: PartitionView) -> str:
    error = f" ({error_name(view.error)})" if view.error else ""
    epoch = f", leader epoch {view.leader_epoch}" if view.leader_epoch >= 0 else ""
    return f"leader {view.leader}{error}{epoch}, ISR {ids(view.isr)}"


def live_row(case: CaseFile) -> Iterator[Evidence]:
    if case.live is None:
        return
    if case.snapshot.pasted is not None and case.snapshot.pasted.registered is not None:
        yield Evidence("text", "registered brokers", ", ".join(map(str, sorted(case.live))) or "none")
        return
    registered = bool(case.registrations)
    source = case.zookeeper_name if registered else "brokers"
    what = "registered brokers" if registered else "brokers that most brokers report as alive"
    yield Evidence(source, what, ", ".join(map(str, sorted(case.live))) or "none")


def assignment_row(case: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    assignment = case.assignment(tp)
    if assignment.replicas:
        yield Evidence("assignment", str(tp), f"replicas {ids(assignment.replicas)}")


def rows_of(
    case: CaseFile, tps: Iterable[TopicPartition], *kinds: Callable[[CaseFile, TopicPartition], Iterable[Evidence]]
) -> Iterator[Evidence]:
    """Yields the rows of these kinds about each partition."""
    return (row for tp in tps for kind in kinds for row in kind(case, tp))


def partition_rows(case: CaseFile, tp: TopicPartition) -> tuple[Evidence, ...]:
    """Returns what every finding about one partition rests on: its record, the views, its assignment, live brokers."""
    return (
        *state_row(case, tp),
        *view_rows(case, tp),
        *assignment_row(case, tp),
        *live_row(case),
        *group_rows(case, tp),
    )


def group_rows(case: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    """Yields which source names the groups of an offsets partition without a coordinator."""
    if tp.topic != OFFSETS_TOPIC:
        return
    logs = [log for log in case.offsets_logs if log.partition == tp.partition and log.groups]
    for log in logs:
        read = "every record" if log.whole else f"records {log.first} to {log.end - 1}"
        said = f"{some([g.name for g in log.groups], _GROUPS_SHOWN)} ({read} read)"
        yield Evidence(log_source(log), "groups", said)
    remembered = [name for name in case.groups.get(tp.partition, ()) if name in case.snapshot.memory.groups]
    if not logs and remembered:
        yield Evidence("earlier snapshots", f"groups of {tp}", some(remembered, _GROUPS_SHOWN))


def log_source(log: OffsetsLog) -> str:
    """Returns the source of evidence that was read from the log of an offsets partition."""
    return f"log of {TopicPartition(OFFSETS_TOPIC, log.partition)} on broker {log.broker}"


def probe_rows(case: CaseFile, tps: Iterable[TopicPartition], most: int = 3) -> Iterator[Evidence]:
    wanted = {tp.partition for tp in tps}
    sick = [p for p in case.probes if p.partition in wanted and not p.answers]
    for probe in sick[:most]:
        yield Evidence("coordinator probe", probe.asked_for, probe_words(probe.find_error, probe.fetch_error))


def probe_words(find_error: int | None, fetch_error: int | None) -> str:
    if find_error is None:
        return "not asked"
    if find_error != 0:
        return f"FindCoordinator: {error_name(find_error)}"
    if fetch_error is None:
        return "FindCoordinator succeeds, OffsetFetch was not asked"
    return f"FindCoordinator succeeds, OffsetFetch {error_name(fetch_error) if fetch_error else 'succeeds'}"


def log_end_row(case: CaseFile, tp: TopicPartition) -> Iterator[Evidence]:
    ends = case.log_ends(tp)
    if ends:
        said = ", ".join(f"broker {b}: {e.end}" for b, e in sorted(ends.items()))
        yield Evidence("ListOffsets of each replica", f"log end of {tp}", said)
