"""Text that a person gives on a command line."""

from kfix.core.errors import UsageError


def utf8(option: str, text: str) -> str:
    """Returns the text. Raises UsageError for bytes that are not UTF-8: they would fail only when they are written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{option} {text!a} is not UTF-8 text") from None
    return text


def a_reason(text: str) -> str:
    """Returns the reason without surrounding spaces. Raises UsageError if it is empty."""
    reason = utf8("--reason", text).strip()
    if not reason:
        raise UsageError("--reason needs a reason")
    return reason
