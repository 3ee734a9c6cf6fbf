"""What a maintenance window withholds from the receivers of notifications, and what is sent when it has ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.application import App
from kfix.core.diagnosis.finding import Diagnosis, Severity
from kfix.core.errors import UnreachableError
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.rounds import JudgeOptions
from kfix.watch.loop import WatchOptions
from kfix.watch.model import Standing, Turn, TurnKind, Watched, WatchState
from kfix.watch.notifying import WithheldTurns
from kfix.watch.setup import WatchRequest, watch
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.build import NOW
from tests.unit.watch.test_watching import ACCESS, Clock, Story, healthy, stuck

KEY = "KFX102:orders-3"
BEFORE = [(0.0, f"new {KEY}", ""), (45.0, f"fixed {KEY}", "")]


@pytest.mark.parametrize(
    ("ends", "lost", "after"),
    [
        (75, False, []),  # It began and ended in the window.
        (135, False, [(105.0, f"new {KEY}", ""), (135.0, f"fixed {KEY}", "")]),
        (135, True, [(105.0, "lost unreachable", "refused")]),
    ],
)
def test_a_maintenance_window_raises_no_alert_and_what_outlasts_it_is_sent_once(
    ends: int, lost: bool, after: list[tuple[float, str, str]]
) -> None:
    def story(at: float) -> Snapshot | Exception:
        """A fault before the window of 30 to 105 s, and one within it, or a cluster that is lost within it."""
        if at >= 60 and lost:
            return UnreachableError("refused")
        return stuck() if at < 45 or 60 <= at < ends else healthy()

    withheld = WithheldTurns()
    sent: list[tuple[float, str, str]] = []

    def output(state: WatchState) -> None:
        sent.extend((state.at - NOW, f"{turn.kind.value} {turn.key}", turn.text) for turn in withheld.due(state))

    def passing(diagnosis: Diagnosis) -> Diagnosis:
        return replace(diagnosis, maintenance="restarts" if 30 <= diagnosis.taken_at - NOW < 105 else "")

    clock = Clock()
    options = WatchOptions(JudgeOptions(), most=11)
    watch(App(Story(clock, story), clock, {}), ACCESS, WatchRequest(options), [output], passing)
    assert sent == [*BEFORE, *after]


def test_what_worsens_in_a_maintenance_window_is_worse_after_it_and_what_recovers_in_it_is_not() -> None:
    withheld = WithheldTurns()
    [sick, *_] = diagnose(stuck()).findings

    def sent(severity: Severity, kind: TurnKind | None = None, *, maintenance: str = "") -> list[str]:
        finding = replace(sick, severity=severity, folded=())
        turns = () if kind is None else (Turn(kind, KEY, NOW, NOW, severity, severity, finding),)
        watched = Watched({KEY: Standing(finding, NOW, severity)})
        state = WatchState("c", NOW, 15.0, confirmed=True, turns=turns, watched=watched, maintenance=maintenance)
        return [f"{each.kind.value} {each.severity.word}" for each in withheld.due(state)]

    assert sent(Severity.WARNING, TurnKind.NEW) == ["new warning"]
    assert sent(Severity.CRITICAL, TurnKind.WORSE, maintenance="restarts") == []
    assert withheld.was_sent(KEY)  # Alertmanager still has it repeated.
    assert sent(Severity.CRITICAL) == ["worse critical"]
    assert sent(Severity.CRITICAL) == []
    assert sent(Severity.WARNING, TurnKind.BETTER, maintenance="restarts") == ["better warning"]
    assert sent(Severity.CRITICAL, TurnKind.WORSE, maintenance="restarts") == []
    assert sent(Severity.WARNING, TurnKind.BETTER, maintenance="restarts") == []
    assert sent(Severity.WARNING) == []
