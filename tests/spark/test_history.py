"""History on Spark and with DuckDB: the same transitions, episodes and answers, with ANSI on and off."""

import pyarrow as pa
import pytest

from kfix.fleet.audit.reading import stored_history
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.history import reading_sql, recording_sql
from kfix.fleet.history.recording import KNOWN
from kfix.fleet.model.history import HistoryChoice
from kfix.fleet.store.history_tables import EPISODES
from kfix.fleet.store.places import place_of
from kfix.fleet.store.tables import FINDINGS
from tests.proofs.fleet.test_year import first_states, history_of, recorded_year
from tests.proofs.fleet.twenty import twenty_days
from tests.proofs.fleet.years import (
    EPISODES_IN_ORDER,
    ChangingClusters,
    OpenDuckDB,
    YearOfFaults,
    asked,
    next_episodes,
    partitions_changed,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("twenty") / "store"
    twenty_days(root, days=11)
    return root


@pytest.mark.parametrize("zookeeper", [True, False], ids=["zookeeper", "kraft"])
def test_the_changes_between_random_snapshots_are_the_same(spark, zookeeper):
    clusters = ChangingClusters(seed=5, zookeeper=zookeeper, ids=not zookeeper)
    before = clusters.snapshot()
    for _ in range(3):
        clusters.step(0.5)
    now = clusters.snapshot()
    changed, again = partitions_changed(clusters, before, now, 0)
    tables = asked(clusters, before, now, 0, again)
    ordered = f"{recording_sql.TRANSITIONS} ORDER BY {', '.join(recording_sql.TRANSITIONS_ORDER)}"
    embedded, found = (e.query(ordered, tables) for e in (EmbeddedEngine(1), spark))
    assert found.schema == embedded.schema
    assert found.to_pylist() == embedded.to_pylist()
    assert len({r["kind"] for r in found.to_pylist()}) >= 7
    assert len({r["why"] for r in changed.to_pylist()}) >= 4
    for sql in (reading_sql.FLAPPING, reading_sql.CHURN, f"{reading_sql.PARTITION_HISTORY} ORDER BY 1, 2, 4, 6"):
        rows = pa.concat_tables([first_states(clusters), changed, changed])
        embedded, found = (e.query(sql, history_of(rows, 2)) for e in (EmbeddedEngine(1), spark))
        assert found.schema == embedded.schema
        assert found.to_pylist() == embedded.to_pylist()


@pytest.mark.parametrize("spark", ["true"], indirect=True, ids=["ansi"])
def test_episodes_are_the_same_over_random_audits(spark):
    """Every input of the statement in nine audits, recorded while DuckDB answers."""
    year, inputs = YearOfFaults(seed=3, days=9), []

    class Recording(OpenDuckDB):
        def query(self, sql, tables):
            answer = super().query(sql, tables)
            if sql == EPISODES_IN_ORDER:
                inputs.append((tables, answer))
            return answer

    recorded_year(year, Recording())
    assert len(inputs) == 9
    for tables, answer in inputs[-2:]:
        found = spark.query(EPISODES_IN_ORDER, tables)
        assert found.schema == answer.schema
        assert found.to_pylist() == answer.to_pylist()
    empty = EPISODES.file_schema.empty_table()
    assert next_episodes(FINDINGS.file_schema.empty_table(), empty, KNOWN.empty_table(), spark).num_rows == 0


@pytest.mark.parametrize("spark", ["true"], indirect=True, ids=["ansi"])
def test_the_history_of_a_store_is_the_same(spark, store):
    embedded, found = (stored_history(place_of(store), e, HistoryChoice(), days=90) for e in (EmbeddedEngine(1), spark))
    assert found == embedded
    assert found.incomplete == ()
    assert all((found.episodes, found.flapping, found.offenders, found.churn, found.growth, found.score))
