import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import LabError, UsageError
from kfix.lab.definition.spec import LabSpec
from kfix.lab.definition.state import BrokerDef, LabBaseline, LabState, ZooKeeperDef
from kfix.lab.definition.store import Store, data_folder, lab_names, labs_home
from kfix.lab.process.processes import ProcessRecord


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path / "labs"))
    return tmp_path / "labs"


def a_state(name="t", **changes):
    spec = LabSpec(name=name, ids=(1001, 2002), racks=("a", "b"), settings={"k": "v"})
    state = LabState(
        name=name,
        id="abcd1234",
        spec=spec,
        data="/nowhere/abcd1234",
        brokers=(BrokerDef(1001, 20001, "a"), BrokerDef(2002, 20002, "b", original=False, retired=True)),
        zookeepers=(ZooKeeperDef(1, 20003, 20004, 20005),),
        processes=(ProcessRecord("broker", 1001, 42, 4711, "log"),),
        baseline=LabBaseline((1001,), {"t": {0: (1001,), 10: (2002, 1001)}}, {"t": {"x": "y"}}, {}),
        incident="healthy",
    )
    return replace(state, **changes)


def test_a_state_survives_the_way_through_its_file():
    store = Store("t")
    store.save(a_state())
    assert store.load() == a_state()


def test_a_state_with_a_password_is_for_its_owner_alone_and_counts_both_ports_of_a_broker():
    store = Store("t")
    spec = LabSpec(name="t", ids=(1,), sasl=("alice", "secret"))
    state = a_state(spec=spec, brokers=(BrokerDef(1, 20001, None, sasl_port=20009),))
    store.save(state)
    assert store.load() == state
    assert {20001, 20009} <= state.ports()
    assert store.file.stat().st_mode & 0o777 == 0o600


def test_a_state_of_a_kfix_without_sasl_can_still_be_read():
    store = Store("t")
    store.save(a_state())
    raw = json.loads(store.file.read_text())
    del raw["spec"]["sasl"]
    for broker in raw["brokers"]:
        del broker["sasl_port"]
    store.file.write_text(json.dumps(raw))
    assert store.load() == a_state()


def test_a_lab_that_is_not_there_is_a_usage_error_that_names_the_others():
    Store("other").save(a_state("other"))
    with pytest.raises(UsageError, match="no lab 't'") as told:
        Store("t").load()
    assert "other" in told.value.hint
    assert lab_names() == ("other",)


@pytest.mark.parametrize("text", ["{", '{"version": 99}', '{"version": 1, "name": "t"}'])
def test_a_damaged_or_newer_file_is_told_and_not_guessed_at(home, text):
    (home / "t").mkdir(parents=True)
    (home / "t" / "lab.json").write_text(text)
    with pytest.raises(LabError, match=r"lab\.json (is damaged|has version 99)"):
        Store("t").load()


def test_changes_made_side_by_side_are_all_kept():
    store = Store("t")
    store.save(a_state(processes=()))

    def record(number):
        Store("t").update(lambda state: state.with_process(ProcessRecord("broker", number, number, 1, "")))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.id for each in store.load().processes} == set(range(12))


def test_a_second_command_on_a_busy_lab_is_told_who_is_at_work(monkeypatch):
    monkeypatch.setattr("kfix.lab.definition.store._BUSY_SECONDS", 0.1)
    with Store("t").busy("mend"), pytest.raises(LabError, match=r"mend \(pid \d+\)"), Store("t").busy("break"):
        pass


def test_a_command_may_call_another_on_the_same_lab():
    store = Store("t")
    with store.busy("break"), store.busy("kill"):
        pass
    with Store("t").busy("mend"):
        pass


def test_the_ports_of_all_labs_are_known_to_who_chooses_new_ones():
    Store("t").save(a_state())
    with Store("u").choosing_ports() as taken:
        assert taken == {20001, 20002, 20003, 20004, 20005}


def test_only_a_folder_that_carries_the_id_of_the_lab_is_removed(tmp_path):
    mine, foreign = tmp_path / "data-abcd1234", tmp_path / "precious"
    mine.mkdir()
    foreign.mkdir()
    store = Store("t")
    store.save(a_state())
    store.remove(str(foreign), "abcd1234")
    store.save(a_state())
    store.remove(str(mine), "abcd1234")
    assert foreign.exists()
    assert not mine.exists()
    assert not store.dir.exists()


def test_data_goes_into_memory_where_there_is_room_and_else_beside_the_state(tmp_path):
    assert data_folder("t", "ff", tmp_path, shm=tmp_path / "missing") == tmp_path / "data-ff"
    assert "ff" in data_folder("t", "ff", tmp_path).name


def test_the_state_folder_follows_the_desktop_rules_unless_told_otherwise(monkeypatch, tmp_path):
    assert labs_home() == tmp_path / "labs"
    monkeypatch.delenv("KFIX_LAB_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert labs_home() == tmp_path / "state" / "kfix" / "labs"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert labs_home() == Path.home() / ".local" / "state" / "kfix" / "labs"


def test_the_file_says_which_version_it_is_of():
    store = Store("t")
    store.save(a_state())
    assert json.loads(store.file.read_text())["version"] == 1
