"""What stands in examples/ does what its page says."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EXPECTED = {
    "snapshots/healthy.json.gz": (0, []),
    "snapshots/a1-latent-divergence.json.gz": (20, ["KFX201"]),
    "snapshots/a1-coordinator-stuck.json.gz": (21, ["KFX101"]),
    "snapshots/a2-offsets-rf1.json.gz": (21, ["KFX104", "KFX303"]),
    "snapshots/a5-broker-ids-gone.json.gz": (21, ["KFX105"]),
    "snapshots/b1-isr-gone.json.gz": (21, ["KFX103"]),
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


def test_the_crontab_is_shipped_switched_off():
    lines = (EXAMPLES / "crontab").read_text().splitlines()
    assert lines
    assert all(line.startswith("#") for line in lines)
