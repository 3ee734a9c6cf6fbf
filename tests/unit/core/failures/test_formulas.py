"""Rules as text: the same in Python and in SQL, and nothing else than what both agree on."""

import pytest

from kfix.core.failures.formulas import Formulas

INPUTS = {"leader": int, "down": int, "new": bool}


def made(**rules):
    return Formulas(rules, INPUTS, {"NONE": 0})


def test_a_rule_uses_those_above_it():
    formulas = made(left="leader & ~down", lost="left == NONE and not new", code="1 if lost else 0")
    judge = formulas.function(("left", "code"))
    assert judge(None, None, leader=6, down=2, new=False) == (4, 0)
    assert judge(None, None, leader=6, down=6, new=False) == (0, 1)
    assert formulas.select("t", ("left",), 1) == "(SELECT *, (leader & (~ down)) AS left FROM t AS given)"


def test_what_both_languages_do_not_share_is_refused():
    for text, why in (
        ("leader + 1", "'leader + 1' is not allowed"),
        ("later", "'later' is not declared above it"),
        ("new & leader", "bool where int is required"),
        ("leader and new", "int where bool is required"),
        ("1 if new else new", "bool where int is required"),
        ("1 if leader else 0", "int where bool is required"),
        ("first(leader & down)", "is not allowed"),
        ("True", "'True' is not allowed"),
        ("leader < down < 3", "is not allowed"),
        ("__import__('os')", "is not allowed"),
    ):
        with pytest.raises(ValueError, match=r"^rule: ") as error:
            made(rule=text)
        assert why in str(error.value), text


def test_first_and_min_isr_read_the_columns_of_the_assignment():
    formulas = made(heir="first(leader)", needed="min_isr(heir)", alive="count(leader)")
    text = formulas.select("t", ("needed", "alive"), 2)
    assert "CASE WHEN (order_1 & leader) <> 0 THEN order_1 WHEN (order_2 & leader) <> 0 THEN order_2 ELSE" in text
    assert "CASE WHEN order_1 = heir THEN min_isr_1 WHEN order_2 = heir THEN min_isr_2 ELSE" in text
    assert "CAST(bit_count(leader) AS BIGINT) AS alive" in text


def test_what_does_not_depend_on_a_failure_is_known_before_it():
    formulas = made(alive="leader & 7", odd="alive == 0", left="alive & ~down", bad="left == NONE or odd")
    assert formulas.without(("bad",), ("down",)) == ("alive", "odd")
    assert "alive" not in formulas.select("t", ("left",), 1, ("alive", "odd")).replace("(alive & (~ down))", "")
