"""The conditions of checks as Spark SQL: the same declaration that a live diagnosis evaluates in Python.

Facts are never null, so that SQL's logic has two values here, as Python's. False is less than True in both.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from kfix.derive.predicate import Predicate
from kfix.model.expected import EXPECTED_TYPES

_COMPARE: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "=",
    ast.NotEq: "<>",
}
#: The most conditions of one mask: a bigint has 64 bits, one of them the sign.
MOST: Final = 63


def sql_of(condition: Predicate) -> str:
    """Returns the condition as SQL over the columns of `partitions` and the expected values."""
    return _sql(condition.tree)


def mask_of(conditions: Sequence[Predicate]) -> str:
    """Returns one bigint for all conditions: bit i is set where condition i is met."""
    if len(conditions) > MOST:
        raise ValueError(f"{len(conditions)} conditions, at most {MOST} fit into a mask")
    bits = (f"CASE WHEN {sql_of(c)} THEN {1 << i}L ELSE 0L END" for i, c in enumerate(conditions))
    return " + ".join(bits) or "0L"


def columns_of(conditions: Sequence[Predicate]) -> list[str]:
    """Returns the columns of `partitions` that the conditions use, sorted."""
    return sorted(frozenset[str]().union(*(c.names for c in conditions)) - EXPECTED_TYPES.keys())


def _sql(node: ast.expr) -> str:  # noqa: PLR0911 - one line a kind
    match node:
        case ast.BoolOp(op=op, values=parts):
            word = " AND " if isinstance(op, ast.And) else " OR "
            return f"({word.join(map(_sql, parts))})"
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return f"(NOT {_sql(part)})"
        case ast.UnaryOp(op=ast.USub(), operand=part):
            return f"(- {_sql(part)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"({_sql(left)} {_COMPARE[type(op)]} {_sql(right)})"
        case ast.BinOp(left=left, op=sign, right=right):
            return f"({_sql(left)} {'+' if isinstance(sign, ast.Add) else '-'} {_sql(right)})"
        case ast.Constant(value=bool() as flag):
            return "true" if flag else "false"
        case ast.Constant(value=int() as number):
            return f"{number}L"
        case ast.Name(id=name):
            return f"`{name}`"
        case _:
            raise AssertionError(f"the catalogue let {ast.unparse(node)!r} pass")
