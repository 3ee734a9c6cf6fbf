"""The conditions of checks as Spark SQL: the same declaration that a live diagnosis evaluates in Python.

All conditions together have some forty different terms, such as `n_isr < min_isr`. A row's terms are one bigint, a bit
for each, and a condition is a test of that bigint: so each term is evaluated once a row, and Java compiles the
statement. Written out, with every condition as it stands, the method is too long for its compiler and ten times as
slow.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from kfix.core.derive.predicate import COMPARISONS, Predicate
from kfix.core.expected import EXPECTED_TYPES

#: The most terms of one bigint: it has 64 bits, one of them the sign.
MOST: Final = 63


class Terms:
    """The terms of some conditions, numbered: bit i of a row is set where term i holds.

    Raises ValueError for more terms than a bigint has bits.
    """

    def __init__(self, conditions: Sequence[Predicate]) -> None:
        self.conditions = tuple(conditions)
        self._terms: dict[str, ast.expr] = {}
        for each in conditions:
            self._add(each.tree)
        if len(self._terms) > MOST:
            raise ValueError(f"{len(self._terms)} terms, at most {MOST} fit into a bigint")
        self._bits = {text: 1 << i for i, text in enumerate(self._terms)}

    @property
    def columns(self) -> list[str]:
        """Returns the columns of `partitions` that the conditions use, sorted."""
        names = frozenset[str]().union(*(c.names for c in self.conditions))
        return sorted(names - EXPECTED_TYPES.keys())

    @property
    def bits(self) -> str:
        """Returns SQL for the bits of a row. A term whose column is null does not hold."""
        return " | ".join(f"IF({_sql(tree)}, {self._bits[text]}L, 0L)" for text, tree in self._terms.items()) or "0L"

    def meets(self, bits: str) -> str:
        """Returns SQL that is true for rows that meet at least one condition; `bits` is the column with their bits."""
        return " OR ".join(self._test(c.tree, bits) for c in self.conditions) or "false"

    def met(self, bits: int) -> tuple[Predicate, ...]:
        """Returns the conditions that a row with these bits meets."""
        return tuple(c for c in self.conditions if self._holds(c.tree, bits))

    def _add(self, tree: ast.expr) -> None:
        match tree:
            case ast.BoolOp(values=parts):
                for part in parts:
                    self._add(part)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                self._add(part)
            case _:
                self._terms.setdefault(ast.unparse(tree), tree)

    def _test(self, tree: ast.expr, bits: str) -> str:
        """Terms that are joined by `and`, negated or not, are one comparison."""
        match tree:
            case ast.BoolOp(op=ast.And(), values=parts):
                plain = [known for part in parts if (known := self._literal(part)) is not None]
                seen, wanted = sum({bit for bit, _ in plain}), sum({bit for bit, holds in plain if holds})
                tests = [f"({bits} & {seen}L) = {wanted}L"] if plain else []
                tests += [self._test(part, bits) for part in parts if self._literal(part) is None]
                return f"({' AND '.join(tests)})"
            case ast.BoolOp(values=parts):
                return f"({' OR '.join(self._test(part, bits) for part in parts)})"
            case _ if (known := self._literal(tree)) is not None:
                bit, holds = known
                return f"({bits} & {bit}L) {'<>' if holds else '='} 0L"
            case ast.UnaryOp(operand=part):
                return f"(NOT {self._test(part, bits)})"
            case _:
                raise AssertionError(f"the catalogue let {ast.unparse(tree)!r} pass")

    def _literal(self, tree: ast.expr) -> tuple[int, bool] | None:
        """Returns (bit, holds) of a term or a negated term."""
        match tree:
            case ast.UnaryOp(op=ast.Not(), operand=term):
                holds = False
            case term:
                holds = True
        bit = self._bits.get(ast.unparse(term))
        return None if bit is None else (bit, holds)

    def _holds(self, tree: ast.expr, bits: int) -> bool:
        match tree:
            case ast.BoolOp(op=op, values=parts):
                every = all if isinstance(op, ast.And) else any
                return every(self._holds(part, bits) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return not self._holds(part, bits)
            case _:
                return bool(bits & self._bits[ast.unparse(tree)])


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
            return f"({_sql(left)} {COMPARISONS[type(op)]} {_sql(right)})"
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
