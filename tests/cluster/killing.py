"""Runs that are killed at records of their journals, and resumed (`killed.py` is the process that dies)."""

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import seconds, wait_until

DRIVER = Path(__file__).with_name("killed.py")
KILLED = -9


def dies_at(operator, point, *words):
    """The installed command in a process that kills itself there; False where it came to its end before."""
    env = os.environ | {"KFIX_STATE_HOME": str(operator.home), "NO_COLOR": "1", "COLUMNS": "120"}
    command = [sys.executable, str(DRIVER), point, *map(str, (*words, *operator.where))]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=seconds(120), env=env, stdin=subprocess.DEVNULL
    )
    assert done.returncode in {0, KILLED}, (point, done.returncode, done.stdout + done.stderr)
    assert "Traceback" not in done.stderr
    return done.returncode == KILLED


def locked_no_more(cluster):
    """ZooKeeper frees the lock of a killed run by itself; on KRaft there is none."""
    wait_until(
        lambda: cluster.access.znodes is None or cluster.access._zk.exists("/kfix/lock") is None, "the lock is free", 15
    )


def chain(operator, cluster, planned, points):
    """Kills a run at each point in turn, each time a resumed one, and resumes it to its proof."""
    answers = planned.answers("step", typed=True)
    assert dies_at(operator, points[0], "runbook", "apply", "--plan", planned.path, *answers), points[0]
    run = operator.ran(planned)
    for point in points[1:]:
        locked_no_more(cluster)
        assert dies_at(operator, point, "runbook", "resume", run.id, *answers), point
    locked_no_more(cluster)
    operator.resume(run, planned)
    assert run.end == "proved"
    made_once(run)
    return run


def made_once(run):
    """Each change was issued once: an intent whose call was never made says so before there is another one."""
    for name in {record["step"] for record in run.of("step.intent")}:
        told = [r for r in run.of("step.intent", "step.result") if r["step"] == name]
        issued = [r for r in told if r["type"] == "step.result" and r["changed"]]
        assert len(issued) == 1, name
