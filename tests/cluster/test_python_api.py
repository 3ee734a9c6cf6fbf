"""kfix called from a Python program, on real brokers: the example, and what a program is refused."""

import os
import subprocess
import sys

import pytest

from kfix.api import Access, Approval, DiagnoseOptions, Plan, carry_out, diagnose, plan
from kfix.core.errors import ApprovalError, UnreachableError
from tests.cluster.test_incidents import states
from tests.places import ROOT
from tests.waiting import seconds

EXAMPLE = ROOT / "examples" / "python" / "heal_with_approval.py"


def run_example(kfix, lab, answer):
    return subprocess.run(
        [sys.executable, str(EXAMPLE), lab.bootstrap_servers],
        env=os.environ | {"KFIX_STATE_HOME": str(kfix.home)},
        input=f"{answer}\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds(60),
    )


def test_the_example_asks_heals_and_proves(kfix, lab):
    lab.break_("coordinator-stuck")
    before = states(lab)
    declined = run_example(kfix, lab, "n")
    assert (declined.returncode, states(lab)) == (4, before), declined.stderr
    done = run_example(kfix, lab, "y")
    assert done.returncode == 0, done.stderr
    assert "KFX101" in done.stdout
    assert "verified after" in done.stdout
    assert "nothing to do" in run_example(kfix, lab, "y").stdout


def test_a_program_meets_the_same_gates(kfix, lab, monkeypatch):
    monkeypatch.setenv("KFIX_STATE_HOME", str(kfix.home))
    lab.break_("coordinator-stuck")
    access = Access(lab.bootstrap_servers)
    options = DiagnoseOptions(debounce=1.0)
    assert "KFX101" in [f.code for f in diagnose(access, options).findings]
    made = plan("coordinator-stuck", access, options=options)
    assert isinstance(made, Plan)
    before = states(lab)
    with pytest.raises(ApprovalError):
        carry_out(made, access)
    assert states(lab) == before
    healed = carry_out(made, access, approval=Approval((f"plan:{made.short_id}",)))
    assert healed.outcome == "proved"


def test_an_unreachable_cluster_is_an_error_of_kfix():
    with pytest.raises(UnreachableError):
        diagnose(Access("127.0.0.1:1", timeout=1.0))
