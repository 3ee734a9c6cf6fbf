"""Failures of a fleet, judged on Spark: the rows that DuckDB gives; the rules with ANSI on and off."""

from random import Random

from kfix.fleet.audit.scenarios import RunScenarios
from kfix.fleet.engines.embedded import EmbeddedEngine
from tests.proofs.derive.failures.rows import by_python, states
from tests.proofs.fleet.test_scenarios import by_sql


def test_the_statement_made_of_the_rules_gives_what_the_rules_give(spark):
    found = states(Random(6), 5_000)
    assert by_sql(spark, found) == by_python(found)


def test_the_rows_of_a_run_are_those_of_duckdb(local, run):
    ours, theirs = (RunScenarios(run.root, run, engine) for engine in (EmbeddedEngine(1), local))
    assert theirs.brokers == ours.brokers
    found = ours.every()
    assert theirs.every() == found
    assert {row.kind for row in found.rows} == {"broker", "pair", "rack"}
    assert any(row.worst for row in found.rows)
    racks = {name: ("rack", "all", frozenset(live.racks)) for name, live in ours.brokers.items()}
    assert theirs.chosen(racks) == ours.chosen(racks)
