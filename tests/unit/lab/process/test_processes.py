import os
import secrets
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import LabError
from kfix.lab.process import processes
from kfix.lab.process.host import Host, program

TAG = secrets.token_hex(8)  # another run of these tests on this machine must not find our processes
SLEEPER = [sys.executable, "-X", f"kfix.lab.id={TAG}", "-c", "import time; time.sleep(60)"]


@pytest.fixture
def sleeper(tmp_path):
    pid, start = Host().spawn(SLEEPER, tmp_path / "log")
    record = processes.ProcessRecord("broker", 1, pid, start, "")
    yield record
    processes.send(record, TAG, signal.SIGKILL)
    processes.wait_dead([record], TAG, 10)


def test_a_process_is_alive_then_stopped_then_alive_then_dead(sleeper):
    processes.wait_running(sleeper, TAG, 20)
    assert processes.state_of(sleeper, TAG) == "alive"
    processes.send(sleeper, TAG, signal.SIGSTOP)
    processes.wait_stopped(sleeper, TAG, 20)
    assert processes.state_of(sleeper, TAG) == "stopped"
    processes.send(sleeper, TAG, signal.SIGCONT)
    processes.wait_running(sleeper, TAG, 20)
    assert processes.state_of(sleeper, TAG) == "alive"
    processes.send(sleeper, TAG, signal.SIGKILL)
    processes.wait_dead([sleeper], TAG, 20)
    assert processes.state_of(sleeper, TAG) == "dead"


def test_waiting_for_a_process_to_stop_or_to_run_ends_with_an_error_that_names_it(sleeper):
    with pytest.raises(LabError, match=f"not stopped after 0 s: broker 1 \\(pid {sleeper.pid}\\)"):
        processes.wait_stopped(sleeper, TAG, 0.1)
    processes.send(sleeper, TAG, signal.SIGSTOP)
    processes.wait_stopped(sleeper, TAG, 20)
    with pytest.raises(LabError, match=f"still stopped after 0 s: broker 1 \\(pid {sleeper.pid}\\)"):
        processes.wait_running(sleeper, TAG, 0.1)


def test_a_process_that_died_is_not_waited_for(sleeper):
    processes.send(sleeper, TAG, signal.SIGKILL)
    processes.wait_dead([sleeper], TAG, 20)
    processes.wait_stopped(sleeper, TAG, 0.1)
    processes.wait_running(sleeper, TAG, 0.1)


def test_a_process_has_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(sleeper):
    assert os.getsid(sleeper.pid) == sleeper.pid


def test_a_reused_pid_with_another_start_time_is_never_signalled(sleeper):
    stranger = replace(sleeper, start=sleeper.start - 1)
    assert processes.state_of(stranger, TAG) == "dead"
    assert processes.send(stranger, TAG, signal.SIGKILL) is False
    assert processes.state_of(sleeper, TAG) == "alive"


def test_a_process_with_another_tag_is_never_signalled(sleeper):
    assert processes.send(sleeper, "another lab", signal.SIGKILL) is False
    assert processes.state_of(sleeper, TAG) == "alive"


def test_this_very_process_without_a_tag_is_not_taken_for_one_of_the_lab():
    stat = processes.read_stat(os.getpid())
    mine = processes.ProcessRecord("broker", 1, os.getpid(), stat.start, "")
    assert processes.send(mine, TAG, signal.SIGKILL) is False


def test_a_process_that_no_record_names_is_found_by_its_tag(sleeper):
    assert [each.pid for each in processes.find_tagged(TAG)] == [sleeper.pid]


def test_a_tag_that_is_only_a_part_of_a_word_does_not_count(tmp_path):
    grep = [sys.executable, "-c", "import time; time.sleep(60)", f"pgrep -f kfix.lab.id={TAG}x", f"lab.id={TAG}"]
    pid, start = Host().spawn(grep, tmp_path / "log")
    try:
        assert pid not in [each.pid for each in processes.find_tagged(TAG)]
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert start


def test_waiting_for_a_process_that_does_not_end_names_it(sleeper):
    with pytest.raises(LabError, match=f"broker 1 \\(pid {sleeper.pid}\\)"):
        processes.wait_dead([sleeper], TAG, 0.1)


def test_a_pid_that_is_no_more_is_dead_without_an_error():
    record = processes.ProcessRecord("broker", 1, 2**22 - 1, 1, "")
    assert processes.state_of(record, TAG) == "dead"
    assert processes.send(record, TAG, signal.SIGTERM) is False


def test_a_missing_program_is_told_in_one_line_with_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(LabError, match="the lab needs java") as told:
        program("java", "a Java runtime")
    assert told.value.hint == "install a Java runtime"


def test_java_home_comes_before_the_path(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert Path(program("java", "-")) == java
