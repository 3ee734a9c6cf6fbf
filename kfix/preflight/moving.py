"""A reassignment that kfix, another tool or a person made: whether Kafka takes it, and what it would end with."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kfix.core.derive.casefile import CaseFile
from kfix.core.diagnosis.forecast import Fate, PartitionForecast
from kfix.core.documents.opening import read_file
from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import are, has
from kfix.diagnose.stopping import UNTIL_LED, Assessment, Obstacle, ObstacleKind, named
from kfix.heal.placement.judge import PlacementProblem, PlacementSeverity, judge
from kfix.heal.placement.reassignment_json import parse
from kfix.heal.runbook.placements import world_of
from kfix.preflight.acts import needed_of, not_read, today
from kfix.preflight.model import Act

_Moves = Mapping[TopicPartition, tuple[int, ...]]


def reassign(path: Path) -> Act:
    """The moves of a file in the JSON of kafka-reassign-partitions.

    Raises UsageError for a file that cannot be read, InvalidFileError for one that is not valid.
    """
    try:
        moves = parse(read_file(path), str(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot read the moves: {error.strerror}") from error
    if not moves:
        raise UsageError(f"{path}: it contains no move")
    return Act(f"reassign {path}", lambda case: _assess(case, moves))


def _assess(case: CaseFile, moves: Iterable[tuple[TopicPartition, tuple[int, ...]]]) -> Assessment:
    given = list(moves)
    problems = judge(given, world_of(case.snapshot, None))
    wanted = dict(given)
    found = today(case)
    known = {tp: found[tp] for tp in wanted if tp in found}
    obstacles = [*_refused(problems), *_hang(case, known), *_too_few(case, wanted, known)]
    cautions = (_text(each) for each in problems if each.severity is PlacementSeverity.WARNING)
    return Assessment(tuple(obstacles), tuple(cautions), tuple(not_read(case, known.values())))


def _refused(problems: Iterable[PlacementProblem]) -> Iterator[Obstacle]:
    for each in problems:
        if each.severity is PlacementSeverity.ERROR:
            yield Obstacle(ObstacleKind.MOVES, _text(each), partitions=() if each.tp is None else (each.tp,))


def _text(problem: PlacementProblem) -> str:
    return problem.text if problem.tp is None else f"{problem.tp}: {problem.text}"


def _hang(case: CaseFile, known: Mapping[TopicPartition, PartitionForecast]) -> Iterator[Obstacle]:
    """New replicas copy from the leader; a second move of a partition replaces the first."""
    leaderless = tuple(tp for tp, each in known.items() if each.fate is Fate.STOPPED)
    if leaderless:
        what = f"{named(leaderless)} {has(len(leaderless))} no leader to copy from: the move would not end"
        yield Obstacle(ObstacleKind.LEADERLESS, what, UNTIL_LED, partitions=leaderless)
    moving = tuple(tp for tp in known if tp in case.being_moved)
    if moving:
        what = f"{named(moving)} {are(len(moving))} being moved already: these moves would replace that"
        yield Obstacle(ObstacleKind.MOVES, what, "the moves under way are complete", partitions=moving)


def _too_few(case: CaseFile, wanted: _Moves, known: Mapping[TopicPartition, PartitionForecast]) -> Iterator[Obstacle]:
    found = tuple(
        tp
        for tp, each in known.items()
        if each.min_isr is not None
        and 0 < len(set(wanted[tp])) < len(each.replicas)
        and len(set(wanted[tp])) < needed_of(case, each.min_isr, each, len(set(wanted[tp])))
    )
    if found:
        what = f"{named(found)} would have fewer replicas than min.insync.replicas: producers with acks=all would stop"
        yield Obstacle(ObstacleKind.MIN_ISR, what, partitions=found)
