"""Audit runs of small synthetic fleets, as `kfix audit` does them."""

from datetime import UTC, date, datetime, timedelta

import pytest

from kfix.core.inventory.model import ClusterEntry, Inventory
from kfix.fleet.audit import running
from kfix.fleet.audit.reading import report
from kfix.fleet.audit.running import audit
from kfix.fleet.demo.shapes import SyntheticCluster
from kfix.fleet.demo.synthetic import write
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import newest_run
from kfix.fleet.store.staging import RunWriter

FIRST = date(2026, 3, 2)
AT = datetime(2026, 3, 2, 2, 0, tzinfo=UTC).timestamp()


def cluster(name, number=0, *, sick=0.0, dead=0, partitions=300, **more):
    return SyntheticCluster(name, partitions, 6, 3, sick, dead, taken_at=AT, day_number=number, **more)


def day_of(number):
    return FIRST + timedelta(days=number)


def audited(root, clusters, engine, *, number=0, failed=None, inventory=None, run="n", snapshots=None, hour=0):
    """Writes the clusters of day `number`, and {name: snapshot}, as a run and returns its audit.

    `hour` orders the runs of a day: those that begin at the same time are in the order of their names.
    """
    writer = RunWriter(place_of(root), day_of(number), run, at=AT + 86_400 * number + 3_600 * hour)
    for each in clusters:
        write(str(writer.place), each)
    for name, snapshot in (snapshots or {}).items():
        writer.write(name, snapshot)
    writer.finish(failed, synthetic=True)
    return again(root, engine, number=number, inventory=inventory, run=run)


def audited_without_scenarios(*given, **options):
    """The same for tests of something else: to judge what failures would do is half of what an audit costs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "write_scenarios", lambda *_: ((), {}))
        return audited(*given, **options)


def again(root, engine, *, number=0, inventory=None, run="n"):
    found = newest_run(place_of(root), day_of(number), run)
    return audit(place_of(root), found, inventory or Inventory(), engine)


def reported(root, found, engine):
    return report(place_of(root), found, engine)


def statuses(report, prefix="KFX"):
    return {(f.cluster, f.key): f.status for f in report.findings if f.code.startswith(prefix)}


def entry(name, **more):
    return ClusterEntry(name, bootstrap=f"{name}.invalid:9092", **more)
