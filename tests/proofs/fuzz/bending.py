"""Mutations of JSON and of bytes beyond what a careless editor does: depth, huge numbers, broken encodings, bombs."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from random import Random
from typing import Any

from tests.proofs.hostile import _places, mutated_bytes, mutated_json

#: Stand in for what Python's own JSON writer cannot write; replaced in the text.
_MARK = "\u241fkfix-fuzz-{}\u241f"
_LEVELS = 100_000
_RAW: dict[str, Callable[[], str]] = {
    "lists": lambda: "[" * _LEVELS + "]" * _LEVELS,
    "objects": lambda: '{"a":' * _LEVELS + "1" + "}" * _LEVELS,
    "unclosed": lambda: "[" * _LEVELS,
    "digits": lambda: "9" * 5000,
    "negative digits": lambda: "-" + "9" * 5000,
    "nan": lambda: "NaN",
    "infinity": lambda: "-Infinity",
    "1e400": lambda: "1e400",
    "surrogate": lambda: r'"\ud800"',
    "twice": lambda: '{"leader": 1, "leader": [2], "id": 1, "id": {}}',
    "long": lambda: json.dumps("x" * 200_000),
    "control": lambda: json.dumps("\x00\x1b[2J\u202e"),
}
_RARE = frozenset({"lists", "objects", "unclosed", "long"})
_ODD: list[Any] = [10**30, -(10**30), 2**31, 2**63, -(2**63) - 1, 1e308, -0.0, 1.5, "²", "9" * 30, "-1", " 1 "]
_ODD += [{"rack": {}}, [[[]]], [None, None], {}, [], "", None, True, False, "\x00", "x" * 300]


def _odd(random: Random) -> Any:
    if random.random() < 0.5:
        return copy.deepcopy(random.choice(_ODD))
    name = random.choice(list(_RAW))
    if name in _RARE and random.random() < 0.9:  # these cost a hundred times as much as the others
        name = "digits"
    return _MARK.format(name)


def _raw(text: str) -> str:
    for name, make in _RAW.items():
        mark = json.dumps(_MARK.format(name))
        if mark in text:
            text = text.replace(mark, make())
    return text


def bent_data(data: Any, random: Random) -> Any:
    """A copy in which one to three values are of a wrong type, of a wrong size, missing, or in another's place."""
    if random.random() < 0.4:
        return mutated_json(data, random)
    found = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(found))
        if not places:
            return _odd(random)
        holder, key = random.choice(places)
        match random.randrange(10):
            case 0 if isinstance(holder, dict):
                holder[random.choice((*holder, "surplus", "", "²", "-1", "9" * 30))] = holder.pop(key)
            case 1:
                other, at = random.choice(places)
                there = at in other if isinstance(other, dict) else at < len(other)
                if there and key in holder if isinstance(holder, dict) else key < len(holder):
                    holder[key] = copy.deepcopy(other[at]) if there else None
            case 2:
                del holder[key]
            case _:
                holder[key] = _odd(random)
    return found


def as_text(data: Any) -> str:
    """JSON, with the marks of `bent_data` replaced by what they stand for."""
    return _raw(json.dumps(data))


def bent_json(data: Any, random: Random) -> bytes:
    raw = as_text(bent_data(data, random)).encode("utf-8", "surrogatepass")
    return bent_bytes(raw, random) if random.random() < 0.05 else raw


def bent_bytes(raw: bytes, random: Random) -> bytes:
    match random.randrange(4):
        case 0:
            return raw[: random.randrange(len(raw) + 1)]
        case 1 if raw:
            data = bytearray(raw)
            for _ in range(random.choice((1, 1, 4, 20))):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            return bytes(data)
        case _:
            return mutated_bytes(raw, random)


def packed(raw: bytes, random: Random) -> bytes:
    """gzip, mostly whole; sometimes a bomb of a gigabyte for every megabyte."""
    if random.random() < 0.003:
        return _bomb()
    whole = gzip.compress(raw, 1)
    return whole if random.random() < 0.6 else bent_bytes(whole, random)


_BOMBS: list[bytes] = []


def _bomb() -> bytes:
    if not _BOMBS:
        block = gzip.compress(b"[" * (1 << 26), 9)  # 64 MiB; members of a gzip file follow one another
        _BOMBS.append(block * 16)
    return _BOMBS[0]
