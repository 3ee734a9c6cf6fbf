"""A disk that is full before the first change: exit code 3, one line, and nothing was changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import seconds

SCRIPT = """
import os, pathlib, resource, sys
from kfix.heal.memory.incidents import ALL
from kfix.heal.plan.planfile import read
from tests.unit.heal.fake_wiring import FakeWiring
home = pathlib.Path(os.environ["HOME_OF_RUNS"])
incident = ALL["coordinator-stuck"]()
behind = FakeWiring(incident.cluster, incident.finding).app(home / "state")
from kfix.shell.app import app
plan = home / "plan.json"
try:
    app(["runbook", "plan", "coordinator-stuck", "--output-file", str(plan)], obj=behind)
except SystemExit as end:
    assert not end.code, end
# From here on no file may be longer than this: a write beyond it fails as it does on a full disk.
room = int(os.environ["ROOM"])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    app(["runbook", "apply", "--plan", str(plan), "--approve", "step:" + read(plan).short_id], obj=behind)
finally:
    print("CALLS", [call.method for call in incident.cluster.faults.calls], file=sys.stderr)
"""


@pytest.mark.parametrize("room", [0, 1, 100, 200, 1000, 3000, 6000])
def test_a_full_disk_before_the_first_change_is_refused_with_nothing_changed(tmp_path: Path, room: int) -> None:
    env = {**os.environ, "HOME_OF_RUNS": str(tmp_path), "ROOM": str(room)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, timeout=seconds(60), check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 3, done.stderr
    assert "nothing was changed" in done.stderr
    assert "CALLS []" in done.stderr
