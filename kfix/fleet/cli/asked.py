"""`kfix audit query --ask`: what it prints."""

import sys
from collections.abc import Iterable
from typing import Final

from kfix.core.harmless import squeezed
from kfix.core.wording import several
from kfix.fleet.questions.asking import FleetAnswer
from kfix.fleet.questions.catalogue import questions
from kfix.fleet.report.rows import answer_json, print_rows, rows_csv
from kfix.front.console import console_on
from kfix.front.terminal import say, say_document

#: The question that lists all questions.
LIST: Final = "list"


def list_questions(*, json_output: bool, csv: bool) -> None:
    names, rows = ("name", "question"), [(each.name, each.text) for each in questions().values()]
    if json_output:
        say_document(answer_json("", names, rows))
    elif csv:
        say_document(rows_csv(names, rows))
    else:
        print_rows(names, rows, console_on(sys.stdout), len(rows))


def print_answer(answer: FleetAnswer, *, json_output: bool, csv: bool, limit: int) -> None:
    """Prints an answer. What was not read goes to standard error beside CSV, whose columns are those of the answer."""
    names = answer.question.columns
    rows = list(zip(*(column.to_pylist() for column in answer.rows.columns), strict=True))
    if json_output:
        say_document(answer_json(answer.question.text, names, rows, answer.not_read, answer.question.unknown))
        return
    if csv:
        say_document(rows_csv(names, rows))
    else:
        say(answer.question.text)
        print_rows(names, rows, console_on(sys.stdout), limit)
    for line in notes(answer, limit):
        say(line, err=csv)


def notes(answer: FleetAnswer, limit: int) -> Iterable[str]:
    """Yields what the answer lacks, at most `limit` lines of what was not read."""
    if answer.question.unknown:
        yield f"still unknown: {answer.question.unknown}"
    for each in answer.not_read[:limit]:
        yield f"not read: {squeezed(each.words)}"
    if (more := len(answer.not_read) - limit) > 0:
        yield f"not read: {several(more, 'more line')} (--limit, --json)"
