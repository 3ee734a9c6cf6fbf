"""The options of an incident, checked before anything is changed."""

from collections.abc import Mapping
from typing import Any

from kfix.core.errors import UsageError
from kfix.lab.incidents.setup.incident import Incident

#: How much data an incident may write, for reassignments that take measurable time.
MEGABYTES = range(1, 20)


def checked(incident: Incident, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options under the incident's names (`shorter-first` is `shorter_first`), with defaults of choices."""
    options: dict[str, Any] = {name: choices[0] for name, choices in incident.choices.items()}
    for word, raw in given.items():
        name = word.replace("-", "_")
        if name not in incident.options:
            known = ", ".join(incident.options) or "none"
            raise UsageError(f"{incident.name} has no option {word!r}", hint=f"its options: {known}")
        options[name] = ("no", "yes")[raw] if isinstance(raw, bool) else raw
        if name in incident.choices and options[name] not in incident.choices[name]:
            raise UsageError(f"option {word}={raw}: no such choice", hint=" or ".join(incident.choices[name]))
        if name in incident.ranges:
            options[name] = _number(word, raw, incident.ranges[name])
    return options


def _number(word: str, raw: Any, allowed: range) -> int:
    try:
        number = int(raw)
    except (TypeError, ValueError):
        raise UsageError(f"option {word}={raw!r} is not a number") from None
    if number not in allowed:
        raise UsageError(f"option {word}={number} is out of bounds", hint=f"{allowed[0]} to {allowed[-1]}")
    return number
