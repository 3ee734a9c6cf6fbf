"""Expressions over named numbers and flags, as text: conditions of checks, and the rules of `kfix.core.failures`.

An expression has `and`, `or`, `not`, comparisons of numbers, `+`, `-`, `&`, `~`, `a if condition else b`, and functions
of a name. `evaluated` is the one walk over its tree: a table of operators makes types of it, SQL, or the columns of a
stored cluster. In Python the tree is its own text. No value is ever null, so that SQL's logic has two values, too.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from kfix.core.criteria import EXPECTED, EXPECTED_TYPES, Expected, values_of
from kfix.core.derive.partition_facts import FACT_TYPES, PartitionFacts
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import InvalidFileError

V = TypeVar("V")
#: {class of an operator's node, or name of a function: what it makes of its operands}
Operators = Mapping[type[ast.AST] | str, Callable[..., V]]


def evaluated(tree: ast.expr, operators: Operators[V], value: Callable[[str | int], V]) -> V:
    """Returns what the operators make of a tree; `value` returns the operand of a name or a number.

    Raises ValueError for anything that is not an expression of these operators.
    """
    operator: type[ast.AST] | str = type(tree)
    operands: list[ast.expr] = []
    match tree:
        case ast.Name(id=name):
            return value(name)
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return value(number)
        case ast.BoolOp(op=op, values=parts):
            operator, operands = type(op), parts
        case ast.UnaryOp(op=op, operand=part):
            operator, operands = type(op), [part]
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            operator, operands = type(op), [left, right]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            operands = [test, body, orelse]
        case ast.Call(func=ast.Name(id=name), args=[ast.Name() as argument], keywords=[]):
            operator, operands = name, [argument]
    if operator not in operators:
        raise ValueError(f"{ast.unparse(tree)!r} is not allowed")
    return operators[operator](*[evaluated(each, operators, value) for each in operands])


def names_in(tree: ast.expr) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def operator_of(operands: type, result: type) -> Callable[..., type]:
    """Returns what an operator makes of the types of its operands, which must be the same."""

    def checked(*kinds: type) -> type:
        if wrong := [kind for kind in kinds if kind is not operands]:
            raise ValueError(f"{wrong[0].__name__} where {operands.__name__} is required")
        return result

    return checked


#: The comparisons of numbers, and the same in SQL.
COMPARISONS: Final[Mapping[type[ast.AST], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "=",
    ast.NotEq: "<>",
}
#: The types of the operators that conditions and rules share.
SHARED: Final[Operators[type]] = {
    **dict.fromkeys((ast.And, ast.Or, ast.Not), operator_of(bool, bool)),
    **dict.fromkeys(COMPARISONS, operator_of(int, bool)),
}
_OF_CONDITIONS: Final[Operators[type]] = {
    **SHARED,
    **dict.fromkeys((ast.Add, ast.Sub, ast.USub), operator_of(int, int)),
}
#: The names that a condition may use.
NAMES: Final[Mapping[str, type]] = {**FACT_TYPES, **EXPECTED_TYPES}


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
    """Returns the condition, which is also one of SQL. Raises InvalidFileError; `where` is `file:line` of the text."""

    def kind_of(name: str | int) -> type:
        if isinstance(name, int):
            return int
        if facts.get(name, str) is str:
            raise ValueError(f"unknown fact {name!r}{did_you_mean(name, facts.keys() - {name})}")
        return facts[name]

    try:
        tree = ast.parse(text, mode="eval").body
        operator_of(bool, bool)(evaluated(tree, _OF_CONDITIONS, kind_of))
    except (SyntaxError, ValueError) as error:
        raise InvalidFileError((f"{where}: not a condition: {text!r}: {error}",)) from error
    return Predicate(text, tree, names_in(tree))


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
    match: Matcher = compiled("match", lines, {"_default": EXPECTED, "_values": values_of})
    return match


def compiled(name: str, lines: Sequence[str], scope: Mapping[str, Any]) -> Any:
    """Returns the function of this name in lines of Python made of expressions, which see only `scope`."""
    known: dict[str, Any] = {"__builtins__": {}, **scope}
    # Every name and operator of an expression has passed `evaluated`: nothing of it comes from outside kfix.
    exec(compile("\n".join(lines), f"<{name}>", "exec"), known)  # noqa: S102
    return known[name]


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
