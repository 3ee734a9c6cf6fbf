"""Streams that nobody reads.

`>&-`, `2>&-` and `<&-` in a shell: the exit code is what it is otherwise, and no file gets what is another's.
`| head`: a command whose exit code is an answer keeps it, and one that only prints ends with 141.
"""

import os
import subprocess
import sys

import pytest

from kfix.core.saved import files
from kfix.shell.commands import COMMANDS
from kfix.shell.loading import Command
from tests.places import ROOT
from tests.unit.core.saved.test_store import whole

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}


def run(words, *closed):
    def close():
        for number in closed:
            os.close(number)

    result = subprocess.run(
        [sys.executable, "-m", "kfix", *map(str, words)],
        env=ENVIRONMENT,
        stdout=None if 1 in closed else subprocess.PIPE,
        stderr=None if 2 in closed else subprocess.PIPE,
        preexec_fn=close,
        text=True,
        check=False,
    )
    assert "Traceback" not in (result.stderr or "")
    assert "internal error" not in (result.stderr or "")
    return result


@pytest.mark.parametrize("closed", [(1,), (2,), (0,), (1, 2), (0, 1, 2), (0, 2)], ids=str)
@pytest.mark.parametrize("words", [["diagnose", "--from", "{}"], ["diagnose", "--from", "{}", "--json"], ["--help"]])
def test_the_exit_code_is_that_of_the_command(tmp_path, words, closed):
    path = tmp_path / "s.json"
    files.save(whole(), path)
    words = [word.format(path) for word in words]
    assert run(words, *closed).returncode == run(words).returncode


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2), (0, 1, 2)], ids=str)
def test_an_error_is_the_same_exit_code(closed):
    assert run(["diagnose", "--from", "/nowhere"], *closed).returncode == 2


@pytest.mark.parametrize("closed", [(1,), (1, 2), (0, 1, 2)], ids=str)
def test_a_file_that_is_written_holds_its_own_content_and_nothing_else(tmp_path, closed):
    path, page = tmp_path / "s.json", tmp_path / "report.md"
    files.save(whole(), path)
    words = ["report", "incident", "--from", path, "--markdown"]
    assert run([*words, page], *closed).returncode == 0
    assert run([*words, tmp_path / "other.md"]).returncode == 0
    assert page.read_text() == (tmp_path / "other.md").read_text()


SNAPSHOT = ROOT / "examples" / "snapshots" / "coordinator-stuck.json.gz"
DIAGNOSE = ("diagnose", "--from", SNAPSHOT)
ANSWERS = {
    "text": (DIAGNOSE, 21),
    "verbose": ((*DIAGNOSE, "--verbose"), 21),
    **{name: ((*DIAGNOSE, "--format", name), 21) for name in ("json", "prometheus", "sarif", "junit")},
    "nagios": ((*DIAGNOSE, "--nagios"), 2),
    "healthy": (("diagnose", "--from", SNAPSHOT.with_name("healthy.json.gz")), 0),
    "healthy json": (("diagnose", "--from", SNAPSHOT.with_name("healthy.json.gz"), "--json"), 0),
    "group": ((*DIAGNOSE, "--group", "orders", "--json"), 21),
    "whatif": (("whatif", "--from", SNAPSHOT, "--json"), 21),
    "an error as a document": (("diagnose", "--from", "/nowhere", "--json"), 2),
    "an error as text": (("diagnose", "--from", "/nowhere"), 2),
    "a wrong option": (("diagnose", "--wrong"), 2),
    "an audit": (("audit", "show", "--store", "/nowhere", "--json"), 2),
    "an audit without a run": (("audit", "--store", "/dev/null/nowhere", "--collect", "no", "--json"), 2),
    "a post-mortem": (("report", "incident", "--from", SNAPSHOT), 0),
}
PRINTS = {
    "explain": ("explain", "KFX101"),
    "list": ("runbook", "list"),
    "list json": ("runbook", "list", "--json"),
    "page": ("runbook", "show", "coordinator-stuck"),
    "schema": ("schema", "diagnosis"),
    "snapshot": ("snapshot", "show", SNAPSHOT),
    "incidents": ("lab", "incidents"),
    "help": ("--help",),
    "help of a group": ("runbook", "--help"),
    "help of a command": ("diagnose", "--help"),
    "help of an audit": ("audit", "show", "--help"),
    "version": ("--version",),
}


def unread(words, *, errors=False):
    """Runs a command whose standard output, and with `errors` the other one too, is a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "kfix", *map(str, words)],
            env=ENVIRONMENT,
            stdout=write,
            stderr=write if errors else subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(write)
    for said in ("Traceback", "internal error", "Broken pipe", "Exception ignored"):
        assert said not in (result.stderr or "")
    return result.returncode


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_without_a_reader_has_the_same_exit_code(name):
    words, code = ANSWERS[name]
    assert run(words).returncode == code
    assert unread(words) == code
    assert unread(words, errors=True) == code


@pytest.mark.parametrize("name", PRINTS)
def test_a_command_that_only_prints_ends_with_the_code_of_a_closed_pipe(name):
    assert unread(PRINTS[name]) == 141
    assert unread(PRINTS[name], errors=True) == 141


@pytest.mark.parametrize("words", [*PRINTS.values()], ids=[*PRINTS])
def test_a_command_that_only_prints_is_no_failure_without_a_stream(words):
    assert run(words, 1).returncode == 0


def test_the_page_names_the_commands_that_only_print():
    def printing(table, *before):
        for name, entry in table.items():
            if not isinstance(entry, Command):
                yield from printing(entry.commands, *before, name)
            elif entry.prints:
                yield " ".join((*before, name))

    page = (ROOT / "docs" / "exit-codes.md").read_text()
    [part] = [p for p in page.split("\n\n") if "141 is for those" in p]
    listed = " ".join(part.split()).partition("141 is for those that only print: ")[2].partition(", `--help`")[0]
    groups = {"snapshot", "context", "fleet", "runbook", "lab"}
    found, group = set(), ""
    for word in " ".join(listed.replace("`", "").replace(" and ", ", ").split()).split(", "):
        first, _, rest = word.partition(" ")
        group = first if first in groups else group
        found.add(word if first in groups or not group else f"{group} {word}")
        assert rest or first not in groups
    assert found == set(printing(COMMANDS))
