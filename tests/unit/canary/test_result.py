"""The result of the rounds: its exit code, its lines and its JSON."""

from __future__ import annotations

import json

import jsonschema
import pytest
from typer.testing import CliRunner

from kfix.canary.model import CanaryResult, CanaryRound, CoordinatorTry, LeaderTry, Met, met
from kfix.canary.report import CanaryJson, canary_json, canary_lines
from kfix.core.documents.outputs import schema_of
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.front.lines import lines_text
from kfix.shell.app import app
from kfix.watch.canary import counted
from kfix.watch.model import CanaryState, WatchState
from tests.each import for_each
from tests.unit.watch.report.test_metrics import samples

LEADER, OFFSETS = TopicPartition("kfix-canary", 0), TopicPartition("__consumer_offsets", 3)
WORKED, FAILED = LeaderTry(1, LEADER, 0.012), LeaderTry(1, LEADER, error="not acknowledged in 15 s")
JOINED = CoordinatorTry(OFFSETS, 2, "g", 3.2, 0.01)
HUNG = CoordinatorTry(OFFSETS, -1, "g", error="joining did not end in 15 s")


def result(*leaders: LeaderTry, coordinators: tuple[CoordinatorTry, ...] = (JOINED,), **more: object) -> CanaryResult:
    every = {"made_topic": True, "rounds": len(leaders)} | more
    return CanaryResult("c", 0.0, "kfix-canary", leaders=met(leaders), coordinators=met(coordinators), **every)  # type: ignore[arg-type]


@for_each(
    "code, found",
    [
        (0, result(WORKED)),
        (20, result(WORKED, left_behind=("group g: timed out",))),
        (20, result(WORKED, FAILED)),
        (21, result(FAILED, untested=("x",))),
        (21, result(WORKED, coordinators=(HUNG,))),
        (22, result(WORKED, untested=("no group joined",))),
        (22, result(coordinators=())),
    ],
)
def test_the_exit_code_is_that_of_the_worst(code: int, found: CanaryResult) -> None:
    assert found.exit_code == code
    document = json.loads(canary_json(found))
    assert document["exit_code"] == code
    jsonschema.validate(document, schema_of(CanaryJson))


def test_the_first_line_is_what_does_not_work_and_for_whom() -> None:
    text = lines_text(canary_lines(result(WORKED, coordinators=(HUNG,)), "kfix diagnose -c a"))
    assert text.splitlines() == [
        "what: groups of __consumer_offsets-3 (no leader): joining did not end in 15 s",
        "next: kfix diagnose -c a",
        "c (1970-01-01 00:00:00Z): 1 leader and 0 of 1 coordinator served a client",
        "  kfix-canary-0 (broker 1): 12 ms from producer to consumer",
    ]


def test_several_rounds_have_a_median_and_a_longest_time() -> None:
    [one] = met([WORKED, LeaderTry(1, LEADER, 0.5), LeaderTry(1, LEADER, 2.0), FAILED])
    assert one == Met(1, LEADER, 4, 1, 0.5, 2.0, "not acknowledged in 15 s")
    text = lines_text(canary_lines(result(WORKED, LeaderTry(1, LEADER, 1.5)), ""))
    assert "756 ms (slowest 1.5 s) from producer to consumer" in text


def test_metrics_of_a_failed_try_have_no_time() -> None:
    state = counted(
        counted(CanaryState(), CanaryRound(5.0, (WORKED,), (JOINED,))), CanaryRound(6.0, (WORKED,), (HUNG,))
    )
    found = samples(WatchState("c", 0.0, 15.0, canary=state))
    assert found["kfix_watch_canary_up"] == {(): 0}
    assert found["kfix_watch_canary_rounds_total"] == {(): 2}
    assert found["kfix_watch_canary_end_to_end_seconds"] == {("leader", "kfix-canary-0"): 0.012}
    assert "kfix_watch_canary_join_seconds" not in found
    assert found["kfix_watch_canary_join_seconds_total"] == {("coordinator", "__consumer_offsets-3"): 3.2}
    assert found["kfix_watch_canary_failures_total"][("coordinator", "__consumer_offsets-3")] == 1
    assert "kfix_watch_canary_up" not in samples(WatchState("c", 0.0, 15.0, canary=CanaryState()))
    assert samples(WatchState("c", 0.0, 15.0, canary=CanaryState(error="x")))["kfix_watch_canary_up"] == {(): 0}


@for_each(
    "words, said",
    [
        (["--rounds", "0"], "--rounds must be"),
        (["--within", "0s"], "--within must be"),
        (["--partition", "x"], "is not a partition of __consumer_offsets"),
        (["--zookeeper", "h:1"], "connects to brokers"),
    ],
)
def test_a_wrong_option_is_one_line(words: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KFIX_BOOTSTRAP_SERVER", raising=False)
    address = [] if "--zookeeper" in words else ["-b", "127.0.0.1:1"]
    done = CliRunner().invoke(app, ["canary", *address, *words])
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_watch_needs_an_exporter_for_its_canary() -> None:
    done = CliRunner().invoke(app, ["watch", "-b", "127.0.0.1:1", "--canary", "1m"])
    assert (done.exit_code, "--exporter" in done.stderr) == (2, True)
