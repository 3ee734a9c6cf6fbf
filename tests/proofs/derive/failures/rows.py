"""Random states of partitions, ugly ones included, as the rules and a statement take them; and snapshots made ugly."""

from dataclasses import replace
from itertools import cycle, islice

import pyarrow as pa

from kfix.core.failures.formulas import MIN_ISR, ORDER
from kfix.core.failures.masks import MOST_BROKERS, MOST_REPLICAS
from kfix.core.failures.rules import FATES, PartitionMasks, after_failure
from kfix.core.snapshot.snapshot import Mode, Source
from kfix.fleet.audit.scenario_sql import STATE_COLUMNS

WANTED = ("fate", "new_leader", "new_isr", "needed", "under", "falls_under", "last", "left_with_last")


def states(rng, count):
    """Returns (state, brokers that go down, whether a new controller elects), odd records included."""
    return [_state(rng) for _ in range(count)]


def _state(rng):
    bits = [1 << n for n in rng.sample(range(MOST_BROKERS), rng.choice((2, 4, 4, 6)))]
    order = tuple(rng.sample(bits, rng.randint(1, min(MOST_REPLICAS, len(bits)))))
    isr = sum(b for b in order if rng.random() < 0.7) | (rng.choice(bits) if rng.random() < 0.1 else 0)
    leader = rng.choice((*order, *order, *bits, 0))
    row = PartitionMasks(
        order=order,
        replicas=sum(order),
        isr=isr,
        online=sum(b for b in bits if rng.random() < 0.8),
        leader=leader,
        believed=leader if rng.random() < 0.6 else rng.choice((*bits, 0, -1)),
        min_isr=tuple(rng.choice((1, 2, 2, 3, 9, -1)) for _ in order),
        unclean=rng.choice((0, 0, 1, -1)),
        unclean_later=rng.choice((0, 0, 1, -1)),
        elr=rng.choice((0, 0, -1, sum(b for b in order if rng.random() < 0.3))),
    )
    down = sum(rng.sample(bits, rng.randint(1, len(bits))))
    return row, down, rng.random() < 0.3


def as_table(found):
    """Returns them as the input of a statement, numbered by `n`."""
    more = [MOST_REPLICAS - len(row.order) for row, _, _ in found]
    columns = {
        "factor": [len(row.order) for row, _, _ in found],
        **{
            name: [getattr(row, name) for row, _, _ in found]
            for name in STATE_COLUMNS
            if name in PartitionMasks._fields
        },
    }
    for place in range(MOST_REPLICAS):
        columns[ORDER.format(place + 1)] = [
            (*row.order, *(0,) * n)[place] for (row, _, _), n in zip(found, more, strict=True)
        ]
        columns[MIN_ISR.format(place + 1)] = [
            (*row.min_isr, *(-1,) * n)[place] for (row, _, _), n in zip(found, more, strict=True)
        ]
    assert columns.keys() == set(STATE_COLUMNS)
    whole = {"n": [*range(len(found))], **columns, "down": [down for _, down, _ in found]}
    table = pa.table({name: pa.array(values, pa.int64()) for name, values in whole.items()})
    table = table.append_column("new_controller", pa.array([new for _, _, new in found]))
    return table.append_column("frozen", pa.array([new and down % 2 == 1 for _, down, new in found]))


def by_python(found):
    """Returns the values of WANTED, as a statement gives them."""
    rows = []
    for row, down, new in found:
        after = after_failure(row, down, new_controller=new, frozen=new and down % 2 == 1)
        rows.append((FATES.index(after.fate), *after[1:]))
    return rows


# --- snapshots -----------------------------------------------------------------------------------------------------


def _no_zookeeper(snapshot):
    return replace(snapshot, zookeeper=None)


def _kraft(snapshot):
    return replace(snapshot, zookeeper=None, cluster=replace(snapshot.cluster, mode=Mode.KRAFT))


def _migrating(snapshot):
    return replace(snapshot, zookeeper=replace(snapshot.zookeeper, migrating=True))


def _one_view(snapshot):
    first = min(snapshot.views)
    return replace(snapshot, views={first: snapshot.views[first]})


def _no_view(snapshot):
    return replace(snapshot, views={}, sources=(*snapshot.sources, Source("broker 1", ok=False, error="no answer")))


def _nobody_alive(snapshot):
    views = {b: replace(view, alive={}) for b, view in snapshot.views.items()}
    return replace(snapshot, zookeeper=None, views=views)


def _no_settings(snapshot):
    return replace(snapshot, broker_configs={}, topic_configs={})


def _deleting(snapshot):
    return replace(snapshot, zookeeper=replace(snapshot.zookeeper, deleting=frozenset({"orders"})))


def _odd_records(snapshot):
    """A foreign member of an ISR, an empty ISR, a leader that is no id, replicas on an id that no longer exists."""
    zookeeper = snapshot.zookeeper
    made, assignments = dict(zookeeper.states), dict(zookeeper.assignments)
    for number, (tp, state) in enumerate(sorted(zookeeper.states.items())):
        replicas = assignments[tp].replicas
        if number % 5 == 0:
            made[tp] = state._replace(isr=(*state.isr, 77))
        elif number % 5 == 1:
            made[tp] = state._replace(isr=())
        elif number % 5 == 2:
            made[tp] = state._replace(leader=-2)
        elif number % 5 == 3:
            assignments[tp] = replace_replicas(assignments[tp], (*replicas, 99))
    return replace(snapshot, zookeeper=replace(zookeeper, states=made, assignments=assignments))


def replace_replicas(assignment, replicas):
    """Returns the assignment with a reassignment in progress to the last of these replicas."""
    return assignment._replace(replicas=replicas, adding=replicas[-1:], removing=replicas[:1])


def _unassigned(snapshot):
    return replace(snapshot, zookeeper=replace(snapshot.zookeeper, assignments={}))


def _same(snapshot):
    return snapshot


UGLY = (
    _same, _no_zookeeper, _odd_records, _kraft, _one_view, _migrating, _no_view, _deleting, _nobody_alive, _no_settings,
    _same, _unassigned, _odd_records,
)  # fmt: skip


def made_ugly(snapshots):
    """Returns the snapshots, each but the first of a round with another defect."""
    given = [*snapshots]
    return [change(one) for one, change in zip(given, islice(cycle(UGLY), len(given)), strict=True)]
