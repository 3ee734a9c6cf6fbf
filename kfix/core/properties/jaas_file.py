"""A JAAS file, as Java reads it if `java.security.auth.login.config` names it: sections of login modules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kfix.core.documents.opening import read_file
from kfix.core.errors import UsageError
from kfix.core.properties.reading import PropertiesReading

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
