"""Which faults are run, which tests reach them, and what a result means."""

import sys

import pytest

from tests.mutants import __main__ as runner
from tests.mutants.__main__ import chosen, lost, to_run
from tests.mutants.faults import Fault, Result
from tests.mutants.near import near
from tests.mutants.page import page
from tests.mutants.plugin import now_called
from tests.places import ROOT


def fault(n, **more):
    return Fault(**{"part": "one", "file": f"file{n}.py", "old": "a", "new": f"b{n}", "why": "it is wrong"} | more)


FAULTS = [fault(1), fault(2), fault(3, part="two"), fault(4, equivalent="nobody can see it")]
KNOWN = {FAULTS[0].id: Result(FAULTS[0].id, "killed", "test_a"), FAULTS[1].id: Result(FAULTS[1].id, "survived")}


def test_a_fault_is_put_in_where_its_text_occurs_once():
    assert fault(1).put_into("x a y") == "x b1 y"
    for text in ("x y", "a a"):
        with pytest.raises(ValueError, match=r"file1\.py has . times"):
            fault(1).put_into(text)


def test_a_changed_fault_is_another_one():
    assert fault(1).id != fault(1, new="c").id
    assert fault(1).id == fault(1, why="other words").id


def test_slices_share_the_faults():
    slices = [chosen(FAULTS, [], f"{k}/3") for k in (1, 2, 3)]
    assert sorted(each.id for part in slices for each in part) == sorted(each.id for each in FAULTS)


def test_parts_and_ids_choose_faults():
    assert chosen(FAULTS, ["two"], "1/1") == [FAULTS[2]]
    assert chosen(FAULTS, [FAULTS[1].id], "1/1") == [FAULTS[1]]


def test_recorded_kills_are_checked_and_the_others_are_recorded():
    assert to_run(FAULTS, KNOWN, record=False, again=False) == [FAULTS[0]]
    assert to_run(FAULTS, KNOWN, record=True, again=False) == FAULTS[1:3]
    assert to_run(FAULTS, KNOWN, record=True, again=True) == FAULTS[:3]


def test_a_survivor_is_lost_only_if_it_was_killed_once():
    now = {each.id: Result(each.id, "survived") for each in FAULTS}
    assert [each.id for each in lost(now, KNOWN)] == [FAULTS[0].id]
    assert lost({FAULTS[0].id: Result(FAULTS[0].id, "timeout", "test_a")}, KNOWN) == []


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("killed", 0), ("timeout", 0), ("survived", 1), ("", 1)],
)
def test_a_slice_fails_if_a_fault_that_was_killed_survives_or_was_not_tried(monkeypatch, capsys, verdict, code):
    id_ = FAULTS[0].id
    monkeypatch.setattr(runner, "faults", lambda: FAULTS)
    monkeypatch.setattr(runner, "results", lambda: KNOWN)
    monkeypatch.setattr(runner, "run", lambda *_: {id_: Result(id_, verdict)} if verdict else {})
    monkeypatch.setattr(sys, "argv", ["mutants", "--slice", "1/2"])
    assert runner.main() == code
    assert (f"survived: {id_}, which test_a killed" in capsys.readouterr().out) is (verdict == "survived")


def test_a_killer_is_found_again_where_its_file_or_its_copies_have_other_names():
    tests = ["new/test_a.py::test_x[one]", "new/test_a.py::test_x[two]", "new/test_b.py::test_y"]
    assert now_called(tests[0], tests) == tests[:1]
    assert now_called("old/test_a.py::test_x[two]", tests) == tests[1:2]
    assert now_called("new/test_a.py::test_x[three]", tests) == tests[:2]
    assert now_called("new/test_a.py::test_gone", tests) == now_called("", tests) == []


def test_the_score_leaves_out_what_cannot_be_seen():
    lines = page(KNOWN, FAULTS).splitlines()
    assert "| one | 3 | 1 | 1 | 1 | 50 % |" in lines
    assert "| two | 1 | 0 | 0 | 0 | — |" in lines
    assert "Not run yet: 1 faults." in lines
    assert f"| `{FAULTS[3].id}`: it is wrong | `file4.py` | nobody can see it |" in lines


@pytest.mark.parametrize(
    ("file", "first"),
    [
        ("kfix/heal/gate/countersign.py", "tests/unit/heal/gate/test_countersign.py"),
        ("kfix/heal/placement/spread.py", "tests/unit/heal/placement/test_spread.py"),
        ("diagnostics/kfix_diagnostics/leadership/kfx103_isr_gone.py", "tests/unit/diagnostics/"),
        ("spark/kfix_spark/java.py", "tests/unit/fleet/test_spark_parts.py"),
        ("kfix/core/private.py", "tests/unit/test_private.py"),
    ],
)
def test_the_tests_of_a_file_come_first(file, first):
    every = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")]
    found = near(file, every)
    assert found[0].startswith(first)
    assert "tests/unit/inspect/test_logdir.py" not in found
