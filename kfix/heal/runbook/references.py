"""Resolves references such as `${finding.group}`. Alone they keep the value's type, inside text they become text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kfix.core.args import ArgValue
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.heal.model.runbook import RawValue

REF = re.compile(r"\$\{([a-z_][a-z_0-9.]*)\}")
Value = ArgValue | tuple[TopicPartition, ...] | tuple[str, ...] | TopicPartition


class UnknownReference(Exception):  # noqa: N818 - the planner turns it into a refusal that names the place
    """The name in `args[0]` is not known while planning."""


def names_in(value: object) -> Iterator[str]:
    """Yields every reference in a value, at any depth."""
    if isinstance(value, str):
        yield from REF.findall(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from names_in(item)


def resolve(value: RawValue, known: Mapping[str, Value]) -> Value | RawValue:
    if not isinstance(value, str):
        return value
    whole = REF.fullmatch(value)
    if whole is not None:
        return _lookup(whole[1], known)
    return REF.sub(lambda match: str(_lookup(match[1], known)), value)


def _lookup(name: str, known: Mapping[str, Value]) -> Value:
    if name not in known:
        raise UnknownReference(name)
    return known[name]
