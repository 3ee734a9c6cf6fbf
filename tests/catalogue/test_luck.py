"""Rules over the tests: none passes or fails by the speed of the machine."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.places import ROOT

CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}
#: What starts a process or waits for one, and is given a time-out.
WAITING = {"check_call", "check_output", "communicate", "run", "spawn", "wait"}
#: The loop that waits, whose deadline is no assertion about the product.
WAITER = ROOT / "tests" / "waiting.py"

CLOCK = r"\btime\.[mpt]|from time import|\.now\("
#: What computes a time of other times.
ARITHMETIC = {"abs", "float", "int", "max", "min", "round"}


def reads_clock(node: ast.AST, names: set[str]) -> bool:
    """Whether the value of an expression is a time of the machine's clock, or is computed of one."""
    match node:
        case ast.Name():
            return node.id in names
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr=attr)):
            return attr in CLOCKS
        case ast.Call(func=ast.Name(id=function), args=args):
            return function in CLOCKS or (function in ARITHMETIC and any(reads_clock(each, names) for each in args))
        case ast.BinOp(op=ast.Sub(), left=ast.Call(func=ast.Attribute(value=owner, attr="now"))):
            return ast.unparse(owner).endswith("datetime")
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.IfExp() | ast.NamedExpr():
            return any(reads_clock(each, names) for each in ast.iter_child_nodes(node))
    return False


def given_time(function: ast.AST) -> set[str]:
    """Names that are assigned a time."""
    pairs: list[tuple[ast.expr, ast.expr | None]] = []
    for each in ast.walk(function):
        if isinstance(each, ast.NamedExpr | ast.AnnAssign):
            pairs.append((each.target, each.value))
        elif isinstance(each, ast.Assign):
            for target in each.targets:
                if isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple):
                    pairs += zip(target.elts, each.value.elts, strict=False)
                else:
                    pairs.append((target, each.value))
    names: set[str] = set()
    while new := {t.id for t, v in pairs if isinstance(t, ast.Name) and v and reads_clock(v, names)} - names:
        names |= new
    return names


def asserted_times(tree: ast.Module) -> Iterator[int]:
    """Lines of assertions that compare a time of the machine's clock."""
    for scope in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)):
        names = given_time(scope)
        for each in (n for n in ast.walk(scope) if isinstance(n, ast.Assert)):
            if any(isinstance(n, ast.Compare) and reads_clock(n, names) for n in ast.walk(each.test)):
                yield each.lineno


def returned_times(tree: ast.Module) -> Iterator[int]:
    """Lines that return how long something took: another function could compare it."""
    for scope in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)):
        names = given_time(scope)
        for each in (n for n in ast.walk(scope) if isinstance(n, ast.Return | ast.Yield) and n.value):
            parts = each.value.elts if isinstance(each.value, ast.Tuple) else [each.value]
            spans = (part for part in parts if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub))
            if any(reads_clock(span, names) for span in spans):
                yield each.lineno


def own_time_outs(tree: ast.Module) -> Iterator[int]:
    """Lines that give a process a time-out in numbers."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in WAITING:
            owner = each.func.value
            given = [k.value for k in each.keywords if k.arg == "timeout"] + each.args * (each.func.attr == "wait")
            # Those of `Kfix.run` go through `seconds` inside, and less than a second is a pause.
            ours = ast.unparse(owner).endswith("kfix")
            numbers = [v.value for v in given if isinstance(v, ast.Constant) and isinstance(v.value, int | float)]
            if not ours and any(number >= 1 for number in numbers):
                yield each.lineno


def found(rule, words: str) -> list[str]:
    files = [p for p in sorted((ROOT / "tests").rglob("*.py")) if p != WAITER]
    trees = {p: ast.parse(text) for p in files if re.search(words, text := p.read_text())}
    return [f"{p.relative_to(ROOT)}:{line}" for p, tree in trees.items() for line in sorted({*rule(tree)})]


def test_no_assertion_compares_a_time_of_the_machine():
    """Compare what kfix reports, a count or time of the processor, or wait with `tests.waiting.wait_until`."""
    assert found(asserted_times, CLOCK) == []
    assert [line for line in found(returned_times, CLOCK) if "/test_" in line] == []


def test_every_time_out_of_a_process_is_multiplied_by_the_patience_of_the_run():
    """`tests.waiting.seconds(60)` instead of 60."""
    assert found(own_time_outs, r"timeout=\d|\.wait\(\d") == []


@pytest.mark.parametrize(
    "body",
    [
        "assert time.monotonic() - began < 5",
        "began = time.perf_counter(); took = time.perf_counter() - began; assert took < 5",
        "while True:\n        ends = time.time() + 5\n        assert 1 < ends, 'late'",
        "began = monotonic(); assert monotonic() - began < 5",
        "began = datetime.now(UTC); assert datetime.now(UTC) - began < SOON",
    ],
)
def test_the_rule_finds_an_assertion_over_time(body):
    tree = ast.parse(f"def test():\n    {body}\n")
    assert len(list(asserted_times(tree))) == 1


def test_the_rule_finds_a_function_that_returns_how_long_it_took():
    """The lines of a helper and of a function in a test; the moment itself is no duration."""
    text = "def took():\n    began = time.time()\n    return time.time() - began\ndef test():\n    def ask():\n"
    text += "        return 1, time.monotonic() - began\n    def now():\n        return time.time()\n"
    assert {*returned_times(ast.parse(text))} == {3, 6}


def test_the_rule_finds_a_time_out_in_numbers():
    tree = ast.parse(
        "subprocess.run(command, timeout=60)\nprocess.wait(5)\nsubprocess.run(command, timeout=seconds(5))"
    )
    assert list(own_time_outs(tree)) == [1, 2]
