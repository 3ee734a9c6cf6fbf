"""The command of a site: words, never a shell; its end and the last line of what it printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kfix.core.site_command import carry_out, command_words, is_running
from tests.waiting import wait_until

SLEEPS = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)"]


def test_the_template_is_split_into_words_and_names_the_node() -> None:
    words = command_words("ssh kafka-{node} 'sudo systemctl restart kafka' --as {role}; rm $HOME", "broker", 3)
    assert words == ["ssh", "kafka-3", "sudo systemctl restart kafka", "--as", "broker;", "rm", "$HOME"]


@pytest.mark.parametrize("template", ["", "restart", "{node}", "restart '{node}"])
def test_what_is_no_command_for_one_node_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"has no \{node\}|No closing quotation"):
        command_words(template, "broker", 3)


def test_no_shell_reads_the_words(tmp_path: Path) -> None:
    there = tmp_path / "made-by-a-shell"
    end = carry_out([sys.executable, "-c", "import sys; print(sys.argv[1])", f"; touch {there}"], 20)
    assert (end.code, end.said, there.exists()) == (0, f"; touch {there}", False)


def test_the_exit_code_and_the_last_line_are_kept() -> None:
    code = "import sys; print('first'); print('Permission denied', file=sys.stderr); sys.exit(5)"
    assert carry_out([sys.executable, "-c", code], 20) == (5, "Permission denied")


def test_one_that_does_not_end_is_ended() -> None:
    assert carry_out(SLEEPS, 1.5).code is None


@pytest.mark.parametrize("script", [False, True])
def test_one_that_still_runs_is_found_whoever_began_it(tmp_path: Path, script: bool) -> None:
    program = tmp_path / "restart kafka"
    program.write_text("#!/bin/sh\nread wait\n")
    program.chmod(0o755)
    words = [str(program), str(tmp_path), "3"] if script else [sys.executable, "-c", "input()", str(tmp_path)]
    assert not is_running(words)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    try:
        wait_until(lambda: is_running(words), "it is found", 10)
        assert not is_running([*words[:-1], "4"])
    finally:
        process.communicate(b"\n")
    assert not is_running(words)


def test_a_program_that_does_not_exist_is_not_started() -> None:
    with pytest.raises(FileNotFoundError):
        carry_out(["no-such-program", "3"], 1)
