"""Prints a document for a machine if a command fails."""

from kfix.core.errors import KfixError
from kfix.front.failing import OutputDocument
from kfix.front.failure import NAGIOS_UNKNOWN, Machine, failure_json, failure_line
from kfix.front.terminal import nothing_printed, say, say_document


def answered(document: OutputDocument, sentence: str, code: int, hint: str = "") -> int:
    """Writes the error for a machine, unless the command has written its document; returns the exit code.

    The error replaces the document in its file: a file left unchanged would pass for today's result.
    """
    if document.machine is not Machine.NONE:
        if document.output is not None and not document.done:
            _replace(document.output, _failure(document, sentence, code, hint))
        elif document.output is None and nothing_printed():
            text = _failure(document, sentence, code, hint)
            say(text) if document.machine is Machine.NAGIOS else say_document(text)
    return NAGIOS_UNKNOWN if document.machine is Machine.NAGIOS else code


def _replace(path: str, text: str) -> None:
    from kfix.front.writing import write_output  # noqa: PLC0415 - only after an error

    try:
        write_output(text, path)
    except KfixError as error:
        say(f"kfix: {error}", err=True)


def _failure(document: OutputDocument, sentence: str, code: int, hint: str) -> str:
    # Loaded late: this module is part of every start.
    if document.machine is Machine.SARIF:
        from kfix.diagnose.report.sarif import failure_sarif  # noqa: PLC0415

        return failure_sarif(sentence, code, hint)
    if document.machine is Machine.JUNIT:
        from kfix.diagnose.report.junit import failure_junit  # noqa: PLC0415

        return failure_junit(sentence, hint)
    if document.machine is Machine.PROMETHEUS:
        from kfix.diagnose.report.metrics import failure_metrics  # noqa: PLC0415

        return failure_metrics(document.cluster)
    if document.machine is Machine.NAGIOS:
        return failure_line(sentence, hint)
    return failure_json(sentence, code, hint)
