"""Parses `sasl.jaas.config`: one login module and its options, as Kafka's `JaasConfig` does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kfix.core.documents.opening import read_file
from kfix.core.errors import UsageError
from kfix.core.properties.parsing import PropertiesReading

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


# A JAAS file, as Java reads it if `java.security.auth.login.config` names it: sections of login modules.

#: The name of Java's system property.
JAAS_FILE: Final = "java.security.auth.login.config"
#: The section of Kafka's clients.
KAFKA_SECTION: Final = "KafkaClient"
_LARGEST: Final = 1 << 20
_COMMENT: Final = r"/\*.*?\*/|//[^\n]*"
#: Sections, and comments between them; braces in comments and quotes do not count.
_SECTIONS: Final = re.compile(
    rf"""(?>{_COMMENT})|"?(?P<name>[\w.$-]+)"?\s*\{{
    (?P<inside>(?>{_COMMENT}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^}}"'])*+)\}}""",
    re.VERBOSE | re.DOTALL,
)


def section_of(reading: PropertiesReading, name: str, *keys: str, needed: bool = True) -> str | None:
    """Returns the login modules of a section; None if the file cannot be read, which adds a mistake, or lacks the
    section.

    A missing section adds a mistake at these keys if it is `needed`.
    """
    path = Path(reading.get(JAAS_FILE))
    try:
        sections = _sections(path)
    except OSError as error:
        problem = f"{path}: cannot be read: {(error.strerror or '').lower()}"
    except UsageError as error:
        problem = str(error)
    else:
        if name not in sections and needed:
            reading.problem(f"{path} has no section {name} {{ ... }};", *keys, JAAS_FILE)
        return sections.get(name)
    # A request for another section of the same file finds the same mistake.
    if not any(problem in known for known in reading.problems):
        reading.problem(problem, JAAS_FILE)
    return None


def has_section(reading: PropertiesReading, name: str) -> bool:
    try:
        return name in _sections(Path(reading.get(JAAS_FILE)))
    except (OSError, UsageError):
        return False


def _sections(path: Path) -> dict[str, str]:
    """Returns the first section of each name. Raises OSError or UsageError."""
    text = read_file(path, _LARGEST).decode("utf-8", "replace")
    found = [(each["name"], each["inside"].strip()) for each in _SECTIONS.finditer(text) if each["name"]]
    return dict(reversed(found))
