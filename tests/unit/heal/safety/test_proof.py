"""Proof by itself: good often enough in a row before a deadline, and unknown never counts as good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from kfix.core.args import Args
from kfix.heal.memory.state import ManualClock
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.plan import CheckCall, Goal
from kfix.heal.safety import proof
from kfix.heal.safety.proof import Proof, lasting, prove
from tests.unit.heal.stage import Stage

CHECK = CheckCall("leader_is", Args({"partition": "orders-0", "broker": 1}))
GOOD, BAD, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def proved(
    monkeypatch: pytest.MonkeyPatch, *verdicts: Verdict, consecutive: int = 3, timeout: float = 10.0
) -> tuple[Proof, list[int]]:
    """The proof over these answers, one a second, the last forever; and the good ones in a row after each."""
    answers: Iterator[Verdict] = iter(verdicts)
    last = [verdicts[-1]]

    def ask(_call: CheckCall, _reader: object) -> Answer:
        last[0] = next(answers, last[0])
        return Answer(last[0], "seen", "wanted")

    monkeypatch.setattr(proof, "ask", ask)
    rows: list[int] = []
    terms = Goal((CHECK,), timeout, 1.0, consecutive)
    found = prove(terms, None, ManualClock(), lambda _c, _a, in_row: rows.append(in_row))  # type: ignore[arg-type]
    return found, rows


def test_it_takes_several_good_samples_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    found, rows = proved(monkeypatch, GOOD)
    assert (found.verdict, found.in_row, found.seconds) == (GOOD, 3, 2.0)
    assert rows == [1, 2, 3]


@pytest.mark.parametrize("odd", [BAD, UNKNOWN])
def test_one_sample_that_is_not_good_begins_the_row_anew(monkeypatch: pytest.MonkeyPatch, odd: Verdict) -> None:
    found, rows = proved(monkeypatch, GOOD, GOOD, odd, GOOD)
    assert found.verdict is GOOD
    assert rows == [1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize("last", [BAD, UNKNOWN])
def test_a_deadline_ends_it_with_what_was_seen_last(monkeypatch: pytest.MonkeyPatch, last: Verdict) -> None:
    found, rows = proved(monkeypatch, last)
    assert found.verdict is last
    assert found.seconds <= 10.0
    assert set(rows) == {0}
    assert "wanted" in found.words


def test_good_but_not_often_enough_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = proved(monkeypatch, BAD, BAD, GOOD, consecutive=3, timeout=3.0)
    assert found.verdict is UNKNOWN
    assert "not often enough" in found.words or "in a row" in found.words


def test_flapping_never_proves_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    found, rows = proved(monkeypatch, *([GOOD, BAD] * 20))
    assert found.verdict is not GOOD
    assert max(rows) == 1


def _config(value: str, key: str = "retention.ms") -> CheckCall:
    return CheckCall("config_is", Args({"kind": "topic", "name": "orders", "key": key, "value": value}))


def test_of_two_steps_that_set_the_same_thing_the_later_one_lasts(stage: Stage) -> None:
    step = stage.plan().steps[0]
    steps = [replace(step, id=call.args.text("value"), verify=(call,)) for call in map(_config, "123")]
    assert lasting(steps) == (_config("3"),)
    # The step that was not made leaves the earlier value, and removes no claim about another key.
    assert lasting(steps, lambda each: each.id != "3") == ()
    other = replace(step, id="other", verify=(_config("9", "segment.ms"),))
    assert lasting([other, *steps]) == (_config("9", "segment.ms"), _config("3"))


def test_a_check_of_what_nothing_sets_anew_is_asked_once(stage: Stage) -> None:
    step = replace(stage.plan().steps[0], verify=(CHECK,))
    assert lasting([step, replace(step, id="again")]) == (CHECK,)
