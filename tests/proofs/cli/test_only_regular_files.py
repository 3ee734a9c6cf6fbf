"""Every command that reads a file refuses at once what is none: pipes, devices, sockets, and files of no sane size."""

import os
import socket
import subprocess
import sys

import pytest

from tests.places import ROOT
from tests.waiting import seconds

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}

COMMANDS = {
    "--from": ["diagnose", "--from", "{}"],
    "--from, several": ["diagnose", "--from", "{}", "--from", "{}"],
    "snapshot show": ["snapshot", "show", "{}"],
    "report --from": ["report", "incident", "--from", "{}"],
    "--journal": ["report", "incident", "--journal", "{}"],
    "--broker-log": ["report", "incident", "--broker-log", "{}"],
    "--plan": ["runbook", "apply", "--plan", "{}"],
    "runbook show": ["runbook", "show", "{}"],
    "countersign": ["runbook", "countersign", "{}", "--output-file", "out.json", "--reason", "x"],
    "--policy": ["runbook", "apply", "coordinator-stuck", "--policy", "{}", "--bootstrap-server", "127.0.0.1:1"],
    "validate": ["runbook", "validate", "{}"],
    "--json-in": ["runbook", "plan", "move-replicas", "--json-in", "{}", "--bootstrap-server", "127.0.0.1:1"],
    "--command-config": ["diagnose", "--bootstrap-server", "127.0.0.1:1", "--command-config", "{}"],
    "inventory": ["fleet", "check", "{}"],
    "log-dir": ["inspect", "log-dir", "{}"],
}


def run(words, **more):
    return subprocess.run(
        [sys.executable, "-m", "kfix", *words],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=seconds(60),
        check=False,
        stdin=subprocess.DEVNULL,
        **more,
    )


@pytest.mark.parametrize("command", list(COMMANDS))
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path, command, kind):
    path = tmp_path / "input.json"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    result = run([word.format(path) for word in COMMANDS[command]], cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("kfix: "), result.stderr
    assert "Traceback" not in result.stderr


def test_a_refused_pipe_shows_how_to_continue(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    result = run(["diagnose", "--from", str(path)])
    assert "is a pipe, not a regular file, and is not read" in result.stderr
    assert "COMMAND > FILE" in result.stderr


def test_a_socket_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "s"
    monkeypatch.chdir(tmp_path)  # The address of a socket has at most 107 characters.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)
        result = run(["runbook", "show", str(path)])
    assert (result.returncode, "is a socket, not a regular file" in result.stderr) == (2, True)


def test_a_file_of_no_sane_size_is_refused_without_reading_it(tmp_path):
    path = tmp_path / "plan.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    for words in (["runbook", "show", str(path)], ["diagnose", "--from", str(path)]):
        result = run(words)
        assert (result.returncode, "is larger than 512 MiB" in result.stderr) == (2, True), result.stderr
