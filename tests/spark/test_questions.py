"""Every question of the fleet has the same answer on Spark as on the embedded engine, and the same gaps."""

import pytest

from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.asking import ask
from kfix.fleet.questions.catalogue import questions
from kfix.fleet.store.places import place_of
from tests.unit.fleet.asked.planted import PlantedFleet


@pytest.fixture(scope="module")
def asked_store(tmp_path_factory):
    root = tmp_path_factory.mktemp("asked")
    PlantedFleet(seed=11).write(root, EmbeddedEngine(1))
    return place_of(root)


@pytest.mark.parametrize("spark", ["true"], ids=["ansi"], indirect=True)
def test_every_question_has_the_same_answer(spark, asked_store):
    embedded, different = EmbeddedEngine(1), []
    for each in questions().values():
        here, there = (ask(asked_store, engine, each, days=30) for engine in (embedded, spark))
        if (here.rows.schema, here.rows.to_pylist(), here.not_read) != (
            there.rows.schema,
            there.rows.to_pylist(),
            there.not_read,
        ):
            different.append((each.name, here.rows.to_pylist(), there.rows.to_pylist()))
    assert different == []
