"""The explanation of one consumer group for people, and as JSON (`kfix.group/v1`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console

from kfix.harmless import for_json
from kfix.model.diagnosis.finding import Finding
from kfix.model.diagnosis.group_story import GroupStory
from kfix.report.findings.json_findings import finding_dict
from kfix.report.findings.table import evidence_lines, finding_lines, remedy_lines
from kfix.report.lines import Line, lines_text, print_lines

SCHEMA = "kfix.group/v1"
_STYLES = {True: "bold red", False: "bold green", None: "bold yellow"}


def print_group(story: GroupStory, console: Console) -> None:
    print_lines(group_lines(story), console)


def group_text(story: GroupStory, width: int = 100) -> str:
    return lines_text(group_lines(story), width)


def group_lines(story: GroupStory) -> Iterator[Line]:
    yield Line(story.verdict, style=_STYLES[story.blocked], hang=2)
    yield Line("")
    yield from evidence_lines(story.steps, 0)
    for finding in _causes(story):
        yield Line("")
        yield from finding_lines(finding, evidence=False)
    if story.next_steps:
        yield Line("")
        yield from remedy_lines(story.next_steps, 0)


def group_json(story: GroupStory, *, indent: int | None = 2) -> str:
    document = {
        "schema": SCHEMA,
        "group": story.group,
        "partition": None if story.partition is None else str(story.partition),
        "blocked": story.blocked,
        "verdict": story.verdict,
        "steps": [asdict(step) for step in story.steps],
        "findings": [finding_dict(f) for f in story.findings],
        "next_steps": [asdict(step) for step in story.next_steps],
    }
    return for_json(document, indent=indent)


def _causes(story: GroupStory) -> tuple[Finding, ...]:
    """Returns the findings if the group is blocked; otherwise the next steps name each of them in a line."""
    return story.findings if story.blocked else ()
