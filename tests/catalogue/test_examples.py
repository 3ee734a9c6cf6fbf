"""What stands in examples/ does what its page says."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.places import ROOT

EXAMPLES = ROOT / "examples"
EXPECTED = {
    "snapshots/healthy.json.gz": (0, []),
    "snapshots/metadata-divergence.json.gz": (20, ["KFX201"]),
    "snapshots/coordinator-stuck.json.gz": (21, ["KFX101"]),
    "snapshots/offsets-rf1.json.gz": (21, ["KFX104", "KFX303"]),
    "snapshots/broker-ids-gone.json.gz": (21, ["KFX105"]),
    "snapshots/isr-gone.json.gz": (21, ["KFX103"]),
    "snapshots/link-to-controller-cut.json.gz": (20, ["KFX802"]),
    "snapshots/zone-isolated-with-leader.json.gz": (21, ["KFX803"]),
    "snapshots/controller-zone-isolated-with-leader.json.gz": (21, ["KFX804"]),
    "describe/stuck.txt": (21, ["KFX107"]),
}


def test_every_example_is_tried():
    there = {str(p.relative_to(EXAMPLES)) for f in ("snapshots", "describe") for p in (EXAMPLES / f).iterdir()}
    assert there == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_is_diagnosed_as_its_page_says(name):
    code, codes = EXPECTED[name]
    done = subprocess.run(
        [sys.executable, "-m", "kfix", "diagnose", "--from", str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert all(c in done.stdout for c in codes)


def test_the_disks_tell_what_their_page_says():
    command = [sys.executable, "-m", "kfix", "inspect", "log-dir", "examples/log-dirs", "--topic", "invoices"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=EXAMPLES.parent)
    assert done.returncode == 21, done.stdout + done.stderr
    assert done.stdout in (EXAMPLES.parent / "docs" / "inspect.md").read_text()
    groups = [*command[:-2], "--groups", "all", "--names"]
    assert (
        subprocess.run(groups, capture_output=True, text=True, check=False, cwd=EXAMPLES.parent).stdout == "shipping\n"
    )


@pytest.mark.parametrize("name", ["crontab", "fleet/crontab"])
def test_the_crontab_is_shipped_switched_off(name):
    lines = (EXAMPLES / name).read_text().splitlines()
    assert lines
    assert all(line.startswith("#") for line in lines)


def test_the_small_fleet_is_shown_and_audited_again_the_same(tmp_path):
    """Also a store of this release for all that come: what is written today must be read then."""
    store = shutil.copytree(EXAMPLES / "fleet" / "store", tmp_path / "store")
    env = os.environ | {"KFIX_STATE_HOME": str(tmp_path)}

    def told(*words):
        given = [
            sys.executable,
            "-m",
            "kfix",
            "audit",
            *words,
            "--store",
            str(store),
            "--json",
            "--fail-on",
            "critical",
        ]
        done = subprocess.run(given, capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 21, done.stderr
        return json.loads(done.stdout)

    shown = told("show")
    assert (len(shown["clusters"]), len(shown["trend"])) == (6, 3)
    assert {f["status"] for f in shown["findings"]} >= {"new", "still", "fixed", "worse"}
    again = told("--collect", "no")
    assert [(f["cluster"], f["key"], f["status"]) for f in again["findings"]] == [
        (f["cluster"], f["key"], f["status"]) for f in shown["findings"]
    ]
