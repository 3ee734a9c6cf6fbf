"""A Ctrl-C that comes while a line is written: the line is whole, its place in the chain too, and then it ends."""

import os
import signal

import pytest

from kfix.core.clock import SystemClock
from kfix.heal.journal.journal import Journal, held_back, read_back


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
