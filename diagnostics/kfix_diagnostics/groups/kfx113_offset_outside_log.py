"""KFX113 offset-outside-log: a committed offset is below the start of the log or above its end.

Why it matters
    A consumer that starts there gets OFFSET_OUT_OF_RANGE, and auto.offset.reset decides: `latest` skips every unread
    record, `earliest` reads everything again, and `none` stops the client with an error.

How kfix knows
    `kfix diagnose --group G` reads the committed offsets first and the log start and high watermark of their leaders
    after that, so that a commit in between is not mistaken for this. Below the start: retention or DeleteRecords
    removed records that the group had not read. Above the end: the log has become shorter, by an unclean election or
    because the topic was created again.

Remedies, safest first
    Above the end: find out which records were lost before anything else. Below the start: those records no longer
    exist. Then choose the new position of the group deliberately, while its members are stopped.

Do not
    Do not start consumers before the position is chosen: they reset it by auto.offset.reset. Do not raise retention in
    the hope that records return.

Sources
    Fetch answers OFFSET_OUT_OF_RANGE (1). See docs/facts/consumer-groups.md.
"""

import shlex
from collections.abc import Iterator

from kfix.core.derive.checks import CaseFile, ClusterCheck, Rows
from kfix.core.diagnosis.finding import Blocked, Cause, Evidence, Finding, Remedy, Severity
from kfix.core.snapshot.group_reading import EMPTY, SHARE_GROUP, GroupPartition, GroupReading, by_group
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, per_topic, several
from kfix_diagnostics._advice import servers

_SHOWN = 5
_Outside = dict[TopicPartition, GroupPartition]


@ClusterCheck(severity=Severity.CRITICAL)
def check(_: Rows, case: CaseFile) -> Iterator[Finding]:
    for readings in by_group(case.snapshot.group_readings).values():
        last = readings[-1]
        if last.group_type == SHARE_GROUP:
            continue  # Brokers move the start offset of a share group into the log.
        outside = {tp: each for tp, each in sorted((last.partitions or {}).items()) if each.outside}
        if outside:
            yield _outside(last, outside, case)


def _outside(reading: GroupReading, outside: _Outside, case: CaseFile) -> Finding:
    above = {tp: each for tp, each in outside.items() if each.committed > each.end}
    below = {tp: each for tp, each in outside.items() if tp not in above}
    group, tps = reading.group, tuple(outside)
    sides = ((above, "above the end"), (below, "below the start"))
    parts = [f"{per_topic(side)} ({where})" for side, where in sides if side]
    n = len(outside)
    return Finding(
        severity=_severity(reading, case, lost=bool(above)),
        obj=f"group {group}",
        summary=f"{several(n, 'committed offset')} of group {group} {are(n)} outside the log: {', '.join(parts)}; "
        "auto.offset.reset decides where its consumers start",
        cause=_cause(above, below),
        evidence=tuple(
            Evidence("OffsetFetch and ListOffsets", str(tp), f"committed {e.committed}, log {e.start} to {e.end}")
            for tp, e in [*above.items(), *below.items()][:_SHOWN]
        ),
        blocked=Blocked("consumers of this group lose their position", (group,)),
        remedies=tuple(_remedies(group, next(iter(outside)), case, lost=bool(above))),
        never=(
            "Do not start consumers of this group before you have chosen its position: they would reset it themselves",
        ),
        partitions=tps,
        token=",".join(f"{tp}:{e.committed}" for tp, e in outside.items()),
    )


def _severity(reading: GroupReading, case: CaseFile, *, lost: bool) -> Severity:
    """A group without members that --group does not name may have been left behind for good."""
    states = {group.name: group.state for group in case.snapshot.groups}
    if lost or reading.members or (reading.members is None and states.get(reading.group) != EMPTY):
        return Severity.CRITICAL
    return Severity.WARNING if reading.members is not None else Severity.INFO


def _cause(above: _Outside, below: _Outside) -> Cause:
    if above:
        text = "the log has become shorter: after an unclean election, or because the topic was deleted and re-created"
        return Cause(text + ("; retention removed unread records elsewhere" if below else ""))
    return Cause("retention or DeleteRecords removed records that the group had not read")


def _remedies(group: str, tp: TopicPartition, case: CaseFile, *, lost: bool) -> Iterator[Remedy]:
    if lost:
        yield Remedy(
            "First find out which records were lost: `kfix diagnose --before FILE` compares with a saved snapshot"
        )
    yield Remedy(
        "Stop the consumers of the group, and see which position a reset to the log start gives each partition of the "
        "topic; --execute instead of --dry-run sets it",
        f"kafka-consumer-groups.sh {servers(case)} --group {shlex.quote(group)} --topic "
        f"{shlex.quote(f'{tp.topic}:{tp.partition}')} --reset-offsets --to-earliest --dry-run",
    )
