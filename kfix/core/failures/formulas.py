"""Rules over integers, bitmasks and flags, declared as text, which become a Python function and a SQL statement.

A rule is an expression of the names before it: `and`, `or`, `not`, comparisons, `&`, `~`, `a if condition else b`, and
the functions `first`, `min_isr` and `count` of a name. No value is ever null, so that SQL's logic has two values, as in
Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from kfix.core.derive.predicate import COMPARISONS

_FUNCTIONS: Final = ("first", "min_isr", "count")
#: Replica n of the assignment, and its min.insync.replicas, are the columns `order_n` and `min_isr_n` in SQL.
ORDER, MIN_ISR = "order_{}", "min_isr_{}"


class Formulas:
    """Rules by name. Raises ValueError, which names the rule, for anything that a rule may not contain."""

    def __init__(self, rules: Mapping[str, str], inputs: Mapping[str, type], constants: Mapping[str, int]) -> None:
        self._constants = constants
        self._inputs = inputs
        self._trees: dict[str, ast.expr] = {}
        self._kinds: dict[str, type] = dict(inputs)
        for name, text in rules.items():
            tree = ast.parse(text, mode="eval").body
            self._kinds[name] = self._kind(name, tree)
            self._trees[name] = tree

    def _kind(self, rule: str, node: ast.expr) -> type:  # noqa: C901 - one case a kind
        """Returns int or bool, so that both languages agree on what every part is."""
        found: tuple[Sequence[ast.expr], type, type] | None = None
        match node:
            case ast.BoolOp(values=parts):
                found = (parts, bool, bool)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                found = ([part], bool, bool)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=ast.UnaryOp(op=ast.Invert(), operand=right)):
                found = ([left, right], int, int)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                found = ([left, right], int, int)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                found = ([left, right], int, bool)
            case ast.IfExp(test=test, body=body, orelse=orelse) if self._kind(rule, test) is bool:
                kind = self._kind(rule, body)
                found = ([orelse], kind, kind)
            case ast.Call(func=ast.Name(id=name), args=[ast.Name() as argument], keywords=[]) if name in _FUNCTIONS:
                found = ([argument], int, int)
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                found = ([], int, int)
            case ast.Name(id=name) if name in self._constants or name in self._kinds:
                kind = self._kinds.get(name, int)
                found = ([], kind, kind)
        if found is None:
            raise ValueError(f"{rule}: {ast.unparse(node)!r} is not allowed in a rule, or not declared above it")
        operands, wanted, result = found
        for part in operands:
            if (kind := self._kind(rule, part)) is not wanted:
                raise ValueError(f"{rule}: {ast.unparse(part)!r} is {kind.__name__}, expected {wanted.__name__}")
        return result

    def function(self, names: Sequence[str]) -> Callable[..., tuple[Any, ...]]:
        """Returns a function of (first, min_isr, **inputs) that gives the values of the wanted rules."""
        lines = [f"def judge(first, min_isr, *, {', '.join(self._inputs)}):"]
        lines += [f"    {name} = {ast.unparse(tree)}" for name, tree in self._needed(names)]
        lines += [f"    return ({''.join(f'{name}, ' for name in names)})"]
        scope: dict[str, Any] = {"__builtins__": {}, "count": int.bit_count, **self._constants}
        # Every name and operator in this text has passed `_kind`: nothing of it comes from outside this package.
        exec(compile("\n".join(lines), "<rules of failures>", "exec"), scope)  # noqa: S102
        made: Callable[..., tuple[Any, ...]] = scope["judge"]
        return made

    def select(self, source: str, names: Sequence[str], replicas: int, known: Sequence[str] = ()) -> str:
        """Returns SELECT *, with the wanted rules as more columns, for DuckDB and Spark.

        `source` is a table or a statement in parentheses whose columns are the inputs and the rules in `known`, and
        `order_1` to `order_N` (bits, 0 for no replica) and `min_isr_1` to `min_isr_N` for N = `replicas`, all 64-bit
        integers and flags. Rules that build on each other are columns of nested statements, so that each is written
        once.
        """
        found = source
        for level in self._levels(names, known):
            columns = ", ".join(f"{self._sql(self._trees[name], replicas)} AS {name}" for name in level)
            found = f"(SELECT *, {columns} FROM {found} AS given)"  # noqa: S608
        return found

    def without(self, names: Sequence[str], inputs: Sequence[str]) -> tuple[str, ...]:
        """Returns the rules that the wanted ones need and that use none of these inputs, directly or not."""
        using = {*inputs}
        for name, tree in self._trees.items():
            if using & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
                using.add(name)
        needed = [name for name, _ in self._needed(names)]
        users = [{*self._names[name]} for name in needed if name in using]
        # Only the rules that a rule with one of these inputs names: the others are steps on the way to them.
        return tuple(name for name in needed if name not in using and any(name in user for user in users))

    def _needed(self, names: Sequence[str], known: Sequence[str] = ()) -> Iterator[tuple[str, ast.expr]]:
        needed = {*names}
        for name in reversed(self._trees):
            if name in known:
                needed.discard(name)
            elif name in needed:
                needed |= self._names[name]
        return ((name, tree) for name, tree in self._trees.items() if name in needed)

    @cached_property
    def _names(self) -> Mapping[str, frozenset[str]]:
        return {
            name: frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)) & self._trees.keys()
            for name, tree in self._trees.items()
        }

    def _levels(self, names: Sequence[str], known: Sequence[str]) -> list[list[str]]:
        """Returns the rules in groups: each uses only rules of earlier groups."""
        depth: dict[str, int] = {}
        levels: list[list[str]] = []
        for name, _ in self._needed(names, known):
            depth[name] = 1 + max((depth[other] for other in self._names[name] if other in depth), default=-1)
            levels += [[] for _ in range(depth[name] + 1 - len(levels))]
            levels[depth[name]].append(name)
        return levels

    def _sql(self, node: ast.expr, replicas: int) -> str:
        def sql(part: ast.expr) -> str:
            return self._sql(part, replicas)

        match node:
            case ast.BoolOp(op=op, values=parts):
                found = f"({(' AND ' if isinstance(op, ast.And) else ' OR ').join(map(sql, parts))})"
            case ast.UnaryOp(op=op, operand=part):
                found = f"(NOT {sql(part)})" if isinstance(op, ast.Not) else f"(~ {sql(part)})"
            case ast.BinOp(left=left, right=right):
                found = f"({sql(left)} & {sql(right)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                found = f"({sql(left)} {COMPARISONS[type(op)]} {sql(right)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                found = f"CASE WHEN {sql(test)} THEN {sql(body)} ELSE {sql(orelse)} END"
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=argument)]):
                found = _function(name, argument, replicas)
            case ast.Name(id=name):
                found = self._number(self._constants[name]) if name in self._constants else name
            case ast.Constant(value=int() as value):
                found = self._number(value)
            case _:
                raise AssertionError(f"_kind let {ast.unparse(node)!r} pass")
        return found

    @staticmethod
    def _number(value: int) -> str:
        return f"CAST({value} AS BIGINT)"


def _function(name: str, argument: str, replicas: int) -> str:
    if name == "count":
        return f"CAST(bit_count({argument}) AS BIGINT)"
    order = [ORDER.format(n) for n in range(1, replicas + 1)]
    if name == "first":
        cases = " ".join(f"WHEN ({bit} & {argument}) <> 0 THEN {bit}" for bit in order)
        return f"CASE {cases} ELSE CAST(0 AS BIGINT) END"
    values = [MIN_ISR.format(n) for n in range(1, replicas + 1)]
    cases = " ".join(f"WHEN {bit} = {argument} THEN {value}" for bit, value in zip(order, values, strict=True))
    return f"CASE {cases} ELSE CAST(-1 AS BIGINT) END"
