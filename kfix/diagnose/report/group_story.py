"""The steps by which one consumer group reaches its coordinator, for people and as JSON (`kfix.group/v1`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

if TYPE_CHECKING:
    from rich.console import Console

    from kfix.front.plain import PlainConsole

from kfix.core.diagnosis.finding import Finding, GroupStory, Remedy, Rung, RungState
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.diagnose.report.json_findings import FindingJson, finding_dict
from kfix.diagnose.report.table import evidence_lines, finding_lines, remedy_lines
from kfix.front.lines import Line, lines_text, print_lines

_STYLES = {True: "bold red", False: "bold green", None: "bold yellow"}
_RUNG_STYLES = {RungState.FAILS: "bold red", RungState.OPEN: "yellow", RungState.UNREAD: "yellow"}
#: Widths of the columns.
_NAME, _STATE = 18, 13


def print_group(story: GroupStory, console: Console | PlainConsole) -> None:
    print_lines(group_lines(story), console)


def group_text(story: GroupStory, width: int = 100) -> str:
    return lines_text(group_lines(story), width)


def group_lines(story: GroupStory) -> Iterator[Line]:
    yield Line(story.verdict, style=_STYLES[story.blocked], hang=2)
    yield Line("")
    cause = story.cause
    reason = ""
    for rung in story.rungs:
        again = rung.state is RungState.UNREAD and rung.said == reason
        reason = rung.said
        yield from _rung_lines(replace(rung, said="for the same reason") if again else rung, is_cause=rung is cause)
    if cause is not None and cause.evidence:
        yield Line("")
        yield from evidence_lines(cause.evidence, 0)
    for finding in _causes(story):
        yield Line("")
        yield from finding_lines(finding, evidence=False)
    if story.next_steps:
        yield Line("")
        yield from remedy_lines(story.next_steps, 0)


def _rung_lines(rung: Rung, *, is_cause: bool) -> Iterator[Line]:
    word = "THE CAUSE" if is_cause else "fails, too" if rung.state is RungState.FAILS else rung.state.value
    said = f"{rung.code}, see below" if rung.code else rung.said
    hang = _NAME + _STATE + 2
    yield Line(f"{rung.name:<{_NAME}} {word:<{_STATE}} {said}", 2, _RUNG_STYLES.get(rung.state, ""), hang)
    if rung.code:  # The finding below has its remedies.
        return
    for step in rung.next_steps:
        if step.command:
            yield Line(step.command, hang + 2, "green", verbatim=True)


class GroupJson:
    """One consumer group: kfix diagnose --group GROUP --format json"""

    schema: Literal["kfix.group/v1"]
    group: str
    partition: Annotated[str | None, "of __consumer_offsets, topic-number; null: unknown"]
    blocked: Annotated[bool | None, "null: unknown"]
    verdict: str
    rungs: Annotated[tuple[Rung, ...], "the first that fails is the cause"]
    findings: tuple[FindingJson, ...]
    next_steps: tuple[Remedy, ...]


def group_json(story: GroupStory, *, indent: int | None = 2) -> str:
    partition = None if story.partition is None else str(story.partition)
    findings = [finding_dict(f) for f in story.findings]
    return for_json(written(GroupJson, story, partition=partition, findings=findings), indent=indent)


def _causes(story: GroupStory) -> tuple[Finding, ...]:
    """Returns the finding of the first step that fails, then the others'."""
    order = [rung.code for rung in story.rungs if rung.code]
    return tuple(sorted((f for f in story.findings if f.code in order), key=lambda f: order.index(f.code)))
