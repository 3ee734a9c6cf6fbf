"""A run of the store with a healthy cluster and a sick one, and one that was not reached."""

from datetime import date

import pytest

from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from tests.unit.diagnostics.clusters import base, coordinator_stuck

DAY = date(2026, 3, 1)


@pytest.fixture
def run(tmp_path):
    writer = RunWriter(place_of(tmp_path), DAY, "r1")
    writer.write("well", base().snapshot())
    writer.write("sick", coordinator_stuck().snapshot())
    return writer.finish({"gone": "connection refused"}, inputs="two")
