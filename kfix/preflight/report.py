"""The verdict for people, and as JSON, `kfix.preflight/v1`."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from kfix.core.declared import Count, Seconds
from kfix.core.diagnosis.finding import CANNOT_TELL, HEALTHY
from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.core.wording import several, some, utc_text
from kfix.diagnose.stopping import Obstacle, ObstacleKind
from kfix.front.lines import Line
from kfix.preflight.model import UNSAFE, Preflight

_STEP: Final = 2
_GROUPS_SHOWN: Final = 12
_VERDICTS: Final = {HEALTHY: "safe", UNSAFE: "unsafe", CANNOT_TELL: "unknown"}
_STYLES: Final = {HEALTHY: "bold green", UNSAFE: "bold red", CANNOT_TELL: "bold yellow"}


class ObstacleJson:
    """A reason against the act."""

    kind: ObstacleKind
    what: Annotated[str, "a sentence"]
    until: Annotated[str, 'what has to happen first; "": waiting does not help']
    next: Annotated[str, 'what to do, or a command to paste; ""']
    partitions: Annotated[tuple[str, ...], "topic-number"]
    groups: Annotated[tuple[str, ...], "consumer groups whose coordinators stop, as far as known"]


class PreflightJson:
    """Whether an act is safe: kfix preflight ... --json"""

    schema: Literal["kfix.preflight/v1"]
    act: Annotated[str, "in the words of the command line"]
    cluster: Annotated[str, "id, or address if the id is unknown"]
    taken_at: Seconds
    exit_code: Annotated[Literal[0, 22, 23], "exit code of the command"]
    verdict: Literal["safe", "unsafe", "unknown"]
    brokers: Annotated[tuple[int, ...], "live brokers"]
    partitions: Count
    obstacles: tuple[ObstacleJson, ...]
    cautions: Annotated[tuple[str, ...], "worth knowing; they do not make it unsafe"]
    unknown: Annotated[tuple[str, ...], "what was not read; each could make it unsafe"]


def preflight_json(found: Preflight) -> str:
    document = written(
        PreflightJson,
        found,
        verdict=_VERDICTS[found.exit_code],
        obstacles=[_obstacle(each) for each in found.assessment.obstacles],
        cautions=found.assessment.cautions,
        unknown=found.assessment.unknown,
    )
    return for_json(document, indent=2)


def _obstacle(one: Obstacle) -> dict[str, object]:
    return written(ObstacleJson, one, partitions=list(map(str, one.partitions)))


def preflight_lines(found: Preflight) -> Iterator[Line]:
    yield verdict_line(found)
    for one in found.assessment.obstacles:
        yield Line(one.what, _STEP, hang=_STEP)
        if one.groups:
            yield Line(f"groups: {some(one.groups, _GROUPS_SHOWN)}", 2 * _STEP, hang=_STEP)
        if one.until:
            yield Line(f"until: {one.until}", 2 * _STEP, hang=_STEP)
        if one.next:
            yield Line(f"next: {one.next}", 2 * _STEP, verbatim=True)
        if not one.until and not one.next:
            yield Line("waiting does not help", 2 * _STEP)
    yield from (Line(f"unknown: {text}", _STEP, style="bold yellow", hang=_STEP) for text in found.assessment.unknown)
    yield from (Line(f"caution: {text}", _STEP, hang=_STEP) for text in found.assessment.cautions)
    brokers = several(len(found.brokers), "live broker")
    yield Line(f"judged {several(found.partitions, 'partition')} on {brokers}", style="dim", hang=_STEP)


def verdict_line(found: Preflight) -> Line:
    """Returns the first line: the verdict, the act, the cluster and the time of the snapshot."""
    code = found.exit_code
    where = f"{found.cluster} ({utc_text(found.taken_at)})"
    return Line(f"{_VERDICTS[code]}: {found.act} on {where}", style=_STYLES[code], hang=_STEP)
