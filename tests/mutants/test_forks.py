"""A fork reports what it does, and ends with everything it has started."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.mutants.forks import forked


def test_what_a_fork_reports_arrives_in_order():
    assert list(forked(lambda report: [report({"n": n}) for n in range(1000)], 60)) == [{"n": n} for n in range(1000)]


def test_a_fork_that_dies_ends_its_report():
    def run(report):
        report({"start": "a test"})
        os.kill(os.getpid(), 9)

    assert list(forked(run, 60)) == [{"start": "a test"}]


def test_a_fork_that_reports_nothing_is_given_up():
    with pytest.raises(TimeoutError):
        list(forked(lambda _report: time.sleep(600), 0.2))


def test_what_a_fork_has_started_ends_with_it():
    def run(report):
        report({"pid": subprocess.Popen(["sleep", "600"]).pid})

    [row] = forked(run, 60)
    while Path(f"/proc/{row['pid']}/exe").exists():
        time.sleep(0.01)


def test_a_change_in_a_fork_stays_there():
    here = [1]
    assert list(forked(lambda report: report({"n": here.pop()}), 60)) == [{"n": 1}]
    assert here == [1]
