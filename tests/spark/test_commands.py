"""The command itself, as operators run it: on a standalone cluster, by `--spark` and by spark-submit."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.places import ROOT
from tests.waiting import seconds

pytestmark = pytest.mark.timeout(280)


def audit(store, state, *options, command=None, **env):
    given = [
        "--store",
        str(store),
        "--run",
        "r",
        "--date",
        "2026-01-01",
        "--collect",
        "no",
        "--json",
        "--quiet",
        *options,
    ]
    done = subprocess.run(
        [*(command or [sys.executable, "-m", "kfix", "audit"]), *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds(200),
        cwd=ROOT,
        env=os.environ | {"KFIX_STATE_HOME": str(state), "PYTHON": sys.executable} | env,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 21, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def embedded(run, tmp_path_factory):
    """(a copy of the store's root, the output of the embedded audit)."""
    state = tmp_path_factory.mktemp("state")
    store = tmp_path_factory.mktemp("embedded") / "store"
    copied(run, store)
    document, _ = audit(store, state)
    return document


def copied(run, store):
    shutil.copytree(run.root.path, store)
    return store


def same(document, embedded):
    """But for the engine's name and the clock."""
    assert document["findings"] == embedded["findings"]
    assert [c["cluster"] for c in document["clusters"]] == [c["cluster"] for c in embedded["clusters"]]
    assert len(document["findings"]) > 10


def test_a_master_by_its_url(standalone, run, embedded, tmp_path):
    document, err = audit(copied(run, tmp_path / "s"), tmp_path, "--spark", standalone.url)
    same(document, embedded)
    assert err == ""


def test_spark_submit(standalone, run, embedded, tmp_path):
    script = ROOT / "examples" / "spark-submit.sh"
    document, _ = audit(copied(run, tmp_path / "s"), tmp_path, command=[str(script)], MASTER=standalone.url)
    same(document, embedded)
