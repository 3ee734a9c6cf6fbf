"""A table of cases in one test: all of them run, each by itself, and the failure names those that failed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.each import for_each


def test_every_case_runs_and_each_that_fails_is_named() -> None:
    seen = []

    @for_each(("name", "number"), [("good", 1), ("bad", 2), ("worse", 3), ("fine", 1)])
    def check(name: str, number: int) -> None:
        seen.append(name)
        assert number == 1

    with pytest.raises(AssertionError, match=r"2 of 4 cases fail:\ncase 1 bad, 2: .*\n.*case 2 worse, 3: ") as caught:
        check()
    assert seen == ["good", "bad", "worse", "fine"]
    assert f"{Path(__file__).name}:" in str(caught.value)


def test_an_exception_that_did_not_come_is_a_failure_of_its_case() -> None:
    @for_each("number", [0, 1], ids=lambda number: f"dividing by {number}")
    def check(number: int) -> None:
        with pytest.raises(ZeroDivisionError):
            divmod(1, number)

    with pytest.raises(AssertionError, match=r"1 of 2 cases fail:\ndividing by 1: "):
        check()


def test_a_table_without_cases_fails() -> None:
    with pytest.raises(AssertionError, match="no cases"):
        for_each("case", list)(lambda case: None)()


@for_each("number", lambda: range(2))
def test_each_case_has_an_empty_folder_and_an_environment_of_its_own(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(tmp_path.iterdir()) == []
    assert "KFIX_OF_A_CASE" not in os.environ
    (tmp_path / "file").write_text(str(number))
    monkeypatch.setenv("KFIX_OF_A_CASE", str(number))
