"""Metadata logs of real nodes: what a controller that was down lacks, by kfix and by the tool of Kafka."""

import json
import re
import subprocess

import pytest

from kfix.lab import LabSpec
from kfix.lab.definition.recipes import recipe_of
from kfix.lab.nodes.classpath import class_path
from tests.cluster.conftest import WatchedLab, lab_of_its_own
from tests.waiting import seconds, wait_until

LINES = ("3.9.2", "4.3.1")
#: From Kafka 4 on the tool is in an archive that a broker does not need.
WITH_TOOL = "3.9.2"


def start(version):
    return WatchedLab.up(LabSpec(name="metadata", kafka=version, mode="kraft", controllers=3))


own, lab = lab_of_its_own(start, params=LINES)


def copies(lab):
    """The folders of all nodes' metadata logs."""
    return sorted(each.parent for each in lab.nodes.disk_of(lab.state, 1).parent.rglob("__cluster_metadata-0"))


def seen(kfix, lab):
    said = kfix.run("inspect", "metadata-log", *copies(lab), "--json")
    return said, {each["node"]: each for each in said.json["copies"]}


def dumped(lab, folder, start):
    """The metadata records from an offset on, as Kafka's own tool prints them."""
    jars = class_path(recipe_of(lab.state.spec.kafka), None, lambda _: None)
    files = ",".join(map(str, sorted(folder.glob("*.log"))))
    tool = ["kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", files]
    done = subprocess.run(
        ["java", "-Xmx256m", "-cp", jars, *tool], capture_output=True, text=True, check=True, timeout=seconds(120)
    )
    found = re.findall(r"offset: (\d+) .*?payload: (\{.*\})", done.stdout)
    return [json.loads(payload) for offset, payload in found if int(offset) >= start]


def test_a_controller_that_was_down_lacks_what_was_decided_meanwhile(lab, kfix):
    numbers = sorted(lab.quorum.addresses())
    with lab.access() as access:
        access.create_topic("early", [[1, 2]], {})
        gone = next(each for each in numbers if each != access.controller())
        lab.kill(gone, "controller")
        access.create_topic("late", [[1, 2]], {})
        access.create_topic("short", [[2, 3]], {})
        access.delete_topic("short")
    wait_until(lambda: set(seen(kfix, lab)[1][gone]["missing"]["deleted"]) == {"short"}, "the deletion is written", 30)
    said, found = seen(kfix, lab)
    assert said.code == 20, said.out + said.err
    assert set(found) == {*lab.broker_ids, *numbers}
    missing = found[gone]["missing"]
    assert (missing["created"], missing["complete"], found[gone]["own"]) == (["late", "short"], True, 0)
    best = said.json["copies"][0]
    assert {each["node"] for each in best["voters"]} == set(numbers)
    if lab.state.spec.recipe.kafka == WITH_TOOL:
        as_kafka_prints(lab, best, missing)
    lab.restart(gone, role="controller")
    wait_until(lambda: seen(kfix, lab)[1][gone]["missing"]["created"] == [], "it has caught up", 60)


def as_kafka_prints(lab, best, missing):
    """Kafka's own tool prints what kfix counts; a record more may have been written since."""
    there = dumped(lab, lab.nodes.disk_of(lab.state, 1).parent / best["folder"], missing["start"])
    kinds = [each["type"] for each in there]
    assert [each["data"]["name"] for each in there if each["type"] == "TOPIC_RECORD"] == ["late", "short"]
    assert kinds.count("REMOVE_TOPIC_RECORD") == 1
    changes = [kind for kind in kinds if kind not in {"TOPIC_RECORD", "REMOVE_TOPIC_RECORD", "NO_OP_RECORD"}]
    assert missing["others"] <= len(changes)


@pytest.mark.parametrize("path", ["nowhere", "."])
def test_a_folder_without_a_copy_is_refused(kfix, path, tmp_path):
    said = kfix.run("inspect", "metadata-log", tmp_path / path)
    assert said.code == 2
