"""Reports to render: the founding incident, a large one, an empty one, and one whose every name is hostile."""

from dataclasses import replace

from kfix.core.events import Event, Theme, Tone
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.incident.model import SourceRow
from tests.unit.fleet.report.reports import HOSTILE
from tests.unit.incident.timeline.stories import (
    BEGAN,
    RUN,
    age,
    at,
    cluster,
    founding,
    founding_report,
    material,
    records,
)


def founding_incident():
    return founding_report()


def large(partitions=300):
    """Hundreds of partitions that all changed at other times, and thousands of events."""
    paper = cluster().topic("payments.v2", partitions)
    snapshots = [at(paper, 0, "a")]
    for n in range(partitions):
        paper.part("payments.v2", n).write(leader=-1 if n % 3 else 2, isr=(2,), age=age(60 + n * 7))
    snapshots.append(at(paper, 2400, "b"))
    paper.kill(3, age=age(2500))
    snapshots.append(at(paper, 2600, "c"))
    made = material(snapshots)
    events = [
        Event(BEGAN + n, Theme.LEADER, Tone.PLAIN, f"leader {n}", "s.log:1", None, TopicPartition("x", n))
        for n in range(4000)
    ]
    made.events += events
    return made.report("A long run", "0.1.0", (None, None))


def single():
    return material(founding()[:1]).report("One snapshot", "0.1.0", (None, None))


def hostile():
    """Names of topics, brokers' words, people and files that want to be something else."""
    report = founding_report("</script><script>alert(1)</script>")
    rename = {tp: TopicPartition(HOSTILE[n % len(HOSTILE)], n) for n, tp in enumerate(report.summary.partitions)}
    parts = tuple(rename.values())
    lanes = tuple(
        replace(lane, name=HOSTILE[n % len(HOSTILE)], partitions=tuple(parts))
        for n, lane in enumerate(report.picture.partitions)
    )
    words = [replace(e, text=HOSTILE[n % len(HOSTILE)], partitions=parts) for n, e in enumerate(report.events)]
    return replace(
        report,
        cluster=HOSTILE[0],
        summary=replace(report.summary, partitions=parts, groups=HOSTILE),
        causes=tuple(replace(c, obj=HOSTILE[0], summary=HOSTILE[6], cause=HOSTILE[2]) for c in report.causes),
        runs=tuple(replace(r, who=HOSTILE[6], title=HOSTILE[1], changed=HOSTILE) for r in report.runs),
        picture=replace(report.picture, partitions=lanes),
        events=tuple(words),
        questions=HOSTILE,
        snapshots=tuple(replace(snapshot, name=HOSTILE[0]) for snapshot in report.snapshots),
        sources=tuple(SourceRow("log", name, name, (name,)) for name in HOSTILE),
    )


def with_run_only():
    made = material(founding()[2:4])
    made.add_journal(records()[:6], RUN)
    return made.report("Cut off", "0.1.0", (None, None))
