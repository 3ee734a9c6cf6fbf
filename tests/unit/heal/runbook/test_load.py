"""A runbook file is loaded whole, or all of its mistakes are told, each with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kfix.core.errors import InvalidFileError, UsageError
from kfix.heal.runbook.catalogue import files, load, validate
from kfix.heal.runbook.load import load_file, load_text
from tests.each import for_each

GOOD = """\
apiVersion: kfix/v1
kind: Runbook
metadata: {id: small, version: 1, owner: tests, modes: [zk]}
title: t
about: a
on: {finding: [KFX101]}
limits: {max_partitions: 1, cooldown: 1s}
goal:
  all:
    - {check: partition_has_leader, partition: "${tp}", for_each: {items: "${finding.partitions}", as: tp}}
  timeout: 5s
  interval: 200ms
  consecutive: 3
steps:
  - id: nudge
    action: reassign.noop
    why: w
    for_each: {items: "${finding.partitions}", as: tp}
    with: {partition: "${tp}"}
    verify:
      - {check: partition_has_leader, partition: "${tp}"}
tests:
  - name: n
    cluster: coordinator-stuck
    finding: {code: KFX101}
    expect: {healed: true}
"""


def problems(text: str, stem: str = "small") -> tuple[str, ...]:
    with pytest.raises(InvalidFileError) as caught:
        load_text(text, origin="f.yaml", stem=stem)
    return caught.value.problems


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def test_a_good_runbook_loads() -> None:
    assert load_text(GOOD, origin="f.yaml", stem="small").id == "small"


def test_five_mistakes_of_all_kinds_are_reported_at_once_each_with_its_place() -> None:
    text = (
        GOOD.replace("action: reassign.noop", "action: reassign.nop")
        .replace("owner: tests", "ownr: tests")
        .replace("timeout: 5s", "timeout: 5 seconds")
        .replace(
            'check: partition_has_leader, partition: "${tp}"}\ntests',
            'check: partition_has_leadr, partition: "${tp}"}\ntests',
        )
        .replace("consecutive: 3", "consecutive: 0")
    )
    told = problems(text)
    assert told == (
        "f.yaml:3:11: metadata lacks 'owner'",
        "f.yaml:3:35: unknown field 'ownr', did you mean 'owner'?",
        "f.yaml:11:12: timeout: '5 seconds' is not a duration such as 200ms, 90s, 2m or 1h",
        "f.yaml:13:16: consecutive: input should be greater than or equal to 1",
        "f.yaml:16:13: unknown action 'reassign.nop', did you mean 'reassign.noop'?",
        "f.yaml:21:17: unknown check 'partition_has_leadr', did you mean 'partition_has_leader'?",
    )


def test_a_gate_below_the_floor_of_its_action_is_a_mistake() -> None:
    (told,) = problems(changed("    why: w", "    gate: auto\n    why: w"))
    assert told == "f.yaml:17:11: gate 'auto' is below the floor 'plan' of action reassign.noop"


def test_a_gate_may_be_raised() -> None:
    text = changed("    why: w", "    gate: typed\n    why: w")
    assert load_text(text, origin="f.yaml", stem="small").steps[0].gate is not None


@pytest.mark.parametrize("field", ["shell: rm", "retries: 3", "ignore_errors: true"])
def test_a_field_kfix_does_not_act_on_is_a_mistake(field: str) -> None:
    (told,) = problems(changed("    why: w", f"    {field}\n    why: w"))
    assert told.startswith(f"f.yaml:17:5: unknown field {field.split(':', maxsplit=1)[0]!r}")


def test_a_loop_of_a_step_may_go_in_batches_and_that_of_a_check_may_not() -> None:
    old = '    for_each: {items: "${finding.partitions}", as: tp}\n    with'
    text = changed(old, old.replace("as: tp", "as: tp, batch: 5, canary: 1, pause: 2s"))
    loop = load_text(text, origin="f.yaml", stem="small").steps[0].for_each
    assert loop is not None
    assert (loop.batch, loop.canary, loop.pause) == (5, 1, 2.0)
    (told,) = problems(GOOD.replace("as: tp}}", "as: tp, batch: 5}}", 1))
    assert "unknown field 'batch'" in told


def test_a_repeated_key_names_the_line_of_the_first() -> None:
    (told,) = problems(changed("title: t\n", "title: t\ntitle: u\n"))
    assert told == "f.yaml:5:1: the key 'title' is already on line 4"


def test_anchors_aliases_and_tags_are_refused() -> None:
    told = problems("a: &x 1\nb: *x\nc: !!str 3\n")
    assert [t.split(": ", 1)[1].split(" ")[0] for t in told] == ["anchors", "aliases", "tags"]


def test_broken_syntax_is_one_line_with_its_place() -> None:
    (told,) = problems("metadata: {id: a\ntitle: b\n")
    assert told.startswith("f.yaml:2:6: not YAML: ")


def test_an_alias_that_contains_itself_does_not_hang() -> None:
    assert problems("a: &x [*x]\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "f.yaml:1:1: the file is empty"),
        ("just words\n", "f.yaml:1:1: "),
        ("[" * 200, "f.yaml:1:"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("x: " + "y" * 300_000, "larger than 256 KiB"),
        ("a: \x07\n", "not YAML"),
        ("cooldown: 010\n", "010 is read differently by every tool"),
    ],
)
def test_what_is_no_runbook_is_reported_in_a_line(text: str, says: str) -> None:
    assert any(says in told for told in problems(text))


def test_no_and_on_are_words_and_no_booleans() -> None:
    text = GOOD.replace("title: t", "title: no").replace("about: a", "about: on")
    runbook = load_text(text, origin="f.yaml", stem="small")
    assert (runbook.title, runbook.about) == ("no", "on")


@for_each(
    ("old", "new", "says"),
    [
        ('with: {partition: "${tp}"}', 'with: {partition: "${tq}"}', "unknown reference 'tq'; known: finding.NAME, tp"),
        ('with: {partition: "${tp}"}', "with: {partition: orders}", "'orders' is not a partition such as orders-3"),
        ('with: {partition: "${tp}"}', 'with: {partitio: "${tp}"}', "action reassign.noop needs 'partition'"),
        ('with: {partition: "${tp}"}', "with: {partition: {a: 1}}", "expected a plain value"),
        ("timeout: 5s", "timeout: ${params.x}", "there is no parameter 'x'"),
        ('items: "${finding.partitions}", as: tp}}', 'items: "${finding.brokers}", as: tp}}', "for_each goes over"),
        ("finding: [KFX101]}\nlimits", "finding: [K1]}\nlimits", "is not of the form"),
        ("title: t", "title: ${nothing}", "unknown reference 'nothing'"),
        ("    expect: {healed: true}", "    expect: {healed: 'yes'}", "healed: input should be a valid boolean"),
        ("    why: w", "    why: w\n    when: {fact: finding.x}", "when needs a fact and exactly one of eq, ne, lt"),
        ("    why: w", "    why: w\n    when: {fact: finding.x, eq: null}", "expected a plain value"),
        ("    why: w", "    why: w\n    require: [{check: isr_full, partition: a-1, x: 2}]", "unknown argument of"),
        ("    verify:\n", "    verify: 3\n    x:\n", "verify: "),
        ("    why: w", "    why: w\n    always: true", "a step that always runs can ask nobody"),
        ("    why: w", "    why: w\n    from_step: before", "there is no step 'before' before this one"),
        ("id: small", "id: other", "the runbook's id is 'other', but its file is called 'small'"),
        ("apiVersion: kfix/v1", "apiVersion: kfix/v2", "apiVersion is 'kfix/v2', wanted 'kfix/v1'"),
    ],
)  # fmt: skip
def test_each_mistake_states_what_is_wrong(old: str, new: str, says: str) -> None:
    told = problems(changed(old, new))
    assert any(says in t for t in told), told


def test_two_steps_of_one_name_are_a_mistake() -> None:
    step = GOOD[GOOD.index("  - id: nudge") : GOOD.index("tests:")]
    (told,) = problems(GOOD.replace("tests:\n", step + "tests:\n"))
    assert "the step id 'nudge' is already used by step 1" in told


def test_a_runbook_without_a_test_is_refused() -> None:
    told = problems(GOOD[: GOOD.index("tests:")] + "tests: []\n")
    assert told[0].startswith("f.yaml:22:8: tests: list should have at least 1 item")


def test_an_unknown_finding_is_a_mistake_where_the_codes_are_known() -> None:
    with pytest.raises(InvalidFileError) as caught:
        load_text(GOOD, origin="f.yaml", stem="small", codes=frozenset({"KFX102"}))
    assert caught.value.problems == ("f.yaml:6:16: unknown finding 'KFX101', did you mean 'KFX102'?",)


def test_validate_reports_the_mistakes_of_all_files_at_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(changed("title: t", "titel: t"))
    with pytest.raises(InvalidFileError) as caught:
        validate(tuple(files(tmp_path)[n] for n in ("one", "two")))
    assert len([p for p in caught.value.problems if "unknown field 'titel'" in p]) == 2


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_bytes(b"title: \xff\xfe")
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        load_file(path)


def test_an_unknown_runbook_suggests_the_near_one() -> None:
    with pytest.raises(UsageError, match="did you mean 'coordinator-stuck'"):
        load("cordinator-stuck", None)


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        files(tmp_path / "nowhere")


def test_a_sites_runbook_goes_before_the_shipped_one(tmp_path: Path) -> None:
    own = tmp_path / "coordinator-stuck.yaml"
    own.write_text(GOOD.replace("id: small", "id: coordinator-stuck"))
    assert load("coordinator-stuck", tmp_path).metadata.owner == "tests"
