"""The commands, from the words on the command line to the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.diagnosis.finding import Remedy
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.memory.incidents import ALL
from kfix.heal.runbook.catalogue import shipped_dir
from tests.each import for_each
from tests.unit.heal.fake_wiring import FakeWiring
from tests.unit.shell.console import kfix, plan_file, wire


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeWiring:
    return wire("coordinator-stuck", monkeypatch, tmp_path)


def planned(tmp_path: Path) -> tuple[str, str]:
    path, plan = plan_file(tmp_path, "coordinator-stuck")
    return str(path), plan["plan_id"][:8]


def test_list_show_and_validate_need_no_cluster() -> None:
    assert "metadata-divergence" in kfix("list").stdout
    listed = [json.loads(line)["id"] for line in kfix("list", "--json").stdout.splitlines()]
    assert listed == sorted(p.stem for p in shipped_dir().glob("*.yaml"))
    assert kfix("show", "coordinator-stuck").stdout.startswith("# coordinator-stuck\n")


def test_validate_reports_all_mistakes_and_exits_with_2(tmp_path: Path) -> None:
    assert kfix("validate").exit_code == 0
    bad = tmp_path / "bad.yaml"
    bad.write_text("apiVersion: kfix/v1\nkind: Runbok\ntitel: x\n")
    result = kfix("validate", str(bad))
    assert result.exit_code == 2
    assert f"{bad}:2:7: kind is 'Runbok', wanted 'Runbook', did you mean 'Runbook'?" in result.output
    assert f"{bad}:3:1: unknown field 'titel', did you mean 'title'?" in result.output


def test_a_plan_that_was_approved_is_carried_out_and_proved(wired: FakeWiring, tmp_path: Path) -> None:
    path, plan_id = planned(tmp_path)
    result = kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}")
    assert result.exit_code == 0, result.output
    assert "PROVED HEALED" in result.stdout
    assert [c.method for c in wired.cluster.faults.calls] == ["reassign"]
    again = kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}")
    assert again.exit_code == 3
    assert "was already run as" in again.output


def test_the_end_names_the_findings_of_the_same_runbook_that_the_plan_did_not_cover(
    wired: FakeWiring, tmp_path: Path
) -> None:
    path, plan_id = planned(tmp_path)
    healed = wired.findings[0]
    remedies = (Remedy("the runbook", "kfix runbook apply coordinator-stuck", "coordinator-stuck"),)
    left = replace(healed, obj="orders-7", partitions=(TopicPartition("orders", 7),), remedies=remedies)
    other = replace(left, obj="orders-8", remedies=(replace(remedies[0], runbook="isr-dead"),))
    wired.cut = (left, replace(healed, remedies=remedies), other)
    result = kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}")
    assert result.exit_code == 0, result.output
    [said] = [line for line in result.stdout.splitlines() if line.startswith("not healed by this plan")]
    assert said.startswith(f"not healed by this plan: 1 more finding, {left.key}. To heal the rest: kfix runbook apply")


def test_the_command_for_what_is_left_is_that_of_its_finding_which_has_the_parameters(
    wired: FakeWiring, tmp_path: Path
) -> None:
    path, plan_id = planned(tmp_path)
    command = "kfix runbook apply coordinator-stuck -p prove_within=30s"
    left = replace(
        wired.findings[0], obj="a group", partitions=(), remedies=(Remedy("x", command, "coordinator-stuck"),)
    )
    wired.cut = (left,)
    result = kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}")
    [said] = [line for line in result.stdout.splitlines() if line.startswith("not healed by this plan")]
    assert said == f"not healed by this plan: 1 more finding, {left.key}. To heal the rest: {command}"


def test_apply_in_one_go_without_a_terminal_changes_nothing_and_shows_the_command(
    wired: FakeWiring, tmp_path: Path
) -> None:
    result = kfix("apply", "coordinator-stuck")
    assert result.exit_code == 4
    assert wired.cluster.faults.calls == []
    hint = next(line for line in result.output.splitlines() if "kfix runbook apply --plan" in line)
    command = hint.strip().partition("   ")[0].split()
    assert kfix(*command[2:]).exit_code == 0
    assert str(tmp_path) in command[4]


def test_plan_as_json_is_the_plan_and_people_read_the_other_stream(wired: FakeWiring) -> None:
    result = kfix("plan", "coordinator-stuck", "--json")
    assert json.loads(result.stdout)["schema"] == "kfix.plan/v1"
    assert "PLAN " in result.stderr
    assert wired.cluster.faults.calls == []


def test_apply_as_json_gives_the_journals_records(wired: FakeWiring, tmp_path: Path) -> None:
    path, plan_id = planned(tmp_path)
    result = kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}", "--json")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [records[0]["type"], records[-1]["type"]] == ["run.start", "run.end"]
    assert "PROVED HEALED" in result.stderr
    assert wired.cluster.faults.calls


def test_history_and_verify_speak_of_the_run(wired: FakeWiring, tmp_path: Path) -> None:
    assert "no runs yet" in kfix("history").stdout
    path, plan_id = planned(tmp_path)
    kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}")
    (run,) = [json.loads(line) for line in kfix("history", "--json").stdout.splitlines()]
    assert (run["outcome"], run["exit"], run["changed"]) == ("proved", 0, ["nudge"])
    assert "step.intent" in kfix("history", run["id"]).stdout
    records = [json.loads(line) for line in kfix("history", plan_id, "--json").stdout.splitlines()]
    answered = next(r for r in records if r["type"] == "gate.answered")
    assert answered["answer"] == f"flag --approve plan:{plan_id}"
    proved = kfix("verify", run["id"])
    assert proved.exit_code == 0
    assert "proved, 3 successful checks in a row" in proved.stdout
    wired.cluster.silence(3)
    assert kfix("verify", run["id"]).exit_code == 5


def test_history_of_an_edited_journal_shows_where_and_exits_with_3(wired: FakeWiring, tmp_path: Path) -> None:
    path, plan_id = planned(tmp_path)
    kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}")
    (journal,) = (tmp_path / "state").rglob("journal.ndjson")
    journal.write_bytes(journal.read_bytes().replace(b'"ok":true', b'"ok":false'))
    result = kfix("history", plan_id)
    assert result.exit_code == 3
    assert "does not follow the line before it" in result.output
    assert wired.cluster.faults.calls


def test_nothing_to_do_shows_what_was_read(wired: FakeWiring) -> None:
    wired.findings = ()
    for command in ("plan", "apply"):
        result = kfix(command, "coordinator-stuck")
        assert result.exit_code == 0
        assert "nothing to do: no KFX101 or KFX102 on memory-cluster; read 3 brokers, 53 part" in result.output


def test_nothing_found_where_something_could_not_be_read_is_unknown(wired: FakeWiring) -> None:
    wired.findings = ()
    wired.could_not_read = ("zookeeper 10.0.0.1:2181",)
    result = kfix("apply", "coordinator-stuck")
    assert result.exit_code == 22
    assert "incomplete: could not read zookeeper 10.0.0.1:2181" in result.output


def test_a_finding_that_healed_meanwhile_needs_no_plan(wired: FakeWiring) -> None:
    wired.cluster.control.fail_over_to(3)
    result = kfix("apply", "coordinator-stuck")
    assert result.exit_code == 0
    assert "is already healthy" in result.output


def test_findings_of_one_topic_make_one_plan(wired: FakeWiring) -> None:
    incident = ALL["coordinator-stuck-five-partitions"]()
    one = incident.finding
    wired.cluster = incident.cluster
    wired.findings = tuple(replace(one, obj=str(tp), partitions=(tp,)) for tp in one.partitions)
    result = kfix("plan", "coordinator-stuck", "--exit-code")
    assert result.exit_code == 10
    assert "__consumer_offsets (5 partitions)" in result.output
    single = kfix("plan", "coordinator-stuck", "--finding", f"KFX101:{one.partitions[2]}")
    assert "nudge:" not in single.output


def test_a_plan_is_for_one_topic_and_the_choice_is_listed_ready_to_paste(wired: FakeWiring) -> None:
    orders = ALL["partition-stuck"]().finding
    names = ["ISR on broker 1", "ISR on broker 2"]
    wired.findings = tuple(
        replace(one, code="KFX103", obj=obj) for one, obj in zip((*wired.findings, orders), names, strict=True)
    )
    result = kfix("plan", "isr-dead")
    assert result.exit_code == 2
    for name in names:
        assert f"--finding 'KFX103:{name}'" in result.output


def test_all_stuck_partitions_are_one_plan(wired: FakeWiring) -> None:
    """Two offsets partitions and a user's topic have one cause: their plan has one key, which can be named again."""
    first = wired.findings[0]
    other = replace(first, code="KFX102", obj="orders-2", partitions=(TopicPartition("orders", 2),), facts={})
    wired.findings = (first, other)
    result = kfix("plan", "coordinator-stuck")
    assert "Choose one" not in result.output
    keyed = kfix("plan", "coordinator-stuck", "--finding", "KFX101:all")
    assert "there is no finding" not in keyed.output
    assert keyed.exit_code == result.exit_code


@for_each(
    ("args", "code", "says"),
    [
        (["plan", "cordinator-stuck"], 2, "did you mean 'coordinator-stuck'?"),
        (["plan", "coordinator-stuck", "--finding", "KFX999:x"], 2, "there is no finding 'KFX999:x'"),
        (["plan", "coordinator-stuck", "-p", "x=1"], 2, "unknown parameter 'x'; known: prove_within"),
        (["plan", "coordinator-stuck", "-p", "prove_within=soon"], 2, "'soon' is not a duration"),
        (["plan", "coordinator-stuck", "-p", "prove_within"], 2, "is not NAME=VALUE"),
        (["plan", "coordinator-stuck", "--runbooks", "/nowhere"], 2, "no such folder"),
        (["plan", "metadata-divergence", "--finding", "KFX101:__consumer_offsets-26"], 3, "is for KFX201, not for"),
        (["apply"], 2, "name a runbook, or give --plan FILE"),
        (["apply", "coordinator-stuck", "--approve", "plan:12345678"], 2, "they require --plan FILE"),
        (["apply", "coordinator-stuck", "--plan", "p.json"], 2, "excludes NAME"),
        (["apply", "--plan", "/nowhere/p.json"], 2, "no such plan file"),
        (["apply", "coordinator-stuck", "--yes"], 2, "No such option"),
        (["apply", "coordinator-stuck", "--force"], 2, "No such option"),
        (["verify", "nothing"], 2, "there is no run 'nothing'"),
        (["history", "nothing"], 2, "there is no run 'nothing'"),
        (["show", "nothing"], 2, "unknown runbook 'nothing'"),
    ],
)
def test_a_wrong_command_is_one_clear_line(wired: FakeWiring, args: list[str], code: int, says: str) -> None:

    result = kfix(*args)
    assert result.exit_code == code, result.output
    assert says in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert wired.cluster.faults.calls == []


def test_a_plan_is_not_written_over_a_file(wired: FakeWiring, tmp_path: Path) -> None:
    path, _ = planned(tmp_path)
    result = kfix("plan", "coordinator-stuck", "--output-file", path)
    assert result.exit_code == 2
    assert "is not overwritten" in result.output
    assert wired.cluster.faults.calls == []


def test_an_edited_plan_file_is_refused(wired: FakeWiring, tmp_path: Path) -> None:
    path, plan_id = planned(tmp_path)
    text = Path(path).read_text().replace('"partitions": 1', '"partitions": 2', 1)
    Path(path).write_text(text.replace("nudge", "nudge2"))
    result = kfix("apply", "--plan", path, "--approve", f"plan:{plan_id}")
    assert result.exit_code == 2
    assert "was edited after it was made" in result.output
    assert wired.cluster.faults.calls == []


def test_a_run_that_is_not_proved_exits_with_5(wired: FakeWiring, tmp_path: Path) -> None:
    from kfix.core.snapshot.reading import ChangeResult

    wired.cluster.faults.answer("reassign", ChangeResult(0, "NONE"))
    wired.cluster.faults.answer("elect", ChangeResult(0, "NONE"))
    wired.cluster.faults.answer("reelect_controller", ChangeResult(0, "NONE"))
    site = tmp_path / "site"
    site.mkdir()
    shipped = Path("runbooks/coordinator-stuck.yaml")
    fast = shipped.read_text().replace("verify_timeout: 5s", "verify_timeout: 10ms")
    (site / shipped.name).write_text(fast.replace("verify_timeout: 30s", "verify_timeout: 10ms"))
    path = tmp_path / "p.json"
    kfix("plan", "coordinator-stuck", "--runbooks", str(site), "-p", "prove_within=300ms", "--output-file", str(path))
    plan_id = json.loads(path.read_text())["plan_id"][:8]
    result = kfix("apply", "--plan", str(path), "--approve", f"step:{plan_id}")
    assert result.exit_code == 3, result.output
    assert "name the folder of its runbook, --runbooks DIR" in " ".join(result.output.split())
    result = kfix("apply", "--plan", str(path), "--approve", f"step:{plan_id}", "--runbooks", str(site))
    assert result.exit_code == 5, result.output
    assert "not proved (fail)" in result.output
