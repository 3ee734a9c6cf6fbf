"""Spark Connect: the same results and answers from a client that has no Java."""

from functools import partial

import pytest

from kfix.core.errors import UsageError
from kfix.fleet.engines import opening as wiring
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.judging.case import judge_stored
from tests.spark.test_equality import FINDINGS, OLDER, QUESTIONS
from tests.unit.fleet.working import sometimes


@pytest.fixture
def engine(connect, shared, request):
    return shared.of(request, partial(wiring.engine, f"{connect.url}/;user_id=tests"))


def test_it_judges_the_same(engine, connect, run, judged):
    assert engine.name.endswith(connect.url)
    done = engine.each(judge_stored, run.stored())
    assert {d.name: d.value() for d in done} == judged


def test_a_killer_is_a_row(engine):
    errors = {d.name: d.error for d in engine.each(sometimes, {f"c{i}": i for i in range(6, 9)})}
    assert errors == {"c6": "", "c7": "its process died: out of memory, or killed", "c8": ""}


def test_it_answers_the_same(engine, asked):
    tables = {"findings": FINDINGS, "older": OLDER, "p": asked["partitions"]}
    by_cluster = "SELECT cluster, day, run, count(*) AS n FROM p GROUP BY cluster, day, run ORDER BY cluster"
    for sql in (*QUESTIONS, by_cluster):
        embedded, found = EmbeddedEngine(1).query(sql, tables), engine.query(sql, tables)
        assert found.schema == embedded.schema
        assert found.to_pylist() == embedded.to_pylist()
    for sql, said in (
        ("SELECT nope FROM p", "line 1, column 8: .*nope"),
        ("SELECT * FROM text.`/etc/passwd`", "found"),
    ):
        with pytest.raises(UsageError, match=said):
            engine.query(sql, tables)
