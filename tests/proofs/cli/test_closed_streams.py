"""`>&-`, `2>&-` and `<&-` in a shell: the exit code is what it is otherwise, and no file gets what is another's."""

import os
import subprocess
import sys

import pytest

from kfix.adapters.saved import files
from tests.places import ROOT
from tests.unit.adapters.saved.test_store import whole

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
