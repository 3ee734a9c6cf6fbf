"""Conditions over whole columns: which rows may match, without a Python object for any other.

The sieve only picks candidates; the catalogue's own loop (`predicate.compile_all`) judges them. Conditions share most
of their terms (`not deleting`, `leader >= 0`), so every term is worked out once a cluster.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.derive.predicate import Operators, Predicate, evaluated

#: What the operators of a condition make of columns.
_COLUMNS: Final[Operators[Any]] = {
    ast.And: lambda *parts: reduce(pc.and_, parts),
    ast.Or: lambda *parts: reduce(pc.or_, parts),
    ast.Not: pc.invert,
    ast.USub: pc.negate,
    ast.Add: pc.add,
    ast.Sub: pc.subtract,
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
        self._known: dict[Any, Any] = {n: pa.scalar(v, pa.int64()) for n, v in values.items()}
        self._operators = {kind: partial(self._once, operator) for kind, operator in _COLUMNS.items()}

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
        found = evaluated(condition.tree, self._operators, self._operand)
        # A condition without any fact is one value for all rows.
        return pa.repeat(found, self._rows) if isinstance(found, pa.Scalar) else found

    def _operand(self, name: str | int) -> Any:
        if name not in self._known:
            self._known[name] = self._column(name) if isinstance(name, str) else pa.scalar(name, pa.int64())
        return self._known[name]

    def _once(self, operator: Callable[..., Any], *operands: Any) -> Any:
        """Returns the result of an operator. All operands are kept, so that their identities name them."""
        key = (operator, *map(id, operands))
        if key not in self._known:
            self._known[key] = operator(*operands)
        return self._known[key]
