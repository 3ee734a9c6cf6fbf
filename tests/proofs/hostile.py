"""Mutations of texts and of JSON: what a careless editor, a broken disk or a forger makes of a file."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

#: All examples of all kinds together; `make fuzz` sets 100 000.
CASES = int(os.environ.get("KFIX_FUZZ", "240"))
SECONDS_AN_EXAMPLE = 20.0

_WORDS = ["", "0", "-1", "1e400", "null", "true", "${", "}", "${finding.partitions}", "\x00", "\ud7ff", "é", "&a", "*a"]
_WORDS += [
    "!!python/object",
    "|",
    ">-",
    "- ",
    ": ",
    "{",
    "[",
    "]",
    "\n",
    "\t",
    "#",
    "99999999999999999999",
    ".inf",
    "~",
    "[/b]",
    "[bold]",
]
_BYTES = bytes(range(256))
_VALUES: list[Any] = [None, True, False, 0, -1, 1, 2, 10**30, 0.0, 1e300, -0.5, "", "x", "orders-0", "(absent)", "auto"]
_VALUES += [[], {}, [[]], [None], {"": {}}, "\u0000", "typed", "plan", "stop", "2", "true", "leader.elect_unclean"]


def mutated_text(text: str, random: Random) -> str:
    for _ in range(random.choice((1, 1, 1, 2, 4, 9))):
        text = random.choice(_TEXTS)(text, random)
    return text


def mutated_bytes(data: bytes, random: Random) -> bytes:
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(data) + 1)
        to = min(len(data), at + random.choice((0, 1, 1, 7, 60)))
        data = data[:at] + bytes(random.choices(_BYTES, k=random.choice((0, 1, 1, 4)))) + data[to:]
    return data


def _replace_token(text: str, random: Random) -> str:
    tokens = text.split(" ")
    tokens[random.randrange(len(tokens))] = random.choice([*_WORDS, random.choice(tokens)])
    return " ".join(tokens)


def _drop_line(text: str, random: Random) -> str:
    lines = text.split("\n")
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


def _copy_line(text: str, random: Random) -> str:
    lines = text.split("\n")
    lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
    return "\n".join(lines)


def _indent(text: str, random: Random) -> str:
    lines = text.split("\n")
    at = random.randrange(len(lines))
    lines[at] = random.choice((" " + lines[at], "  " + lines[at], lines[at][1:], lines[at].lstrip(), "\t" + lines[at]))
    return "\n".join(lines)


def _insert(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(_WORDS) * random.choice((1, 1, 2, 3000)) + text[at:]


def _cut(text: str, random: Random) -> str:
    return text[: random.randrange(len(text) + 1)]


_TEXTS: list[Callable[[str, Random], str]] = [
    _replace_token,
    _replace_token,
    _replace_token,
    _drop_line,
    _copy_line,
    _indent,
    _insert,
    _cut,
]


def mutated_json(data: Any, random: Random) -> Any:
    """A copy in which one to three things are otherwise."""
    found = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(found))
        holder, key = random.choice(places) if places else (None, None)
        if holder is None:
            return random.choice(_VALUES)
        _mutate_at(holder, key, places, random)
    return found


def _mutate_at(holder: Any, key: Any, places: list[tuple[Any, Any]], random: Random) -> None:
    match random.randrange(7):
        case 0:
            del holder[key]
        case 1 | 2:
            holder[key] = copy.deepcopy(random.choice(_VALUES))
        case 3:
            other, at = random.choice(places)
            if at in other if isinstance(other, dict) else at < len(other):
                holder[key] = copy.deepcopy(other[at])
        case 4 if isinstance(holder[key], str):
            holder[key] = mutated_text(holder[key], random)
        case 4 | 5 if isinstance(holder[key], int | float):
            holder[key] = random.choice((holder[key] + 1, -holder[key], holder[key] * 1000, str(holder[key])))
        case 5 if isinstance(holder, list):
            holder.insert(random.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        case 6 if isinstance(holder, list):
            random.shuffle(holder)
        case _:
            holder[key] = [holder[key]]


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from _places(data[key])


@contextmanager
def in_time() -> Iterator[None]:
    """Nothing hangs. Time of this process alone, so that a busy machine fails no test."""
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS_AN_EXAMPLE
