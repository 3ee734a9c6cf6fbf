"""Log directories as text: differences first, then remarks about files, then one line per healthy partition."""

from collections.abc import Iterable, Iterator

from rich.console import Console

from kfix.core.derive.divergence import Comparison, Divergence, ElectionLoss
from kfix.core.disk.model import Grade, LogDir, Replica, StoredGroup, StoredGroups, Tail
from kfix.core.harmless import one_line
from kfix.core.snapshot.group_reading import CONSUMER_GROUP, SHARE_GROUP, STREAMS_GROUP
from kfix.core.wording import brokers_named, several, size_text, utc_text
from kfix.front.lines import Line, print_lines
from kfix.inspect.inspection import Inspection

STEP = 2
EPOCHS_SHOWN = 6
ODD_SHOWN = 20
_STYLES = {Divergence.DIVERGENT: "bold red", Divergence.BEHIND: "bold yellow", Divergence.APART: "bold yellow"}
_GRADES = {
    Grade.UNREAD: ("not read, content unknown:", "bold yellow"),
    Grade.ODD: ("damaged, or not in the form in which Kafka leaves it:", "bold yellow"),
    Grade.NOTE: ("notes:", "bold"),
}


def print_inspection(found: Inspection, console: Console, *, only_divergent: bool = False) -> None:
    print_lines(inspection_lines(found, only_divergent=only_divergent), console)


def inspection_lines(found: Inspection, *, only_divergent: bool = False) -> Iterator[Line]:
    yield from _top(found)
    for comparison in sorted((c for c in found.comparisons if c.differs), key=lambda c: (_ORDER[c.verdict], c.tp)):
        yield Line("")
        yield from _difference(comparison)
    for stored in found.groups:
        yield Line("")
        yield from _groups(stored)
    for grade in Grade.UNREAD, Grade.ODD, Grade.NOTE:
        yield from _oddities(found, grade)
    well = [c for c in found.comparisons if not c.differs]
    if well and not only_divergent:
        yield Line("")
        yield Line("no difference:" if len(found.dirs) > 1 else "content:", style="bold")
        for comparison in well:
            yield from _well(comparison, many=len(found.dirs) > 1)


_ORDER = {Divergence.DIVERGENT: 0, Divergence.APART: 1, Divergence.BEHIND: 2, Divergence.SAME: 3, Divergence.ALONE: 4}


def _top(found: Inspection) -> Iterator[Line]:
    parts = [
        f"{found.counts[v]} {v.value}"
        for v in (Divergence.DIVERGENT, Divergence.BEHIND, Divergence.APART)
        if found.counts[v]
    ]
    odd = [(Grade.ODD, "odd file", "unexpected files"), (Grade.UNREAD, "not read", "not read")]
    parts += [f"{n} {one if n == 1 else many}" for grade, one, many in odd if (n := len(_files(found, grade)))]
    many = len(found.comparisons)
    what = f"{several(many, 'partition')}: {', '.join(parts) or 'no difference, no unexpected files'}"
    worst = next((_STYLES[v] for v in _STYLES if found.counts[v]), "bold green" if not parts else "bold yellow")
    yield Line(f"cluster {found.cluster or 'unknown'}, {what}", style=worst, hang=STEP)
    for each in found.dirs:
        yield Line(_directory(each), STEP, hang=STEP)


def _files(found: Inspection, grade: Grade) -> set[str]:
    return {o.file for o in found.graded(grade)}


def _directory(each: LogDir) -> str:
    name = "unknown broker" if each.broker is None else f"broker {each.broker}"
    size = size_text(sum(r.size for r in each.replicas))
    state = "shut down cleanly" if each.clean else "running, or not shut down cleanly"
    return f"{name}: {each.path}, {several(len(each.replicas), 'partition')}, {size}, {state}"


def _difference(comparison: Comparison) -> Iterator[Line]:
    yield Line(f"{comparison.verdict.value.upper()} {comparison.tp}", style=_STYLES[comparison.verdict])
    yield from _table(comparison)
    if comparison.why:
        yield Line(f"not compared: {comparison.why}", STEP, hang=STEP)
        return
    for leader in comparison.replicas:
        losses = comparison.lost_if_led_by(leader)
        wins = " (best log)" if leader is comparison.winner else ""
        parts = "no records are lost" if not losses else "; ".join(_lost(loss) for loss in losses)
        yield Line(f"if {leader.name} leads{wins}: {parts}", STEP, hang=STEP)


def _lost(loss: ElectionLoss) -> str:
    who, tail = loss.replica.name, loss.tail
    if tail is None:
        return f"{who} loses its records from offset {loss.kept} to {loss.replica.log_end - 1}"
    many = "records" if tail.records is None else several(tail.records, "record")
    return f"{who} loses {many}, offsets {tail.start} to {tail.end - 1}, {size_text(tail.size)}{_times(tail)}"


def _times(tail: Tail) -> str:
    if tail.first_ms is None or tail.last_ms is None:
        return ""
    first, last = moment(tail.first_ms), moment(tail.last_ms)
    return f", {first} to {last}" if first != last else f", at {first}"


def _table(comparison: Comparison) -> Iterator[Line]:
    head = ("replica", "log start", "log end", "hw at least", "flushed", "epoch:start")
    rows = [head, *(_row(r) for r in (*comparison.replicas, *comparison.aside))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:-1], widths[1:], strict=True)), row[-1]]
        yield Line("  ".join(cells), STEP, "" if number else "dim", verbatim=True)


def _row(replica: Replica) -> tuple[str, ...]:
    name = one_line(replica.name) + (f" ({replica.state})" if replica.state else "")
    marks = (replica.high_watermark, replica.recovery_point)
    marks_text = ("-" if m is None else str(m) for m in marks)
    return (name, str(replica.log_start), str(replica.log_end), *marks_text, epochs_text(replica))


def epochs_text(replica: Replica) -> str:
    """Returns the newest epochs as `epoch:start`; an epoch without records is in parentheses."""
    written = set(replica.written)
    parts = [f"{e.epoch}:{e.start}" if e in written else f"({e.epoch}:{e.start})" for e in replica.epochs]
    more = len(parts) - EPOCHS_SHOWN
    return " ".join([f"... {more} older"] * (more > 0) + parts[-EPOCHS_SHOWN:]) or "none"


def _well(comparison: Comparison, *, many: bool) -> Iterator[Line]:
    for replica in comparison.replicas[:1]:
        names = _names(comparison.replicas)
        alone = " only" if comparison.verdict is Divergence.ALONE else ""
        where = f" on {names}{alone}" if many else ""
        yield Line(f"{comparison.tp}{where}: {', '.join(_holds(replica))}", STEP, hang=STEP)


def _holds(replica: Replica) -> Iterator[str]:
    first, end = replica.log_start, replica.log_end
    yield f"offsets {first} to {end - 1}" if end > first else f"empty at offset {end}"
    if replica.high_watermark is not None:
        yield f"hw at least {replica.high_watermark}"
    yield size_text(replica.size)
    yield f"epochs {epochs_text(replica)}"
    if replica.walked < replica.segments:
        yield f"{replica.walked} of {replica.segments} segments read"


def _names(replicas: Iterable[Replica]) -> str:
    brokers = [each.broker for each in replicas if each.broker is not None]
    named = [brokers_named(brokers)] if brokers else []
    return ", ".join([*named, *sorted(each.directory for each in replicas if each.broker is None)])


def _groups(stored: StoredGroups) -> Iterator[Line]:
    where = f"{stored.replica.tp} (on {stored.replica.name})"
    many = len(stored.groups)
    unsure = "" if stored.complete else ", possibly more: some batches could not be read"
    yield Line(f"{several(many, 'group')} in {where}{unsure}", style="bold", hang=STEP)
    for group in stored.groups:
        yield Line(_group(group), STEP, hang=STEP)


_KINDS = {
    CONSUMER_GROUP: " (consumer protocol)",
    SHARE_GROUP: " (share group)",
    STREAMS_GROUP: " (streams group)",
}


def _group(group: StoredGroup) -> str:
    many = "no offsets" if not group.offsets else f"offsets of {several(group.offsets, 'partition')}"
    last = "" if group.last_commit_ms is None else f", last commit {moment(group.last_commit_ms)}"
    members = "" if group.members is None else f", {several(group.members, 'member')}"
    kind = _KINDS.get(group.type, "")
    return f"{group.name or '(empty name)'}{kind}: {many}{last}{members}"


def names_lines(found: Iterable[StoredGroups]) -> list[str]:
    """Returns the group names, sorted, for other commands."""
    return sorted({one_line(g.name) for stored in found for g in stored.groups if g.name})


def _oddities(found: Inspection, grade: Grade) -> Iterator[Line]:
    odd = found.graded(grade)
    if odd:
        title, style = _GRADES[grade]
        yield Line("")
        yield Line(title, style=style)
    for each in odd[:ODD_SHOWN]:
        at = "" if each.at is None else f", byte {each.at}"
        yield Line(f"{each.file}{at}: {each.what}", STEP, hang=STEP)
    if len(odd) > ODD_SHOWN:
        yield Line(f"and {len(odd) - ODD_SHOWN} more: --json lists all", STEP)


def moment(ms: int) -> str:
    try:
        return utc_text(ms / 1000)
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"
