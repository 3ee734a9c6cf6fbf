"""Compares a diagnosis with the standing findings: new, worse, better, explained by another finding, or fixed.

Each change is returned once, however often the snapshots repeat it.

- A finding is fixed only if a snapshot with all its sources does not show it. An unread source leaves it unknown, and
  the finding stands.
- A finding that is now reported only as advice is better, not fixed.
- A finding that is now a consequence of another one is explained; it lasts until no snapshot shows it.
- A finding that turned into another one, no milder and of the same partitions, is explained by it, and ends with it.
- A finding that has just changed, and may pass by itself, is neither new nor fixed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity
from kfix.watch.model import UNREACHABLE, Standing, Turn, TurnKind, Watched

#: The engine's mark at the end of a finding's key: it has just changed.
_JUST_NOW = " (just now)"


def compare(before: Watched, diagnosis: Diagnosis) -> tuple[Watched, tuple[Turn, ...]]:
    """Returns the standing findings after a confirmed diagnosis, and the changes, the most severe first."""
    at = diagnosis.taken_at
    known_before = {**before.explained, **before.standing}
    heads = {
        f.key: f
        for f in diagnosis.findings
        if not f.unsettled and (f.worst > Severity.INFO or f.key in known_before)  # Advice by itself is no alarm.
    }
    # A muted finding also hides its consequences, which still exist.
    explained = {
        f.key: head.key
        for head in (*(muted.finding for muted in diagnosis.muted), *diagnosis.findings)
        for f in head.walk()
        if f is not head
    }
    muted = {each.finding.key for each in diagnosis.muted}
    explained = _turned_into(known_before, diagnosis) | explained
    doubtful = {f.key.removesuffix(_JUST_NOW) for f in diagnosis.walk() if f.unsettled}
    doubtful |= _turned_into(known_before, diagnosis, unsettled=True).keys()
    complete = not diagnosis.could_not_read
    standing: dict[str, Standing] = {}
    lasting: dict[str, Standing] = {}
    turns: list[Turn] = []
    if before.lost is not None:
        turns.append(Turn(TurnKind.BACK, UNREACHABLE, at, before.lost, Severity.CRITICAL, Severity.CRITICAL))
    for key, finding in heads.items():
        known = known_before.get(key)
        standing[key] = _now(known, finding, at)
        # A former consequence is new to the reader, unless it is only advice.
        again = key in before.explained and finding.worst > Severity.INFO
        turns += _of_head(None if again else known, standing[key], key, at)
    for key, known in known_before.items():
        if key in heads:
            continue
        if key in explained:
            lasting[key] = replace(known, into=explained[key])
            if key in before.standing:
                turns.append(_over(TurnKind.EXPLAINED, known, key, at, explained[key]))
        elif key in doubtful or key in muted or not complete:
            (standing if key in before.standing else lasting)[key] = known
        else:
            turns.append(_over(TurnKind.FIXED, _by_itself(known, key, diagnosis), key, at))
    return Watched(standing, lasting), tuple(sorted(turns, key=_rank))


def _turned_into(known: Mapping[str, Standing], diagnosis: Diagnosis, *, unsettled: bool = False) -> dict[str, str]:
    """Returns {key: key of the finding that it turned into}, for findings that the diagnosis does not show.

    A fault that another check reports now, of the same partitions and no milder, has not ended.
    """
    shown = {f.key: f for f in diagnosis.walk() if f.unsettled is unsettled}
    begun = [(key, f, set(f.partitions)) for key, f in shown.items() if key not in known and f.partitions]
    turned = {key: each.into for key, each in known.items() if each.into in shown}
    for key, each in known.items():
        for new, f, tps in begun:
            no_milder = unsettled or f.worst >= each.severity
            if f.code != each.finding.code and no_milder and not tps.isdisjoint(each.finding.partitions):
                turned.setdefault(key, new)
    return {key: new for key, new in turned.items() if key not in shown}


def lose(before: Watched, at: float, error: str) -> tuple[Watched, tuple[Turn, ...]]:
    """Returns the standing findings while no source answers: all of them, since nothing was seen to be fixed."""
    if before.lost is not None:
        return before, ()
    turn = Turn(TurnKind.LOST, UNREACHABLE, at, at, Severity.CRITICAL, Severity.CRITICAL, text=error)
    return replace(before, lost=at), (turn,)


def active(watched: Watched) -> Iterator[Turn]:
    """Yields every standing finding as a change, for receivers that forget what is not repeated."""
    if watched.lost is not None:
        at = watched.lost
        yield Turn(TurnKind.LOST, UNREACHABLE, at, at, Severity.CRITICAL, Severity.CRITICAL)
    for key, each in (*watched.standing.items(), *watched.explained.items()):
        yield Turn(TurnKind.NEW, key, each.since, each.since, each.severity, each.worst, each.finding)


def _rank(turn: Turn) -> tuple[bool, int, str]:
    """Orders changes: those that need action come first."""
    return turn.kind.over or turn.kind is TurnKind.EXPLAINED, -turn.severity, turn.key


def _now(known: Standing | None, finding: Finding, at: float) -> Standing:
    if known is None:
        return Standing(finding, at, finding.worst)
    return Standing(finding, known.since, max(known.worst, finding.worst))


def _of_head(known: Standing | None, now: Standing, key: str, at: float) -> Iterator[Turn]:
    if known is None:
        kind = TurnKind.NEW
    elif now.severity != known.severity:
        kind = TurnKind.WORSE if now.severity > known.severity else TurnKind.BETTER
    else:
        return
    yield Turn(kind, key, at, now.since, now.severity, now.worst, now.finding)


def _by_itself(known: Standing, key: str, diagnosis: Diagnosis) -> Standing:
    """Returns the ending finding under its own name: as last seen, `brokers 2, 3` may name others that last."""
    if all(finding.code != known.finding.code for finding in diagnosis.walk()):
        return known
    return replace(known, finding=replace(known.finding, obj=key.partition(":")[2]))


def _over(kind: TurnKind, known: Standing, key: str, at: float, text: str = "") -> Turn:
    return Turn(kind, key, at, known.since, known.severity, known.worst, known.finding, text)
