"""`config.providers`: values such as `${file:/etc/kfix/secrets.properties:password}`, resolved as Kafka resolves them.

Kafka has three providers (`FileConfigProvider`, `DirectoryConfigProvider`, `EnvVarConfigProvider`). A reference to a
provider that the file does not define stays plain text, as in Kafka, and a note names it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kfix.core.documents.opening import read_file
from kfix.core.errors import InvalidFileError, UsageError
from kfix.core.properties.parsing import NONE, SHOWN_KEY, Property, parse_properties

PREFIX = "config.providers"
_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_FILE, _DIRECTORY, _ENVIRONMENT = (f"{_PACKAGE}{kind}ConfigProvider" for kind in ("File", "Directory", "EnvVar"))
_KNOWN = (_FILE, _DIRECTORY, _ENVIRONMENT)
_LARGEST = 1 << 20
#: Python's regular expressions backtrack: a repeated group takes exponential time.
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_REPEAT = re.compile(r"[*+{]")
_MOST_REPEATS = 3


class _MissingError(Exception):
    """The reason why a reference has no value."""


def resolved(
    values: Mapping[str, Property], path: Path, environ: Mapping[str, str] | None = None
) -> tuple[dict[str, Property], tuple[str, ...]]:
    """Returns the properties with their references resolved, and notes of references to undefined providers.

    Raises InvalidFileError, which names the reference and never a value.
    """
    problems: list[str] = []
    notes: list[str] = []
    kinds = _providers(values, path, problems)
    found: dict[str, Property] = {}
    for key, given in values.items():
        where = f"{path}:{given.line}:{given.column}: {key if SHOWN_KEY.fullmatch(key) else 'a value'}"

        def one(match: re.Match[str], where: str = where) -> str:
            name, place, wanted = match.groups(default="")
            if name not in kinds:
                notes.append(f"{where} refers to the config provider {name!r}, which config.providers does not define")
                return match[0]
            try:
                return _text(
                    _value(kinds[name], name, place, wanted, values, os.environ if environ is None else environ)
                )
            except _MissingError as reason:
                problems.append(f"{where}: {reason}")
                return ""

        value = given.value if key.startswith(PREFIX) else _REFERENCE.sub(one, given.value)
        found[key] = replace(given, value=value, hidden=value != given.value)
    if problems:
        raise InvalidFileError(tuple(problems))
    return found, tuple(notes)


def _providers(values: Mapping[str, Property], path: Path, problems: list[str]) -> dict[str, str]:
    """Returns {name: class} of the providers that the file defines."""
    defined = values.get(PREFIX, NONE)
    kinds = {}
    for name in filter(None, map(str.strip, defined.value.split(","))):
        named = values.get(f"{PREFIX}.{name}.class")
        at = named or defined
        if named is None:
            problems.append(f"{path}:{at.line}:{at.column}: the config provider {name} has no {PREFIX}.{name}.class")
        elif named.value not in _KNOWN:
            problems.append(
                f"{path}:{at.line}:{at.column}: the config provider {named.value} is not supported, use one of "
                f"{', '.join(_KNOWN)}"
            )
        else:
            kinds[name] = named.value
    return kinds


def _value(
    kind: str, name: str, place: str, wanted: str, values: Mapping[str, Property], environ: Mapping[str, str]
) -> str:
    if kind == _ENVIRONMENT:
        allowed = values.get(f"{PREFIX}.{name}.param.allowlist.pattern", NONE).value
        if allowed and not _allows(allowed, wanted):
            raise _MissingError(f"the environment variable {wanted} is not in the provider's allowlist.pattern")
        if wanted not in environ:
            raise _MissingError(f"the environment variable {wanted} is not set")
        return environ[wanted]
    file = Path(place) if kind == _FILE else Path(place) / wanted
    allowed_paths = values.get(f"{PREFIX}.{name}.param.allowed.paths", NONE).value
    if allowed_paths and not any(_below(file, Path(each)) for each in _parts(allowed_paths)):
        raise _MissingError(f"{file} is outside of the provider's allowed.paths")
    if kind == _DIRECTORY and ("/" in wanted or wanted in {"", ".", ".."}):
        raise _MissingError(f"{wanted!r} is not the name of a file in {place}")
    raw = _content(file)
    if kind == _DIRECTORY:
        return raw.decode("utf-8", "replace").strip()
    try:
        inside = parse_properties(raw.decode("latin-1"), file)
    except InvalidFileError as error:
        raise _MissingError(error.problems[0]) from None
    if wanted not in inside:
        raise _MissingError(f"{file} has no key {wanted}")
    return inside[wanted].value


def _allows(pattern: str, name: str) -> bool:
    """Raises _MissingError for an invalid pattern, or one that could run forever."""
    most = max(len(_REPEAT.findall(each)) for each in pattern.split("|"))
    if most > _MOST_REPEATS or _REPEATED_GROUP.search(pattern):
        raise _MissingError("allowlist.pattern repeats a group or much else, and could take for ever: simplify it")
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error as error:
        raise _MissingError(f"allowlist.pattern is not a regular expression: {error}") from None


def _text(value: str) -> str:
    if "\0" in value or (not value.isascii() and value.encode(errors="replace").decode() != value):
        raise _MissingError("its value is not text")
    return value


def _content(file: Path) -> bytes:
    try:
        return read_file(file, _LARGEST)
    except OSError as error:
        raise _MissingError(f"{file}: cannot be read: {(error.strerror or '').lower()}") from None
    except UsageError as error:
        raise _MissingError(str(error)) from None


def _below(file: Path, folder: Path) -> bool:
    try:
        return file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # A loop of symbolic links.
        return False


def _parts(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, text.split(",")))
