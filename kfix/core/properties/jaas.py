"""Parses `sasl.jaas.config`: one login module and its options, as Kafka's `JaasConfig` does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | (?P<quoted>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
    | (?P<word>(?:[^\s"'=;/]|/(?![/*]))+)
    | (?P<sign>[=;])""",
    re.VERBOSE | re.DOTALL,
)
_FLAGS = {"required", "requisite", "sufficient", "optional"}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class JaasError(Exception):
    """What is wrong with a login configuration. The message repeats nothing of it but keys."""


@dataclass(frozen=True, slots=True)
class Jaas:
    """A login module, its class name without the package, and its options, which may be secrets."""

    module: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def parse_jaas(text: str) -> Jaas:
    """Raises JaasError."""
    tokens = _tokens(text)
    if not tokens:
        return Jaas()
    if len(tokens) < 2 or tokens[1][1].lower() not in _FLAGS:
        raise JaasError("expected a login module and the word required")
    if tokens[-1] != ("sign", ";"):
        raise JaasError("the semicolon at the end is missing")
    module = tokens[0][1].rpartition(".")[2]
    body = tokens[2:-1]
    options: dict[str, str] = {}
    for at in range(0, len(body), 3):
        part = body[at : at + 3]
        kinds = [kind for kind, _ in part]
        if len(part) < 3 or kinds[1] != "sign" or part[1][1] != "=" or "sign" in {kinds[0], kinds[2]}:
            raise JaasError(f'expected KEY="VALUE" after {_after(options)}')
        options[part[0][1]] = part[2][1]
    return Jaas(module, options)


def _after(options: Mapping[str, str]) -> str:
    return f"the option {list(options)[-1]}" if options else "the login module"


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise JaasError("a quotation mark is not closed" if text[at] in "\"'" else "it cannot be parsed")
        at = match.end()
        kind = match.lastgroup
        if kind == "quoted":
            found.append(("word", re.sub(r"\\(.)", lambda m: _ESCAPED.get(m[1], m[1]), match[0][1:-1])))
        elif kind is not None:
            found.append((kind, match[0]))
    return found
