"""Times that a person gives as an option."""

from datetime import UTC, datetime

from kfix.core.errors import UsageError


def moment(option: str, text: str | None) -> float | None:
    """Returns seconds since the epoch; a time without a zone is UTC. Raises UsageError if the text is not a time."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option}: {text!r} is not a time", hint="use 2026-11-21T10:00 or 2026-11-21T11:00+01:00"
        ) from None
