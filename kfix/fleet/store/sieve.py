"""Conditions over whole columns: which rows may match, without a Python object for any other.

The sieve only picks candidates; the catalogue's own loop (`predicate.compile_all`) judges them. Conditions share most
of their terms (`not deleting`, `leader >= 0`), so every term is worked out once a cluster.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.derive.predicate import Predicate

_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: pc.less,
    ast.LtE: pc.less_equal,
    ast.Gt: pc.greater,
    ast.GtE: pc.greater_equal,
    ast.Eq: pc.equal,
    ast.NotEq: pc.not_equal,
}


class Sieve:
    """Over the columns of one cluster; `column` reads one by name, once it is asked for. `values` are the names in
    conditions that are one number for all rows: what is expected of the cluster.
    """

    def __init__(self, column: Callable[[str], Any], rows: int, values: Mapping[str, int]) -> None:
        self._column = column
        self._rows = rows
        self._known: dict[str, Any] = {n: pa.scalar(v, pa.int64()) for n, v in values.items()}

    def rows_of(self, conditions: Sequence[Predicate]) -> list[int]:
        """Returns the ascending numbers of the rows that meet at least one of the conditions."""
        if not conditions or not self._rows:
            return []
        found: list[int] = pc.indices_nonzero(reduce(pc.or_, map(self.mask, conditions))).to_pylist()
        return found

    def count(self, condition: Predicate) -> int:
        """Returns the number of rows that meet the condition."""
        return int(pc.sum(self.mask(condition)).as_py() or 0) if self._rows else 0

    def mask(self, condition: Predicate) -> Any:
        """Returns whether each row meets the condition, as a pyarrow array."""
        return self._array(self._value(condition.tree))

    def _array(self, value: Any) -> Any:
        """A condition without any fact, such as `True`, is one value for all rows."""
        return pa.repeat(value, self._rows) if isinstance(value, pa.Scalar) else value

    def _value(self, node: ast.expr) -> Any:
        text = _text(node)
        if text not in self._known:
            self._known[text] = self._worked_out(node)
        return self._known[text]

    def _worked_out(self, node: ast.expr) -> Any:
        match node:
            case ast.BoolOp(op=op, values=parts):
                found = reduce(pc.and_ if isinstance(op, ast.And) else pc.or_, map(self._value, parts))
            case ast.UnaryOp(op=op, operand=part):
                found = pc.invert(self._value(part)) if isinstance(op, ast.Not) else pc.negate(self._value(part))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                found = _COMPARE[type(op)](self._ordered(left), self._ordered(right))
            case ast.BinOp(left=left, op=sign, right=right):
                with_sign = pc.add if isinstance(sign, ast.Add) else pc.subtract
                found = with_sign(self._value(left), self._value(right))
            case ast.Constant(value=bool() as flag):
                found = pa.scalar(flag)
            case ast.Constant(value=number):
                found = pa.scalar(number, pa.int64())
            case ast.Name(id=name):
                found = self._column(name)
            case _:
                raise AssertionError(f"the catalogue let {ast.unparse(node)!r} pass")
        return found

    def _ordered(self, node: ast.expr) -> Any:
        """False < True as in Python."""
        value = self._value(node)
        return pc.cast(value, pa.int64()) if value.type == pa.bool_() else value


@cache
def _text(node: ast.expr) -> str:
    """Conditions live as long as the process, and each of their terms is met once a cluster."""
    return ast.unparse(node)
