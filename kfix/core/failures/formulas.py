"""Rules over integers, bitmasks and flags, declared as text, which become a Python function and a SQL statement.

A rule is an expression (`kfix.core.derive.predicate`) of the names before it, with `&` and `~` on masks and the
functions `first`, `min_isr` and `count` of a name.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kfix.core.derive.predicate import COMPARISONS, SHARED, Operators, compiled, evaluated, names_in, operator_of

#: Replica n of the assignment, and its min.insync.replicas, are the columns `order_n` and `min_isr_n` in SQL.
ORDER, MIN_ISR = "order_{}", "min_isr_{}"


def _either(test: type, body: type, orelse: type) -> type:
    operator_of(bool, bool)(test)
    return operator_of(body, body)(orelse)


_TYPES: Final[Operators[type]] = {
    **SHARED,
    **dict.fromkeys((ast.BitAnd, ast.Invert, "first", "min_isr", "count"), operator_of(int, int)),
    ast.IfExp: _either,
}
_SQL: Final[Operators[str]] = {
    ast.And: lambda *parts: f"({' AND '.join(parts)})",
    ast.Or: lambda *parts: f"({' OR '.join(parts)})",
    ast.Not: "(NOT {})".format,
    ast.Invert: "(~ {})".format,
    ast.BitAnd: "({} & {})".format,
    ast.IfExp: "CASE WHEN {} THEN {} ELSE {} END".format,
    "count": "CAST(bit_count({}) AS BIGINT)".format,
    **{kind: f"({{}} {sign} {{}})".format for kind, sign in COMPARISONS.items()},
}


class Formulas:
    """Rules by name. Raises ValueError, which names the rule, for anything that a rule may not contain."""

    def __init__(self, rules: Mapping[str, str], inputs: Mapping[str, type], constants: Mapping[str, int]) -> None:
        self._constants = constants
        self._inputs = inputs
        self._trees: dict[str, ast.expr] = {}
        #: {rule: the rules that it names}
        self._uses: dict[str, frozenset[str]] = {}
        kinds: dict[str, type] = {**dict.fromkeys(constants, int), **inputs}

        def kind_of(name: str | int) -> type:
            if isinstance(name, int):
                return int
            if name not in kinds:
                raise ValueError(f"{name!r} is not declared above it")
            return kinds[name]

        for rule, text in rules.items():
            tree = ast.parse(text, mode="eval").body
            try:
                kinds[rule] = evaluated(tree, _TYPES, kind_of)
            except ValueError as error:
                raise ValueError(f"{rule}: {error}") from None
            self._uses[rule] = names_in(tree) & self._trees.keys()
            self._trees[rule] = tree

    def function(self, names: Sequence[str]) -> Callable[..., tuple[Any, ...]]:
        """Returns a function of (first, min_isr, **inputs) that gives the values of the wanted rules."""
        lines = [f"def judge(first, min_isr, *, {', '.join(self._inputs)}):"]
        lines += [f"    {name} = {ast.unparse(self._trees[name])}" for name in self._needed(names)]
        lines += [f"    return ({''.join(f'{name}, ' for name in names)})"]
        made: Callable[..., tuple[Any, ...]] = compiled("judge", lines, {"count": int.bit_count, **self._constants})
        return made

    def select(self, source: str, names: Sequence[str], replicas: int, known: Sequence[str] = ()) -> str:
        """Returns SELECT *, with the wanted rules as more columns, for DuckDB and Spark.

        `source` is a table or a statement in parentheses whose columns are the inputs and the rules in `known`, and
        `order_1` to `order_N` (bits, 0 for no replica) and `min_isr_1` to `min_isr_N` for N = `replicas`, all 64-bit
        integers and flags. Rules that build on each other are columns of nested statements, so that each is written
        once.
        """
        places = range(1, replicas + 1)
        operators: Operators[str] = {
            **_SQL,
            "first": _cases([f"({ORDER.format(n)} & {{0}}) <> 0 THEN {ORDER.format(n)}" for n in places], 0),
            "min_isr": _cases([f"{ORDER.format(n)} = {{0}} THEN {MIN_ISR.format(n)}" for n in places], -1),
        }
        found = source
        for level in self._levels(names, known):
            rules = ((name, evaluated(self._trees[name], operators, self._operand)) for name in level)
            columns = ", ".join(f"{sql} AS {name}" for name, sql in rules)
            found = f"(SELECT *, {columns} FROM {found} AS given)"  # noqa: S608
        return found

    def _operand(self, name: str | int) -> str:
        number = self._constants.get(name) if isinstance(name, str) else name
        return str(name) if number is None else _number(number)

    def without(self, names: Sequence[str], inputs: Sequence[str]) -> tuple[str, ...]:
        """Returns the rules that the wanted ones need and that use none of these inputs, directly or not."""
        using = {*inputs}
        for name, tree in self._trees.items():
            if using & names_in(tree):
                using.add(name)
        needed = self._needed(names)
        # Only the rules that a rule with one of these inputs names: the others are steps on the way to them.
        named = frozenset[str]().union(*(self._uses[name] for name in needed if name in using))
        return tuple(name for name in needed if name in named - using)

    def _needed(self, names: Sequence[str], known: Sequence[str] = ()) -> list[str]:
        needed = {*names}
        for name in reversed(self._trees):
            if name in known:
                needed.discard(name)
            elif name in needed:
                needed |= self._uses[name]
        return [name for name in self._trees if name in needed]

    def _levels(self, names: Sequence[str], known: Sequence[str]) -> list[list[str]]:
        """Returns the rules in groups: each uses only rules of earlier groups."""
        depth: dict[str, int] = {}
        for name in self._needed(names, known):
            depth[name] = 1 + max((depth[other] for other in self._uses[name] if other in depth), default=-1)
        return [[name for name in depth if depth[name] == level] for level in sorted({*depth.values()})]


def _cases(cases: Sequence[str], otherwise: int) -> Callable[[str], str]:
    """Returns a function of SQL: the first of the cases that holds, {0} being its argument."""
    return f"CASE {' '.join(f'WHEN {case}' for case in cases)} ELSE {_number(otherwise)} END".format


def _number(value: int) -> str:
    return f"CAST({value} AS BIGINT)"
