"""The result of a canary: for people, and as JSON, `kfix.canary/v1`."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal

from kfix.canary.model import NO_LEADER, CanaryResult, Met
from kfix.core.declared import Count, Seconds
from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.core.wording import several, utc_text
from kfix.front.lines import Line

_STEP: Final = 2
_STYLES: Final = {HEALTHY: "bold green", WARNINGS: "bold yellow", CRITICAL: "bold red", CANNOT_TELL: "bold yellow"}


class TriedJson:
    """A leader or a coordinator, and what the rounds met there."""

    broker: Annotated[int | None, "null: the partition has no leader"]
    partition: Annotated[str, "topic-number"]
    tries: Count
    failures: Count
    seconds: Annotated[
        float | None,
        "median of the tries that worked: from the producer to the consumer, or until a member had joined; null: none",
    ]
    slowest: Annotated[float | None, "the longest of them"]
    error: Annotated[str, 'of the last failure, "" if there was none']


class CanaryJson:
    """What a client of its own met: kfix canary --json"""

    schema: Literal["kfix.canary/v1"]
    cluster: Annotated[str, "id"]
    taken_at: Seconds
    exit_code: Annotated[Literal[0, 20, 21, 22], "exit code of the command"]
    topic: Annotated[str, "the topic of the records"]
    made_topic: Annotated[bool, "true: created for this run, and deleted unless left_behind has it"]
    rounds: Count
    leaders: tuple[TriedJson, ...]
    coordinators: Annotated[tuple[TriedJson, ...], "by partition of __consumer_offsets"]
    untested: Annotated[tuple[str, ...], "what was asked, or is usual, and was not tried"]
    left_behind: Annotated[tuple[str, ...], "what could not be removed"]


def canary_json(result: CanaryResult) -> str:
    document = written(
        CanaryJson,
        result,
        leaders=[_tried(each) for each in result.leaders],
        coordinators=[_tried(each) for each in result.coordinators],
    )
    return for_json(document, indent=2)


def _tried(one: Met) -> dict[str, object]:
    broker = None if one.broker == NO_LEADER else one.broker
    return written(TriedJson, one, broker=broker, partition=str(one.partition))


def canary_lines(result: CanaryResult, diagnose: str) -> Iterator[Line]:
    """Returns the verdict and one line per leader and coordinator; `diagnose` is the command that finds the cause."""
    style = _STYLES[result.exit_code]
    where = f"{result.cluster} ({utc_text(result.taken_at)})"
    if result.failed:
        for one in result.failed:
            who = "records to" if one in result.leaders else "groups of"
            yield Line(
                f"what: {who} {one.partition} ({_led(one)}): {one.error}{_of_tries(one)}", style=style, hang=_STEP
            )
        yield Line(f"next: {diagnose}", verbatim=True)
    elif result.exit_code == CANNOT_TELL:
        yield Line(
            f"unknown: {result.untested[0] if result.untested else 'nothing was tried'}", style=style, hang=_STEP
        )
    served = f"{_number(result.leaders, 'leader')} and {_number(result.coordinators, 'coordinator')}"
    yield Line(f"{where}: {served} served a client", style="" if result.failed else style, hang=_STEP)
    for one in result.leaders:
        if one.seconds is not None:
            yield Line(f"{one.partition} ({_led(one)}): {_times(one)} from producer to consumer", _STEP, hang=_STEP)
    for one in result.coordinators:
        if one.seconds is not None:
            yield Line(
                f"{one.partition} ({_led(one)}): joined in {_times(one)}, committed, read back", _STEP, hang=_STEP
            )
    yield from (Line(f"not tried: {text}", hang=_STEP, style="dim") for text in result.untested)
    yield from (Line(f"left behind: {text}", hang=_STEP, style="bold yellow") for text in result.left_behind)
    if not result.made_topic and result.leaders:
        sent = sum(each.tries for each in result.leaders)
        yield Line(
            f"{several(sent, 'record')} of {result.topic} stay until the topic's retention", hang=_STEP, style="dim"
        )


def _number(rows: Iterable[Met], noun: str) -> str:
    every = list(rows)
    worked = sum(not each.failures for each in every)
    return several(worked, noun) if worked == len(every) else f"{worked} of {several(len(every), noun)}"


def _led(one: Met) -> str:
    return "no leader" if one.broker == NO_LEADER else f"broker {one.broker}"


def _of_tries(one: Met) -> str:
    return "" if one.tries == 1 else f"; {one.failures} of {one.tries} failed"


def _times(one: Met) -> str:
    if one.seconds is None or one.slowest is None:
        return ""
    return _time(one.seconds) if one.tries == 1 else f"{_time(one.seconds)} (slowest {_time(one.slowest)})"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
