"""Why a group falls behind: real consumers that do not keep up, each for another reason, and some that do."""

import time
from contextlib import suppress

import pytest

from kfix.core.derive.memory import APART
from kfix.core.errors import LabError
from kfix.lab.workload.background import read_counts, start_in_background
from kfix.lab.workload.readers import CAUSES, FAILS_AT
from kfix.lab.workload.workload import WorkloadPlan, target
from tests.cluster.conftest import Kfix
from tests.matrix.cases import PLAIN
from tests.matrix.cell import spec_of
from tests.waiting import wait_until

LINES = [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in ("2.7.1-zk", "4.3.1-kraft")]
#: {cause: the code, the exit code, and what the finding says}
SAID = {
    "record": (21, f"stands in mail-1 at offset {FAILS_AT} for", "a record there fails its consumer each time"),
    "member": (20, "member reader-b on", "and the other members keep up"),
    "hot": (20, "falls behind in mail-0,", "far more than others"),
    "capacity": (20, "falls behind in mail (4 partitions)", "times as many as it reads"),
    "stopped": (20, "has no member, and its lag in mail (4 partitions) grows", "the consumers were stopped"),
    "retention": (20, "retention deletes records of mail", "faster than group mailer-retention reads them"),
}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("cause", CAUSES)
def test_the_group_question_names_why_a_group_falls_behind(labs, line, cause, tmp_path):
    lab = labs.whole(spec_of(line, PLAIN))
    kfix = Kfix(lab, tmp_path / "state")
    broken = lab.break_("group-falls-behind", cause=cause)
    code, *parts = SAID[cause]
    story = kfix.on("diagnose", "--json", "--group", broken.group)
    assert story.code == code, story.out
    found = [each for each in story.json["findings"] if each["code"] == "KFX123"]
    said = " ".join(each["summary"] + each["cause"]["text"] for each in found)
    assert [part for part in parts if part not in said] == [], said
    assert {rung["state"] for rung in story.json["rungs"] if rung["name"] != "lag"} <= {"not the cause", "not read"}


@pytest.mark.parametrize("line", LINES[1:])
def test_a_plain_diagnosis_finds_what_has_stood_since_an_earlier_one(labs, line, tmp_path):
    lab = labs.whole(spec_of(line, PLAIN))
    kfix = Kfix(lab, tmp_path / "state")
    broken = lab.break_("group-falls-behind", cause="record")
    assert "KFX123" not in kfix.diagnose("--debounce", "0").findings
    time.sleep(APART + 1)
    said = kfix.diagnose("--debounce", "0")
    found = said.findings["KFX123"]
    assert (said.code, found["severity"], found["object"]) == (20, "warning", f"group {broken.group}")


@pytest.mark.parametrize("line", LINES)
def test_a_group_that_keeps_up_is_healthy_although_it_lags_a_little(labs, line, tmp_path):
    lab = labs.whole(spec_of(line, PLAIN))
    kfix = Kfix(lab, tmp_path / "state")
    lab.break_("healthy")
    aim = target(lab, group="steady")
    number = start_in_background(lab, WorkloadPlan(lab.bootstrap_servers, aim.topic, "steady", rate=200, seconds=60))

    def reads():
        with suppress(LabError):  # It writes its counts once a second.
            return read_counts(lab, number)["received"] > 100

    wait_until(reads, "the group reads", 30)
    story = kfix.on("diagnose", "--json", "--group", "steady")
    assert (story.code, story.json["findings"]) == (0, []), story.out
