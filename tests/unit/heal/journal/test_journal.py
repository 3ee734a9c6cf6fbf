"""The journal: on the disk before and after each change, chained, and honest about its own damage."""

from __future__ import annotations

import errno
import itertools
import os
import signal
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from kfix.core.clock import SystemClock
from kfix.core.errors import ApprovalError, KfixError, RefusedError, StoppedError, UsageError
from kfix.core.places import state_home
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.journal.journal import Journal, held_back, read_back
from kfix.heal.journal.runs import RunDir, RunStore, summary
from tests.each import for_each
from tests.unit.heal.stage import Answers, Stage

# A Ctrl-C that comes while a line is written: the line is whole, its place in the chain too, and then it ends.


class Interrupted:
    """A file during whose every flush somebody presses Ctrl-C, once or twice."""

    def __init__(self, path, times):
        self.file = path.open("ab")
        self.times = times

    def write(self, data):
        self.file.write(data)

    def flush(self):
        self.file.flush()
        for _ in range(self.times):
            os.kill(os.getpid(), signal.SIGINT)

    def fileno(self):
        return self.file.fileno()


@pytest.fixture(autouse=True)
def ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("times", [1, 2])
def test_a_ctrl_c_in_mid_write_leaves_a_chain_that_goes_on(tmp_path, times):
    path = tmp_path / "journal.ndjson"
    file = Interrupted(path, times)
    common = {"run": "r", "plan": "p", "who": {"user": "u", "host": "h"}}
    journal = Journal(file, common, SystemClock(), lambda _: None)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            journal.write("note", text="while somebody pressed Ctrl-C")
    file.times = 0
    journal.write("run.end", outcome="interrupted", exit=6, changed=[], left=[])
    file.file.close()
    back = read_back(path)
    assert (back.broken, back.torn, len(back.records)) == ("", False, 4)


def press(seen, name):
    os.kill(os.getpid(), signal.SIGINT)
    seen.append(name)


def test_what_is_held_back_inside_is_held_back_to_the_end_of_the_outermost():
    seen = []

    def change():
        with held_back():
            with held_back(always=True):
                press(seen, "intent")
            seen.append("call")
            with held_back(always=True):
                seen.append("result")

    with pytest.raises(KeyboardInterrupt):
        change()
    assert seen == ["intent", "call", "result"]


def test_a_second_one_does_not_wait_for_a_call_but_for_a_line():
    seen = []

    def change():
        with held_back():
            with held_back(always=True):
                press(seen, "one")
                press(seen, "two")
            seen.append("call")

    with pytest.raises(KeyboardInterrupt):
        change()
    assert seen == ["one", "two"]


def test_a_process_that_ignores_ctrl_c_goes_on_ignoring_it():
    seen = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        press(seen, "one")
    assert seen == ["one"]


def test_every_record_is_synced_by_itself(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[os.stat_result] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle)))
    stage.run()
    path = stage.last_run.journal_path
    ends = list(itertools.accumulate(len(line) for line in path.read_bytes().splitlines(keepends=True)))
    assert [file.st_size for file in synced if file.st_ino == path.stat().st_ino] == ends


def test_every_record_states_who_which_run_and_which_plan(stage: Stage) -> None:
    plan = stage.plan()
    healed = stage.run(plan)
    for record in stage.journal():
        assert (record["run"], record["plan"]) == (healed.run, plan.plan_id)
        assert record["who"]["pid"] == os.getpid()


def test_the_listener_hears_what_the_journal_holds(stage: Stage) -> None:
    stage.run()
    assert stage.records == stage.journal()


def _run_journal(stage: Stage) -> Path:
    stage.run()
    return stage.last_run.journal_path


def test_a_torn_last_line_is_dropped_and_reported(stage: Stage) -> None:
    path = _run_journal(stage)
    whole = read_back(path).records
    path.write_bytes(path.read_bytes() + b'{"v":1,"seq":99')
    back = read_back(path)
    assert (back.records, back.torn, back.broken) == (whole, True, "")
    assert "incomplete" in " ".join(summary(stage.last_run).notes)


def test_an_edited_line_breaks_the_chain_there(stage: Stage) -> None:
    path = _run_journal(stage)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"v":1', b'"v": 1')
    path.write_bytes(b"".join(lines))
    back = read_back(path)
    assert len(back.records) == 4
    assert f"{path}:5: does not follow the line before it" in back.broken


def test_a_line_that_is_missing_breaks_the_chain(stage: Stage) -> None:
    path = _run_journal(stage)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    assert ":3:" in read_back(path).broken


# -- a full disk, at every record in turn


class FullDisk:
    """A journal's file on a disk that is full from the n-th record on."""

    def __init__(self, inner: BinaryIO, room: int) -> None:
        self.inner = inner
        self.room = room

    def write(self, data: Any, /) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= 1
        return self.inner.write(data)

    def flush(self) -> None:
        self.inner.flush()

    def fileno(self) -> int:
        return self.inner.fileno()

    def close(self) -> None:
        self.inner.close()


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The records of a good run, in order."""
    stage = Stage("coordinator-stuck", tmp_path_factory.mktemp("good"))
    stage.run()
    return stage.types()


GOOD_RUN_LENGTH = 34


def test_the_parametrised_tests_below_cover_every_record_of_a_good_run(types: list[str]) -> None:
    assert len(types) == GOOD_RUN_LENGTH


@for_each("room", range(GOOD_RUN_LENGTH))
def test_a_full_disk_stops_before_the_next_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, types: list[str], room: int
) -> None:
    stage = Stage("coordinator-stuck", tmp_path / "full")
    opened = RunDir.open_journal
    monkeypatch.setattr(RunDir, "open_journal", lambda run: FullDisk(opened(run), room))
    with pytest.raises(KfixError, match="No space left on device") as caught:
        stage.run()
    changed = types.index("step.intent") < room
    assert type(caught.value) is (StoppedError if changed else RefusedError)
    assert stage.methods() == (["reassign"] if changed else [])
    assert ("nothing was changed" in str(caught.value)) is not changed


def test_a_run_that_cannot_be_recorded_is_refused(stage: Stage) -> None:
    stage.store.home.parent.mkdir(parents=True)
    stage.store.home.write_text("a file where the folder should be")
    with pytest.raises(RefusedError, match="nothing was changed"):
        stage.run()
    assert stage.methods() == []


def test_a_gate_whose_text_cannot_be_kept_is_not_asked(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.open

    def full(path: Any, *args: Any, **kwargs: Any) -> int:
        if Path(path).name.startswith("gate-"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return before(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(RefusedError, match="No space left"):
        stage.run()
    assert stage.human.asked == []


# -- Ctrl-C, at every record in turn


@for_each("at", range(GOOD_RUN_LENGTH))
def test_ctrl_c_at_any_record_loses_nothing_and_shows_whether_something_changed(
    tmp_path: Path, types: list[str], at: int
) -> None:
    stage = Stage("coordinator-stuck", tmp_path / "cut")
    seen = 0

    def cut(_record: object) -> None:
        nonlocal seen
        seen += 1
        if seen == at + 1:
            raise KeyboardInterrupt

    with pytest.raises(KfixError, match="interrupted") as caught:
        stage.run(listener=cut)
    changed = types.index("step.intent") < at
    assert type(caught.value) is (StoppedError if changed else ApprovalError)
    assert stage.methods() == (["reassign"] if changed else [])
    back = read_back(stage.last_run.journal_path)
    assert not back.broken
    assert not back.torn
    assert back.records[-1]["type"] == "run.end"


def test_ctrl_c_at_a_prompt_changes_nothing(stage: Stage) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    stage.human = Answers(["y"], then=interrupt)
    with pytest.raises(ApprovalError, match="interrupted; nothing was changed"):
        stage.run()
    assert stage.journal()[-1]["outcome"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_during_the_call_waits_for_its_result_on_the_disk(stage: Stage, number: signal.Signals) -> None:
    stage.cluster.faults.before("reassign", lambda: os.kill(os.getpid(), number))
    with pytest.raises(StoppedError, match="interrupted; changed before that: nudge"):
        stage.run()
    assert [r["ok"] for r in stage.journal() if r["type"] == "step.result"] == [True]


def test_a_second_ctrl_c_does_not_wait() -> None:
    reached = []

    def two() -> None:
        with held_back():
            for n in (1, 2):
                os.kill(os.getpid(), signal.SIGINT)
                reached.append(n)

    with pytest.raises(KeyboardInterrupt):
        two()
    assert reached == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- the store and its history


@pytest.mark.parametrize(
    ("env", "home"),
    [
        ({"KFIX_STATE_HOME": "/a", "XDG_STATE_HOME": "/b"}, "/a/kfix"),
        ({"XDG_STATE_HOME": "/b"}, "/b/kfix"),
        ({}, str(Path("~/.local/state/kfix").expanduser())),
    ],
)
def test_the_state_folder_is_where_the_environment_names_it(env: dict[str, str], home: str) -> None:
    assert str(state_home(env)) == home


def test_a_relative_state_folder_is_refused() -> None:
    with pytest.raises(UsageError, match="not an absolute path"):
        state_home({"KFIX_STATE_HOME": "here"})


def test_a_run_is_found_by_a_part_of_its_id_that_only_it_has(stage: Stage) -> None:
    healed = stage.run()
    assert stage.store.find(healed.run[-8:]).id == healed.run
    with pytest.raises(UsageError, match=f"there is no run 'x'; the latest is {healed.run}"):
        stage.store.find("x")


def test_history_shows_outcome_exit_and_what_changed(stage: Stage) -> None:
    stage.human = Answers(["n"])
    with pytest.raises(ApprovalError):
        stage.run()
    told = summary(stage.last_run)
    assert (told.outcome, told.exit, told.changed) == ("declined", 4, ())
    stage.human = Answers(["y"])
    stage.cluster.clock.sleep(1)
    stage.run(stage.plan())
    told = summary(stage.last_run)
    assert (told.outcome, told.exit, told.changed) == ("proved", 0, ("nudge",))


def test_a_run_that_was_killed_has_no_end_which_is_reported(stage: Stage) -> None:
    path = _run_journal(stage)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:8]))
    told = summary(stage.last_run)
    assert told.outcome == "unknown"
    assert told.notes == ("no end recorded: the run was killed or is still running",)


def test_an_empty_store_has_no_runs(tmp_path: Path) -> None:
    assert list(RunStore(tmp_path / "none").runs()) == []


def test_a_refused_change_is_not_counted_as_one(stage: Stage) -> None:
    for method in ("reassign", "elect", "reelect_controller"):
        stage.cluster.faults.answer(method, ChangeResult(31, "CLUSTER_AUTHORIZATION_FAILED"))
    with pytest.raises(KfixError):
        stage.run()
    assert summary(stage.last_run).changed == ()
