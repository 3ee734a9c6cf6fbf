"""A check's condition as text over the declared facts, such as `leaderless and n_live_isr > 0`.

The text is parsed once, when the catalogue loads, and every name and operator is checked against a short list. The same
tree becomes one Python loop over all checks (0.1 s for 100 000 rows) and the sieve over the columns of a stored
cluster. The text is also a condition in SQL: every allowed expression means the same there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kfix.core.criteria import EXPECTED, EXPECTED_TYPES, Expected, values_of
from kfix.core.derive.partition_facts import FACT_TYPES, PartitionFacts
from kfix.core.errors import InvalidFileError

#: The comparisons that a condition may use, and the same in SQL.
COMPARISONS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "=",
    ast.NotEq: "<>",
}
_ARITHMETIC: Final = (ast.Add, ast.Sub)

#: The names that a condition may use.
NAMES: Mapping[str, type] = {**FACT_TYPES, **EXPECTED_TYPES}


class Matcher(Protocol):
    def __call__(
        self, rows: Iterable[PartitionFacts], expected: Expected = EXPECTED, /
    ) -> tuple[list[PartitionFacts], ...]: ...


@dataclass(frozen=True, slots=True)
class Predicate:
    text: str
    tree: ast.expr = field(repr=False, compare=False)
    names: frozenset[str] = field(repr=False, compare=False)


def parse(text: str, where: str, facts: Mapping[str, type] = NAMES) -> Predicate:
    """Returns the condition. Raises InvalidFileError with all mistakes at once; `where` is `file:line` of the text."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InvalidFileError((f"{where}: not a condition: {text!r} ({error.msg})",)) from error
    problems: list[str] = []
    kind = _kind(tree, facts, problems)
    if not problems and kind is not bool:
        problems.append(f"a condition must be true or false, {text!r} is a number")
    if problems:
        raise InvalidFileError(tuple(f"{where}: {p}" for p in problems))
    return Predicate(text, tree, frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)))


def loosened(predicate: Predicate, names: frozenset[str]) -> Predicate:
    """Returns a condition without these names that holds whenever `predicate` holds; the same one if it has none."""
    if not predicate.names & names:
        return predicate
    tree = _loose(predicate.tree, names, holds=True)
    used = frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name))
    return Predicate(ast.unparse(tree), tree, used)


def _loose(node: ast.expr, names: frozenset[str], *, holds: bool) -> ast.expr:
    """Returns the tree with `holds` in place of each part that compares one of the names."""
    match node:
        case ast.BoolOp(op=op, values=parts):
            return ast.BoolOp(op, [_loose(part, names, holds=holds) for part in parts])
        case ast.UnaryOp(op=ast.Not() as op, operand=part):
            return ast.UnaryOp(op, _loose(part, names, holds=not holds))
        case _:
            unknown = any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))
            return ast.Constant(holds) if unknown else node


def _kind(node: ast.expr, facts: Mapping[str, type], problems: list[str]) -> type:
    """Returns the type of an expression, bool or int; mistakes are collected in `problems`."""
    kind: type = bool
    match node:
        case ast.BoolOp(values=parts):
            _all(parts, bool, facts, problems)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            _all([part], bool, facts, problems)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            before = len(problems)
            kinds = {_kind(part, facts, problems) for part in (left, right)}
            if len(kinds) > 1 and len(problems) == before:
                problems.append(f"{ast.unparse(node)!r} compares different types")
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
            _all([left, right], int, facts, problems)
            kind = int
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            kind = int
        case ast.Constant(value=bool() | int() as value):
            kind = type(value)
        case ast.Name(id=name):
            kind = _fact(name, facts, problems)
        case _:
            problems.append(
                f"{ast.unparse(node)!r} is not allowed in a condition; allowed are and, or, not, comparisons, + and -"
            )
    return kind


def _all(parts: Sequence[ast.expr], expected: type, facts: Mapping[str, type], problems: list[str]) -> None:
    for part in parts:
        before = len(problems)
        kind = _kind(part, facts, problems)
        if kind is not expected and len(problems) == before:
            problems.append(f"{ast.unparse(part)!r} is {kind.__name__}, but {expected.__name__} is required")


def _fact(name: str, facts: Mapping[str, type], problems: list[str]) -> type:
    kind = facts.get(name)
    if kind is not None and kind is not str:
        return kind
    import difflib  # noqa: PLC0415 - only a mistake needs it

    close = difflib.get_close_matches(name, facts, n=1)
    problems.append(f"unknown fact {name!r}" + (f", did you mean {close[0]!r}?" if close and kind is None else ""))
    return bool


def compile_all(predicates: Sequence[Predicate]) -> Matcher:
    """Returns one loop for all checks: it unpacks each row once, into the names that some check uses.

    The expected values are bound once, before the loop.
    """
    used = frozenset[str]().union(*(p.names for p in predicates))
    unpacked = ", ".join(name if name in used else "_" for name in PartitionFacts._fields)
    hits = [f"_hit{i}" for i in range(len(predicates))]
    lines = ["def match(_rows, _expected=_default):"]
    lines += [f"    {name} = _values(_expected)['{name}']" for name in EXPECTED_TYPES if name in used]
    lines += [f"    {hit} = []" for hit in hits]
    lines += ["    for _row in _rows:", f"        {unpacked} = _row"]
    for hit, predicate in zip(hits, predicates, strict=True):
        lines += [f"        if {ast.unparse(predicate.tree)}:", f"            {hit}.append(_row)"]
    lines += [f"    return ({''.join(f'{hit}, ' for hit in hits)})"]
    scope: dict[str, Any] = {"__builtins__": {}, "_default": EXPECTED, "_values": values_of}
    # Every name and operator in this text has passed `parse`: nothing of it comes from outside the catalogue.
    exec(compile("\n".join(lines), "<partition checks>", "exec"), scope)  # noqa: S102
    match: Matcher = scope["match"]
    return match


# The conditions of a partition that more than one place asks about, as texts of `predicate`.
#
# Checks, the table `topics` of the fleet store and the history that is counted from it are made of the same text, so
# that they cannot judge one partition in two ways.

#: It has no leader, or one that is known to be dead.
LEADERLESS: Final = "leaderless and not deleting"
_LED: Final = "leader >= 0 and not leaderless and zk_agrees and not deleting"
#: acks=all fails at its leader.
UNDER_MIN_ISR: Final = f"n_isr < min_isr and {_LED}"
#: Its ISR lacks a replica, and not one that a reassignment is adding.
UNDER_REPLICATED: Final = f"n_isr < target_rf and {_LED}"
