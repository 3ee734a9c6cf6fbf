"""Puts the code of a changed file into the functions of a process that has imported the file."""

from __future__ import annotations

import functools
import gc
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

Pairs = Sequence[tuple[CodeType, CodeType]]
#: {file: the functions whose code was compiled from it}.
Functions = Mapping[str, Sequence[FunctionType]]


@dataclass(frozen=True)
class Change:
    """What differs between two versions of a Python file.

    `functions` are the qualified names of the functions that differ. `is_outside` is True if something outside
    functions differs, such as a constant, a default or a decorator: then only a new process has the change.
    """

    pairs: Pairs
    functions: tuple[str, ...]
    is_outside: bool


def change(old: str, new: str, file: str) -> Change:
    """Compares two versions of a file. Raises SyntaxError if one of them cannot be compiled."""
    before, after = (_numbered(compile(text, file, "exec", dont_inherit=True)) for text in (old, new))
    pairs = [(code, after[key]) for key, code in before.items() if key in after]
    differ = [a for a, b in pairs if _own(a) != _own(b)]
    functions = tuple(dict.fromkeys(each.co_qualname for each in differ if _is_function(each)))
    # A function that exists cannot capture other names; it gets them with the function that makes it.
    movable = [(a, b) for a, b in pairs if _is_function(a) and a.co_freevars == b.co_freevars]
    return Change(movable, functions, is_outside=not all(map(_is_function, differ)))


def swap(pairs: Pairs, functions: Sequence[FunctionType]) -> int:
    """Gives each function that has the first code of a pair the second one. Returns how many functions have it now."""
    after = dict(pairs)
    found = [each for each in functions if each.__code__ in after]
    for function in found:
        function.__code__ = after[function.__code__]
    return len(found)


def functions_under(root: Path) -> Functions:
    """Returns the functions of this process whose file is in the folder; methods and inner functions are among them."""
    found: dict[str, list[FunctionType]] = {}
    gc.unfreeze()  # what is frozen is not listed
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(f"{root}/"):
            found.setdefault(each.__code__.co_filename, []).append(each)
    return found


def caches_of(packages: Sequence[str]) -> list[functools._lru_cache_wrapper[object]]:
    """Returns the caches that functions of these packages have filled: they hold answers of the code before."""
    found = (each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper))
    return [each for each in found if str(getattr(each, "__module__", "")).partition(".")[0] in packages]


def _numbered(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Returns a code object and all inside it, by name; of several with one name, such as lambdas, the first is 0."""
    seen = Counter[str]()
    found: dict[tuple[str, int], CodeType] = {}
    for each in _codes(code):
        found[each.co_qualname, seen[each.co_qualname]] = each
        seen[each.co_qualname] += 1
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _own(code: CodeType) -> tuple[object, ...]:
    """Returns what a code object does itself, without line numbers and without the code inside it."""
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
