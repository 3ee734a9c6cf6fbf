"""The code of a changed file is put into functions that are imported already, and nothing else is."""

import gc
import importlib.util
import sys

import pytest

from tests.mutants.swap import caches_of, change, functions_under, swap

SOURCE = """
import functools

LIMIT = 3

class Box:
    def is_full(self, n):
        return n >= LIMIT

    @staticmethod
    def twice(n):
        return [2 * each for each in range(n)]

def outer(n):
    def inner(m):
        return n + m
    return inner

add_one = outer(1)

def least(n=1):
    return n

@functools.cache
def kept(n):
    return n * 10
"""


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "example_of_swap.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("example_of_swap", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["example_of_swap"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["example_of_swap"]


def put(module, old, new):
    assert SOURCE.count(old) == 1
    found = change(SOURCE, SOURCE.replace(old, new), module.__file__)
    functions = functions_under(__import__("pathlib").Path(module.__file__).parent)
    swap(found.pairs, functions[module.__file__])
    return found


def test_a_method_has_the_fault_in_objects_that_exist_already(example):
    box = example.Box()
    found = put(example, "n >= LIMIT", "n > LIMIT")
    assert not box.is_full(3)
    assert found.functions == ("Box.is_full",)
    assert not found.is_outside


def test_a_function_that_the_garbage_collector_has_put_aside_has_the_fault(example):
    gc.freeze()
    put(example, "n + m", "n - m")
    assert example.add_one(5) == -4


def test_a_fault_in_a_comprehension_is_named_by_it(example):
    found = put(example, "2 * each", "3 * each")
    assert example.Box.twice(3) == [0, 3, 6]
    assert found.functions == ("Box.twice.<locals>.<listcomp>",)


def test_an_inner_function_that_was_made_before_has_the_fault(example):
    put(example, "n + m", "n - m")
    assert example.add_one(5) == -4
    assert example.outer(2)(5) == -3


def test_more_lines_above_a_function_do_not_hide_it(example):
    put(example, "        return n >= LIMIT", "        if n == 7:\n            return False\n        return n >= LIMIT")
    assert not example.Box().is_full(7)
    assert example.add_one(5) == 6


@pytest.mark.parametrize(("old", "new"), [("LIMIT = 3", "LIMIT = 4"), ("n=1", "n=2"), ("@functools.cache\n", "")])
def test_what_is_outside_functions_needs_a_new_process(example, old, new):
    assert change(SOURCE, SOURCE.replace(old, new), example.__file__).is_outside


def test_a_function_that_captures_other_names_gets_them_where_it_is_made(example):
    found = put(example, "return n + m", "return m")
    assert not found.is_outside
    assert example.outer(2)(5) == 5


def test_the_answers_that_a_function_keeps_are_found(example):
    assert example.kept(2) == 20
    put(example, "n * 10", "n * 100")
    for cache in caches_of(["example_of_swap"]):
        cache.cache_clear()
    assert example.kept(2) == 200
