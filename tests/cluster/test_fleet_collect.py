"""A fleet with a real cluster in it: collected under two names, beside one that is unreachable and one that hangs."""

import json
import socket

import pytest

from kfix.core.criteria import Criteria
from kfix.core.inventory.recorded import recorded_inventory
from kfix.fleet.engines import judge_stored
from kfix.fleet.store.places import place_of
from kfix.fleet.store.runs import read_stored_document, runs

FLEET = """\
apiVersion: kfix/v1
kind: Fleet
defaults: {{owner: platform, timeout: 15s}}
clusters:
  first: {{bootstrap: "{lab}", tags: [prod], criticality: high}}
  second: {{bootstrap: "{lab}"}}
  gone: {{bootstrap: "127.0.0.1:{closed}", timeout: 3s}}
  hangs: {{bootstrap: "127.0.0.1:{deaf}", timeout: 3s}}
"""


@pytest.fixture
def fleet(lab, tmp_path):
    lab.break_("healthy")
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        path = tmp_path / "fleet.yaml"
        path.write_text(FLEET.format(lab=lab.bootstrap_servers, closed=closed, deaf=deaf.getsockname()[1]))
        yield path


@pytest.mark.parametrize("processes", [1, 2])
def test_the_healthy_ones_are_stored_and_judged_whatever_the_others_do(kfix, fleet, tmp_path, processes):
    store = tmp_path / "store"
    said = kfix.run(
        "fleet", "collect", "-i", fleet, "--store", store, "--run", "run", "--json", "--processes", processes
    )
    assert said.code == 22, said.err
    assert set(said.json["clusters"]) == {"first", "second"}
    assert set(said.json["failed"]) == {"gone", "hangs"}
    [run] = runs(place_of(store))
    assert (run.id, set(run.clusters)) == ("run", {"first", "second"})
    assert "connection refused" in run.failed["gone"]
    # Whichever ends first: the time for this cluster, or that for its connection.
    assert "in time" in run.failed["hangs"] or "timed out" in run.failed["hangs"]
    assert all(n > 0 for n in run.clusters.values())
    entries = run.manifest["entries"]
    assert entries["first"]["brokers"] == 3
    assert entries["first"]["silent"] == []
    assert run.began - 1 <= entries["first"]["taken_at"] <= run.ended
    inventory = recorded_inventory(run.manifest)
    assert inventory.clusters["first"].criticality.word == "high"
    # One cluster under two names: two looks at the same.
    stored = run.stored()
    assert set(stored) == {"first", "second"}
    ids = {read_stored_document(each)["snapshot"]["cluster"]["id"] for each in stored.values()}
    assert len(ids) == 1
    for each in stored.values():
        assert [f.code for f in judge_stored(each, Criteria(restart_grace=0)).walk()] == []
    # What was seen is noted for the next look: its groups can be named when nobody can list them any more.
    [memory] = (tmp_path / "state").rglob("memory.json")
    assert len(json.loads(memory.read_text())["brokers"]) == 3


def test_a_folder_of_client_properties_is_a_fleet(kfix, lab, tmp_path):
    folder = tmp_path / "clients"
    (folder / "nested").mkdir(parents=True)
    for name in ("lab.properties", "nested/client.properties"):
        (folder / name).write_text(f"bootstrap.servers={lab.bootstrap_servers}\n")
    said = kfix.run("fleet", "collect", "-i", folder, "--store", tmp_path / "store", "--quiet", timeout=60)
    assert said.code == 0, said.err
    assert "collected 2 of 2 clusters" in said.out
    [run] = runs(place_of(tmp_path / "store"))
    assert set(run.clusters) == {"lab", "nested"}
