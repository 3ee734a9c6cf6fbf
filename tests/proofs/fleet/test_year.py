"""A year of audits adds up: every episode, its duration, and every change are those of the generator."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from kfix.fleet.audit.concluding import compared
from kfix.fleet.history import reading_sql, recording_sql
from kfix.fleet.history.changes import changes
from kfix.fleet.history.figures import repair_times
from kfix.fleet.history.reading import _episode as episode_of
from kfix.fleet.history.reading_sql import PARTITION_HISTORY
from kfix.fleet.history.recording import KNOWN
from kfix.fleet.model.audit import FindingRow
from kfix.fleet.store.audits import table_of
from kfix.fleet.store.history_tables import EPISODES, TRANSITIONS
from tests.proofs.fleet.test_history import kinds_of
from tests.proofs.fleet.years import (
    CLUSTERS,
    FIRST,
    ChangingClusters,
    OpenDuckDB,
    YearOfFaults,
    asked,
    at_of,
    next_episodes,
    observed,
    on_day,
    partitions_changed,
)


def recorded_year(year, engine):
    """Returns (all rows of `episodes`, all findings), each a pyarrow table with `day` and `run`, audit by audit."""
    last_rows, open_rows = {}, {}
    whole = {}
    stored, seen = [], []
    for number in range(year.days):
        collected, found = year.rows(number)
        if not collected:
            continue
        day = FIRST + timedelta(days=number)
        rows = [
            row
            for c, read in collected.items()
            for row in compared(
                [r for r in found if r.cluster == c],
                [r for r in last_rows.get(c, ()) if r.status != "fixed"],
                day,
                collected=read,
            )
        ]
        known = pa.Table.from_pylist(
            [
                {
                    "cluster": c, "owner": year.owners[c], "version": "2.7", "at": at_of(number),
                    "not_before": at_of(whole[c]) if c in whole else None,
                }
                for c in collected
            ],
            schema=KNOWN,
        )  # fmt: skip
        before = pa.Table.from_pylist([r for c in collected for r in open_rows.get(c, ())], EPISODES.file_schema)
        episodes = next_episodes(table_of(FindingRow, rows), before, known, engine)
        for c in collected:
            last_rows[c] = [r for r in rows if r.cluster == c]
            open_rows[c] = [r for r in episodes.to_pylist() if r["cluster"] == c and r["ended"] is None]
        whole |= {c: number for c in collected if year.seen[c][number] == "read"}
        key = {"day": pa.array([day] * episodes.num_rows, pa.date32()), "run": pa.array(["r"] * episodes.num_rows)}
        stored.append(pa.table({**key, **{n: episodes[n] for n in episodes.column_names}}))
        seen += [{"seq": number, "cluster": r.cluster, "key": r.key, "status": r.status} for r in rows]
    return pa.concat_tables(stored), pa.Table.from_pylist(seen)


def read_back(year, stored, engine):
    days = range(year.days)
    included = {c: [n for n in days if year.seen[c][n] != "out"] for c in CLUSTERS}
    tables = {
        "episodes": stored,
        "ordered": pa.table(
            {
                "day": [FIRST + timedelta(days=n) for n in days],
                "run": ["r"] * year.days,
                "seq": [*days],
                "at_s": [int(at_of(n).timestamp()) for n in days],
            }
        ),
        "chosen": pa.table(
            {
                "cluster": [*CLUSTERS],
                "last_seq": [included[c][-1] for c in CLUSTERS],
                "away": [False] * 3,
                "seconds": [86_400 * year.days] * 3,
            }
        ),
    }
    return [episode_of(row) for row in engine.query(reading_sql.EPISODES, tables).to_pylist()]


def expected(year):
    """Returns (cluster, key, began, last seen, ended, audits, unread) of every episode, by the rules in plain words."""
    for cluster in CLUSTERS:
        days = [n for n in range(year.days) if year.seen[cluster][n] != "out"]
        own = [(f.key, f.hidden, f.there) for f in year.faults if f.cluster == cluster]
        unread = ("KFX701:cluster", False, lambda n, c=cluster: year.seen[c][n] == "unread")
        silent = ("KFX901:broker 2", False, lambda n, c=cluster: year.seen[c][n] == "silent")
        for key, hidden, there in (*own, unread, silent):
            now, before = None, ""
            for n in days:
                what = year.seen[cluster][n]
                visible = key == unread[0] or what == "read" or (what == "silent" and not hidden)
                found = visible and there(n)
                if found:
                    now = now or {"began": n, "audits": 0, "unread": 0}
                    now |= {"last": n, "audits": now["audits"] + 1, "unsure": False}
                elif now:
                    # A source that is silent now, but answered before, may hide what is gone.
                    sure = what == "read" or (what == "silent" and before == "silent" and not now["unsure"])
                    if sure:
                        yield (cluster, key, now["began"], now["last"], n, now["audits"], now["unread"])
                        now = None
                    else:
                        now |= {"unread": now["unread"] + 1, "unsure": True}
                before = what
            if now:
                yield (cluster, key, now["began"], now["last"], None, now["audits"], now["unread"])


@pytest.fixture(scope="module")
def engine():
    return OpenDuckDB()


def test_every_episode_of_a_year_is_that_of_the_generator(engine):
    year = YearOfFaults(seed=1)
    stored, seen = recorded_year(year, engine)
    found = read_back(year, stored, engine)

    def number_of(when):
        return None if when is None else (when - at_of(0)).days

    told = sorted(
        ((e.cluster, e.key, number_of(e.began), number_of(e.last_seen), number_of(e.ended), e.audits, e.unread)
         for e in found),
        key=repr,
    )  # fmt: skip
    assert told == sorted(expected(year), key=repr)
    assert len(told) > 300
    # The same from the findings alone, by gaps and islands: an episode is a row of audits without a fixed one between.
    islands = engine.query(
        """
        WITH marked AS (
          SELECT s.*, SUM(CASE WHEN status = 'fixed' THEN 1 ELSE 0 END)
                        OVER (PARTITION BY cluster, key ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                        AS island
          FROM seen s
        )
        SELECT cluster, key, MIN(seq) AS began, MAX(CASE WHEN status = 'fixed' THEN seq END) AS ended,
               COUNT(*) AS n
        FROM marked GROUP BY cluster, key, COALESCE(island, 0)
        """,
        {"seen": seen},
    ).to_pylist()
    assert Counter((i["cluster"], i["key"], i["began"], i["ended"]) for i in islands) == Counter(
        (cluster, key, began, ended) for cluster, key, began, _, ended, _, _ in told
    )
    # The bounds hold the truth: the fault began after `not_before` and ended after `last_seen`.
    faults = {(f.cluster, f.key): f for f in year.faults}
    bounded = 0
    for e in found:
        if fault := faults.get((e.cluster, e.key)):
            low, high = number_of(e.not_before), number_of(e.began)
            begins = [b for b, _ in fault.spans if b <= high and (low is None or b > low)]
            assert begins
            if e.ended:
                ends = [end for _, end in fault.spans if end and number_of(e.last_seen) < end <= number_of(e.ended)]
                assert ends
                lasted = 86_400 * (ends[-1] - begins[0])
                assert e.longest is None or lasted <= e.longest
                assert e.shortest <= 86_400 * (ends[-1] - begins[-1]) + 86_400 * (high - (low or high))
                bounded += 1
    assert bounded > 200
    times = {(r.by, r.name): r for r in repair_times(found)}
    days = [ended - began for _, _, began, _, ended, _, _ in told if ended is not None]
    assert times["all", ""].mean == pytest.approx(86_400 * sum(days) / len(days))
    assert (times["all", ""].ended, times["all", ""].open) == (len(days), sum(e.state == "open" for e in found))
    assert {e.reopened for e in found} >= {0, 1, 2}


@pytest.mark.parametrize(
    ("zookeeper", "ids"),
    [(True, False), (False, True), (False, False)],
    ids=["zookeeper", "kraft", "kraft without ids of topics"],
)
def test_every_change_of_many_days_is_that_of_the_generator(engine, zookeeper, ids):
    clusters = ChangingClusters(seed=2, zookeeper=zookeeper, ids=ids)
    kinds, taken, rows, truth = Counter(), [clusters.snapshot()], [first_states(clusters)], Counter()
    for number in range(60 if zookeeper else 25):
        counted = clusters.step()
        taken.append(clusters.snapshot())
        changed, again = partitions_changed(clusters, *taken[-2:], number)
        rows.append(changed)
        given = asked(clusters, *taken[-2:], number, again)
        others = engine.query(recording_sql.TRANSITIONS, given).to_pylist()
        found = {(r["cluster"], r["subject"], r["object"], r["kind"]): r["times"] for r in others}
        assert len(found) == len(others)
        for row in changed.to_pylist():
            found |= {(row["cluster"], *key): times for key, (_, _, times) in kinds_of(row)}
            state = taken[-1]["partitions"].get((row["cluster"], row["topic"], row["partition"]))
            if state is not None:
                began = datetime.fromtimestamp(state["written"] / 1000, UTC)
                assert row["valid_from_after"] <= began <= row["valid_from"]
                assert (row["valid_from_after"] == row["valid_from"]) == bool(zookeeper and (number + 1) % 5)
        for (cluster, subject, _, kind), times in counted.items():
            truth[cluster, kind] += times if subject == "partition" and kind != "replicas" else 0
        if not zookeeper:
            # Without ZooKeeper only members, epochs and which brokers are alive are known: a lower bound.
            for key, times in found.items():
                assert times <= max(counted.get(key, 0), 1), key
            assert {k for k in found if k[3] == "recreated"} <= counted.keys()
            unseen = ("restart",) if ids else ("restart", "recreated")
            found = {key: n for key, n in found.items() if key[1] != "partition" and key[3] not in unseen}
            counted = {key: n for key, n in counted.items() if key[1] != "partition" and key[3] not in unseen}
        assert found == counted, number
        kinds.update(kind for *_, kind in found)
    assert len(kinds) == (14 if zookeeper else 9 + ids)
    whole = pa.concat_tables(rows)
    for number in (0, 1, 7, len(taken) - 1):
        assert as_of(number, whole, engine) == {key: state_of(p) for key, p in taken[number]["partitions"].items()}
    if zookeeper:
        assert churn_of(whole, len(taken), engine) == +truth
        # What several saw counts once: here a second snapshot of every night.
        assert churn_of(pa.concat_tables([whole, whole]), len(taken), engine) == +truth


def first_states(clusters):
    tables = clusters.tables(clusters.snapshot(), FIRST)
    return on_day(pa.concat_tables([changes(c, None, observed(tables, c, 0)).rows for c in CLUSTERS]), FIRST)


def state_of(partition):
    return tuple(partition[name] for name in ("leader", "epoch", "isr", "replicas"))


def as_of(number, rows, engine):
    """Returns the states of a night as a query of the history."""
    at = at_of(number).replace(tzinfo=None)
    sql = f"""
    SELECT * FROM ({PARTITION_HISTORY}) h WHERE why <> 'deleted'
    AND valid_from <= TIMESTAMPTZ '{at}+00' AND (valid_to IS NULL OR valid_to > TIMESTAMPTZ '{at}+00')
    """
    found = engine.query(sql, {"partition_changes": rows}).to_pylist()
    assert len(found) == len({(r["cluster"], r["topic"], r["partition"]) for r in found})
    return {(r["cluster"], r["topic"], r["partition"]): state_of(r) for r in found}


def history_of(rows, nights):
    """Returns the tables of a question about these rows of `partition_changes` and no others."""
    days = [FIRST + timedelta(days=n) for n in range(nights)]
    return {
        "ordered": pa.table({"day": days, "run": ["r"] * nights}),
        "chosen": pa.table({"cluster": [*CLUSTERS], "seconds": pa.array([86_400] * 3, pa.int64())}),
        "transitions": TRANSITIONS.schema.empty_table(),
        "partition_changes": rows,
    }


def churn_of(rows, nights, engine):
    found = engine.query(reading_sql.CHURN, history_of(rows, nights)).to_pylist()
    return {(r["cluster"], r["kind"]): r["times"] for r in found}
