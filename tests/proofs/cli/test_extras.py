"""A command needs no more of the optional packages than it uses, and says which one it lacks."""

import subprocess
import sys

import pytest

from tests.places import ROOT


@pytest.mark.parametrize(
    "words",
    [
        ["fleet", "check", "examples/fleet/fleet.yaml"],
        ["report", "incident", "--from", "examples/snapshots/healthy.json.gz"],
        ["diagnose", "--from", "examples/snapshots/healthy.json.gz"],
        ["runbook", "show", "coordinator-stuck"],
        ["lab", "incidents"],
    ],
    ids=" ".join,
)
def test_a_command_that_needs_no_extra_works_without_them(words):
    script = (
        "import sys\nfor name in ('pyarrow', 'duckdb', 'jinja2', 'pyspark'): sys.modules[name] = None\n"
        f"sys.argv = ['kfix', *{words!r}]\nfrom kfix.__main__ import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_that_lacks_its_extra_shows_what_to_install():
    script = (
        "import sys\nsys.modules['pyarrow'] = None\nsys.argv = ['kfix', 'fleet', 'runs', '--store', 'x']\n"
        "from kfix.__main__ import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ["kfix: runs needs pyarrow", "      pip install 'kafka-kfix[fleet]'"],
    )
