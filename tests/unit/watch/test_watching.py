"""A watch on a cluster on paper: what it shows, sends and records, round by round, without waiting."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions, OpenCluster, SnapshotOptions
from kfix.core.diagnosis.finding import Diagnosis, Finding, MutedFinding, Severity
from kfix.core.errors import OwnLimitError, UnreachableError, UsageError
from kfix.core.recorder.reading import Recording
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import DiagnosisTimes
from kfix.diagnose.report.verdict import exit_code
from kfix.diagnose.rounds import JudgeOptions, RoundJudge
from kfix.watch.loop import WatchOptions, is_healthy, unchanged
from kfix.watch.model import WatchState
from kfix.watch.notify.delivery import ReceiverQueue
from kfix.watch.notify.settings import Receiver
from kfix.watch.notifying import Notifying, notices_of
from kfix.watch.report.words import verdict_line
from kfix.watch.setup import WatchRequest, replay, watch
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.build import NOW, Paper

ACCESS = Access("localhost:9092")


class Clock:
    def __init__(self, set_at: float = 0.0, step: float = 0.0) -> None:
        self.at = 0.0
        self.set_at, self.step = set_at, step

    def now(self) -> float:
        """The wall clock, which somebody sets by `step` at the second `set_at` of the story."""
        return NOW + self.at + (self.step if self.at >= self.set_at else 0.0)

    def monotonic(self) -> float:
        return self.at

    def boot(self) -> str:
        return "test"

    def sleep(self, seconds: float) -> None:
        self.at += seconds


class Story:
    """Clusters whose snapshots are made by a function of the time in seconds; an error is raised."""

    def __init__(self, clock: Clock, at: Callable[[float], Snapshot | Exception]) -> None:
        self._clock, self._at = clock, at
        self.taken: list[float] = []

    def snapshot(self, _access: Access, options: SnapshotOptions) -> Snapshot:
        assert not options.keep
        self.taken.append(self._clock.at)
        made = self._at(self._clock.at)
        if isinstance(made, Exception):
            raise made
        return replace(made, taken_at=self._clock.now())

    def diagnose(self, access: Access, options: DiagnoseOptions) -> tuple[Diagnosis, Snapshot]:
        raise NotImplementedError

    def findings_before_change(self, access: Access, judged: DiagnosisTimes) -> tuple[Finding, ...]:
        raise NotImplementedError

    def open(self, access: Access, snapshot: Snapshot | None = None) -> AbstractContextManager[OpenCluster]:
        raise NotImplementedError


def healthy() -> Snapshot:
    return Paper().topic("orders", 6).offsets(5).snapshot()


def stuck() -> Snapshot:
    """A leaderless partition whose evidence is older than the debounce."""
    paper = Paper().topic("orders", 6).offsets(5)
    paper.part("orders", 3).write(leader=-1, isr=(1, 2), age=300)
    return paper.snapshot()


def fresh(written: float, version: int) -> Snapshot:
    """The same, written at this second of the story: for a moment, an election also shows it."""
    paper = Paper().topic("orders", 6).offsets(5)
    part = paper.part("orders", 3)
    part.write(leader=-1, isr=(1, 2), age=-written)
    part.version = version
    return paper.snapshot()


def run(
    story: Callable[[float], Snapshot | Exception], count: int | None = None, **request: Any
) -> tuple[int, list[WatchState], Story]:
    clock = request.pop("clock", None) or Clock()
    clusters = Story(clock, story)
    states: list[WatchState] = []
    app = App(clusters, clock, {})
    options = WatchOptions(JudgeOptions(), most=count, **request.pop("options", {}))
    passing = request.pop("passing", unchanged)
    code = watch(app, ACCESS, WatchRequest(options, **request), [states.append], passing)
    return code, states, clusters


def changes(states: Sequence[WatchState]) -> list[list[str]]:
    return [[f"{t.kind.value} {t.key}" for t in state.turns] for state in states]


def test_a_fault_that_begins_and_ends_is_new_once_and_fixed_once() -> None:
    code, states, clusters = run(lambda at: stuck() if 30 <= at < 75 else healthy(), 8)
    assert code == 0
    assert [c for c in changes(states) if c] == [["new KFX102:orders-3"], ["fixed KFX102:orders-3"]]
    assert clusters.taken == [15.0 * n for n in range(8)]


def test_in_doubt_the_next_snapshot_comes_sooner_and_settles_it() -> None:
    code, states, clusters = run(lambda at: fresh(14.5, 7) if at >= 15 else healthy(), 4)
    assert clusters.taken[1] == 15.0
    assert 15 + 9 <= clusters.taken[2] < 30
    assert changes(states) == [[], [], ["new KFX102:orders-3"], []]
    assert code == 21


def test_an_election_between_two_snapshots_is_no_change() -> None:
    _, states, _ = run(lambda at: fresh(at - 1, int(at)) if at % 30 == 15 else healthy(), 12)
    assert not any(changes(states))
    assert len([s for s in states if s.next_in < 15]) > 0


def test_the_first_snapshot_is_not_reported_before_it_is_confirmed() -> None:
    _, states, clusters = run(lambda at: fresh(-1, 7), 2)
    assert [s.confirmed for s in states] == [False, True]
    assert clusters.taken[1] < 15
    assert changes(states) == [[], ["new KFX102:orders-3"]]


def test_until_healthy_ends_with_0_and_only_when_everything_was_read() -> None:
    def story(at: float) -> Snapshot:
        if at < 30:
            return stuck()
        paper = Paper().topic("orders", 6).offsets(5)
        if at < 60:
            paper.answering.discard(2)
            paper.silent = {2: "timed out"}
        return paper.snapshot()

    code, states, clusters = run(story, options={"until_healthy": True})
    assert code == 0
    assert 60 <= clusters.taken[-1] <= 75
    assert not any(s.diagnosis.could_not_read for s in states[-1:] if s.diagnosis)
    assert "fixed KFX102:orders-3" in changes(states)[-1]
    assert any(s.diagnosis and s.diagnosis.could_not_read for s in states)


def test_neither_a_maintenance_window_nor_a_muted_finding_is_health() -> None:
    well = replace(run(lambda _: healthy(), 2)[1][-1], confirmed=True)
    assert well.diagnosis is not None
    assert is_healthy(well)
    window = replace(well.diagnosis, maintenance="rolling restart")
    assert is_healthy(replace(well, diagnosis=window))
    assert not is_healthy(replace(well, diagnosis=replace(window, could_not_read=("zookeeper: no answer",))))
    [sick, *_] = diagnose(stuck()).findings
    for severity, ends in ((Severity.CRITICAL, False), (Severity.WARNING, False), (Severity.INFO, True)):
        muted = MutedFinding(replace(sick, severity=severity), "known", "2027-01-01")
        assert is_healthy(replace(well, diagnosis=replace(well.diagnosis, muted=(muted,)))) is ends


def test_within_ends_with_the_last_verdict() -> None:
    code, _, clusters = run(lambda _: stuck(), options={"until_healthy": True, "within": 40.0})
    assert code == 21
    assert clusters.taken[-1] == 40.0


@pytest.mark.parametrize("hidden", ["muted", "in a window", "just changing"])
def test_until_healthy_is_never_0_where_healthy_was_not_reached(hidden: str) -> None:
    def passing(found: Diagnosis) -> Diagnosis:
        if hidden == "muted":
            apart = tuple(MutedFinding(f, "known", "2099-01-01") for f in found.findings)
            return replace(found, findings=(), muted=apart)
        return replace(found, maintenance="upgrade", could_not_read=("zookeeper: no answer",))

    def restarting(_: float) -> Snapshot:
        return Paper((1, 2, 3)).topic("orders", 6).offsets(5).kill(3, age=30).snapshot()

    options: dict[str, Any] = {"until_healthy": True, "within": 40.0}
    if hidden == "just changing":
        code, states, _ = run(restarting, options=options)
    else:
        code, states, _ = run(lambda _: stuck(), options=options, passing=passing)
    assert not is_healthy(states[-1])
    assert code == 22


def test_a_lost_cluster_is_reported_once_and_the_watch_continues(tmp_path: Path) -> None:
    gone = UnreachableError("the cluster cannot be reached: refused")
    code, states, _ = run(lambda at: gone if 30 <= at < 90 else stuck(), 8, recorder=tmp_path / "ring")
    assert [c for c in changes(states) if c] == [["new KFX102:orders-3"], ["lost unreachable"], ["back unreachable"]]
    assert states[3].diagnosis is None
    assert states[3].watched.standing
    assert code == 21
    remarks = [r.text for r in Recording(tmp_path / "ring").records() if r.what in {"lost", "back"}]
    assert remarks == [str(gone), "a source of the cluster answers again"]


def test_a_watch_that_runs_out_of_descriptors_has_not_lost_the_cluster(tmp_path: Path) -> None:
    own = OwnLimitError("the cluster was not asked: too many open files")
    code, states, _ = run(lambda at: own if 30 <= at < 90 else stuck(), 8, recorder=tmp_path / "ring")
    assert [c for c in changes(states) if c] == [["new KFX102:orders-3"]]
    assert states[3].watched.standing
    assert verdict_line(states[3]).text.endswith(f": unknown, {own}")
    assert code == 21
    [paused] = [r.text for r in Recording(tmp_path / "ring").records() if r.what in {"lost", "back", "paused"}]
    assert paused.endswith(str(own))


def test_a_cluster_that_never_answered_is_watched_too_and_is_unknown() -> None:
    code, states, _ = run(lambda _: UnreachableError("refused"), 3)
    assert code == 22
    assert changes(states) == [["lost unreachable"], [], []]


def test_a_wrong_address_ends_the_watch_at_once() -> None:
    with pytest.raises(UsageError):
        run(lambda _: UsageError("two clusters"), 3)


def test_a_recording_is_judged_as_the_watch_judged_it(tmp_path: Path) -> None:
    def story(at: float) -> Snapshot | Exception:
        if 100 <= at < 130:
            return UnreachableError("refused")
        return fresh(29.5, 7) if 30 <= at < 160 else healthy()

    _, states, _ = run(story, 16, recorder=tmp_path / "ring")
    again: list[WatchState] = []
    assert replay(tmp_path / "ring", WatchOptions(JudgeOptions()), [again.append]) == 0
    live = [c for c in changes(states) if c]
    assert [c for c in changes(again) if c] == live
    assert live[0] == ["new KFX102:orders-3"]


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_a_clock_that_is_set_makes_no_broker_gone_for_an_hour(tmp_path: Path, step: float) -> None:
    """The broker leaves at second 40 by ZooKeeper's clock, which is right; at second 50 this host's clock is set.

    The times of records are read by this host's clock (`kfix.core.zookeeper.view`).
    """

    def story(at: float) -> Snapshot:
        paper = Paper((1, 2, 3)).topic("orders", 6).offsets(5)
        if at >= 40:
            paper.kill(3, age=-40 - (step if at >= 50 else 0))
        return paper.snapshot()

    _, states, _ = run(story, 7, clock=Clock(50.0, step), recorder=tmp_path / "ring")
    said = [str(state.diagnosis.findings) for state in states if state.diagnosis is not None]
    assert "KFX401" in said[-1]
    assert not [text for text in said if "gone for about 60 min" in text or "gone for about 1 h" in text]
    assert not [turn for state in states for turn in state.turns], "a restart is no alarm within its grace"
    again: list[WatchState] = []
    replay(tmp_path / "ring", WatchOptions(JudgeOptions()), [again.append])
    assert [exit_code(s.diagnosis) for s in again if s.diagnosis] == [
        exit_code(s.diagnosis) for s in states if s.diagnosis
    ]


def test_few_examinations_are_kept_however_often_snapshots_come() -> None:
    judging = RoundJudge(JudgeOptions(every=1.0, debounce=86_400.0))
    for second in range(100):
        judging.judge(replace(healthy(), taken_at=NOW + second))
    assert len(judging._kept) <= 6


# -- notifications


class Inbox:
    """A local receiver that answers what `answer` returns for the number of the request."""

    def __init__(self, answer: Callable[[int], int] = lambda _: 202) -> None:
        self.bodies: list[bytes] = []
        self.asked = 0
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = answer(inbox.asked)
                inbox.asked += 1
                if status < 300:
                    inbox.bodies.append(body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/secret-path"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def inboxes() -> Iterator[list[Inbox]]:
    made: list[Inbox] = []
    yield made
    for inbox in made:
        inbox.server.shutdown()
        inbox.server.server_close()


def flap(seed: int, count: int) -> tuple[list[bool], list[list[str]], Notifying, Inbox]:
    chance = random.Random(seed)
    broken = [chance.random() < 0.5 for _ in range(count)]
    inbox = Inbox()
    notifying = Notifying([Receiver("pagerduty", "pd", inbox.url, "key")])
    sent: list[list[str]] = []

    def output(state: WatchState) -> None:
        sent.append([f"{n.kind.value} {n.key}" for n in notices_of(state.turns, state)])
        while any(s.waiting > 90 for s in notifying.states):
            threading.Event().wait(0.01)
        notifying.send(state)

    clock = Clock()
    clusters = Story(clock, lambda at: stuck() if broken[min(round(at / 15), count - 1)] else healthy())
    options = WatchOptions(JudgeOptions(), most=count)
    watch(App(clusters, clock, {}), ACCESS, WatchRequest(options), [output])
    return broken, sent, notifying, inbox


def test_300_flapping_snapshots_send_exactly_one_notification_for_each_change() -> None:
    broken, sent, notifying, inbox = flap(3, 300)
    notifying.close()
    expected = []
    for before, now in zip([False, *broken], broken, strict=False):
        expected.append([] if before == now else [f"{'new' if now else 'fixed'} KFX102:orders-3"])
    assert sent == expected
    assert len(inbox.bodies) == sum(map(len, expected)) > 120
    [state] = notifying.states
    assert (state.delivered, state.failed, state.waiting) == (len(inbox.bodies), 0, 0)
    inbox.server.shutdown()
    inbox.server.server_close()


def test_a_cluster_that_is_lost_from_the_start_is_back_under_the_same_key(inboxes: list[Inbox]) -> None:
    inbox = Inbox()
    inboxes.append(inbox)
    notifying = Notifying([Receiver("pagerduty", "pd", inbox.url, "key")])
    clock = Clock()
    clusters = Story(clock, lambda at: UnreachableError("refused") if at < 30 else healthy())
    options = WatchOptions(JudgeOptions(), most=4, name="localhost:9092")
    watch(App(clusters, clock, {}), ACCESS, WatchRequest(options), [notifying.send])
    notifying.close()
    sent = [json.loads(body) for body in inbox.bodies]
    assert [each["event_action"] for each in sent] == ["trigger", "resolve"]
    assert {each["dedup_key"] for each in sent} == {"kfix/localhost:9092/unreachable"}


def test_a_delivery_that_fails_is_tried_again_and_then_given_up_without_the_secret(inboxes: list[Inbox]) -> None:
    flaky, refusing, dead = Inbox(lambda n: 503 if n < 2 else 200), Inbox(lambda _: 403), Inbox(lambda _: 500)
    inboxes += [flaky, refusing, dead]
    deliveries = [
        ReceiverQueue(Receiver("webhook", name, inbox.url), pauses=(0.01,) * 4)
        for name, inbox in (("flaky", flaky), ("refusing", refusing), ("dead", dead))
    ]
    _, states, _ = run(lambda at: stuck() if at >= 15 else healthy(), 2)
    for delivery in deliveries:
        delivery.send(notices_of(states[-1].turns, states[-1]))
        delivery.close(time.monotonic() + 10)
    found = [(d.state.delivered, d.state.failed, d.state.error) for d in deliveries]
    assert found == [(1, 0, ""), (0, 1, "HTTP status 403"), (0, 1, "HTTP status 500")]
    assert [i.asked for i in inboxes] == [3, 1, 5]
    assert "secret" not in repr(found) + repr(deliveries[0].receiver)


def test_a_receiver_that_does_not_answer_never_holds_the_watch_up() -> None:
    delivery = ReceiverQueue(Receiver("webhook", "w", "http://127.0.0.1:9/"), pauses=(60.0,))
    _, states, _ = run(lambda at: stuck() if at >= 15 else healthy(), 2)
    for _ in range(500):
        delivery.send(notices_of(states[-1].turns, states[-1]))
    assert delivery.state.failed >= 399
    assert delivery.state.waiting <= 101


def test_a_redirect_is_not_followed(inboxes: list[Inbox]) -> None:
    inbox = Inbox(lambda _: 302)
    inboxes.append(inbox)
    delivery = ReceiverQueue(Receiver("webhook", "w", inbox.url), pauses=())
    _, states, _ = run(lambda at: stuck() if at >= 15 else healthy(), 2)
    delivery.send(notices_of(states[-1].turns, states[-1]))
    delivery.close(time.monotonic() + 5)
    assert delivery.state.error == "HTTP status 302"
