import subprocess
import sys

import pytest

from kfix.core.errors import UsageError
from kfix.lab import INCIDENTS, Lab, LabSpec
from kfix.lab.breaking import incident_named
from kfix.lab.definition.state import BrokerDef, LabState
from kfix.lab.definition.store import Store


def test_every_incident_is_listed_under_its_own_name_and_says_what_it_does_and_what_to_expect():
    assert [each.name for each in INCIDENTS.values()] == list(INCIDENTS)
    for incident in INCIDENTS.values():
        assert incident.title
        assert incident.does.endswith(".")
        assert incident.expect
        assert incident.needs >= 1
        assert {*incident.choices, *incident.ranges} <= incident.options.keys()
        assert not any("-" in option for option in incident.options)


def test_a_misspelt_incident_is_answered_with_the_nearest_name():
    with pytest.raises(UsageError, match="did you mean 'coordinator-stuck'"):
        incident_named("coordinator-stuk")


def test_the_lab_loads_no_client_library_and_no_terminal_when_it_is_imported():
    heavy = "('kazoo', 'confluent_kafka', 'rich', 'typer', 'pydantic', 'ssl', 'kfix.core.kafka', 'kfix.core.collect')"
    script = f"import sys\nimport kfix.lab\nprint([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_in_a_lab_without_zones_it_is_refused_before_anything_is_done(tmp_path, monkeypatch):
    monkeypatch.setenv("KFIX_LAB_HOME", str(tmp_path))
    lab = Lab(Store("flat"))
    brokers = tuple(BrokerDef(n, n, None) for n in (1, 2, 3))
    lab.store.save(LabState("flat", "id", LabSpec(name="flat"), str(tmp_path), brokers))
    with pytest.raises(UsageError, match="cuts zones from each other") as caught:
        lab.break_("zone-isolated")
    assert "--zones 3" in caught.value.hint
