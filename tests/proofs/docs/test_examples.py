"""Every file of examples/ is listed in examples/README.md, and its commands do what the page says."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.waiting import seconds

EXAMPLES = ROOT / "examples"
EXPECTED = {
    "snapshots/healthy.json.gz": (0, []),
    "snapshots/metadata-divergence.json.gz": (20, ["KFX201"]),
    "snapshots/coordinator-stuck.json.gz": (21, ["KFX101"]),
    "snapshots/offsets-rf1.json.gz": (21, ["KFX104", "KFX303"]),
    "snapshots/broker-ids-gone.json.gz": (21, ["KFX105"]),
    "snapshots/isr-gone.json.gz": (21, ["KFX103"]),
    "snapshots/link-to-controller-cut.json.gz": (21, ["KFX802"]),
    "snapshots/zone-isolated-with-leader.json.gz": (21, ["KFX803"]),
    "snapshots/controller-zone-isolated-with-leader.json.gz": (21, ["KFX804"]),
    "describe/stuck.txt": (21, ["KFX107"]),
}


README = (EXAMPLES / "README.md").read_text()
[COMMANDS] = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_every_file_is_listed_in_the_readme():
    listed = set(re.findall(r"^\| `([^`]+)` \|", README, re.MULTILINE))
    files = {str(p.relative_to(EXAMPLES)) for p in EXAMPLES.rglob("*") if p.is_file()} - {"README.md"}
    folders = {name for name in listed if name.endswith("/")}
    assert {f for f in files if f not in listed and not any(f.startswith(d) for d in folders)} == set()
    assert {name for name in listed if not (EXAMPLES / name).exists()} == set()


@pytest.mark.parametrize("line", COMMANDS.splitlines())
def test_each_command_of_the_readme_runs(line, tmp_path):
    command, _, code = line.partition("    # exit code ")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "KFIX_STATE_HOME": str(tmp_path / "state"), "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=env,
        timeout=seconds(120),
    )
    assert done.returncode == int(code or 0), done.stdout + done.stderr
    assert done.stdout


def test_every_diagnosis_is_tried():
    there = {str(p.relative_to(EXAMPLES)) for f in ("snapshots", "describe") for p in (EXAMPLES / f).iterdir()}
    assert there == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_is_diagnosed_as_its_page_shows(name):
    code, codes = EXPECTED[name]
    done = subprocess.run(
        [sys.executable, "-m", "kfix", "diagnose", "--from", str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert all(c in done.stdout for c in codes)


def test_the_disks_are_diagnosed_as_their_page_shows():
    command = [sys.executable, "-m", "kfix", "inspect", "log-dir", "examples/log-dirs", "--topic", "invoices"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=EXAMPLES.parent)
    assert done.returncode == 21, done.stdout + done.stderr
    assert done.stdout in (EXAMPLES.parent / "docs" / "inspect.md").read_text()
    groups = [*command[:-2], "--groups", "all", "--names"]
    assert (
        subprocess.run(groups, capture_output=True, text=True, check=False, cwd=EXAMPLES.parent).stdout == "shipping\n"
    )


@pytest.mark.parametrize("name", ["crontab", "fleet/crontab"])
def test_the_crontab_is_commented_out(name):
    lines = (EXAMPLES / name).read_text().splitlines()
    assert lines
    assert all(line.startswith("#") for line in lines)


def test_the_small_fleet_is_shown_and_audited_again_the_same(tmp_path):
    """The store also guards the file format: later releases must read it."""
    store = shutil.copytree(EXAMPLES / "fleet" / "store", tmp_path / "store")
    env = os.environ | {"KFIX_STATE_HOME": str(tmp_path)}

    def audited(*words):
        given = [
            sys.executable,
            "-m",
            "kfix",
            "audit",
            *words,
            "--store",
            str(store),
            "--json",
        ]
        done = subprocess.run(given, capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 20, done.stderr
        return json.loads(done.stdout)

    shown = audited("show")
    assert (len(shown["clusters"]), len(shown["trend"])) == (6, 3)
    assert {f["status"] for f in shown["findings"]} >= {"new", "still", "fixed"}
    again = audited("--collect", "no")
    assert [(f["cluster"], f["key"], f["status"]) for f in again["findings"]] == [
        (f["cluster"], f["key"], f["status"]) for f in shown["findings"]
    ]


def test_the_service_and_the_container_of_the_watch_use_options_and_metrics_that_exist():
    folder = EXAMPLES / "watch"
    reference = (ROOT / "docs" / "commands.md").read_text().split("\n## kfix watch\n")[1].split("\n## ")[0]
    unit = [line for line in (folder / "kfix-watch.service").read_text().splitlines() if "kfix watch" in line]
    container = [line for line in (folder / "Containerfile").read_text().splitlines() if "--recorder" in line]
    used = set(re.findall(r"--[a-z-]+", "\n".join([*unit, *container])))
    assert {"--recorder", "--exporter", "--bootstrap-server"} <= used
    assert {option for option in used if f"`{option}" not in reference} == set()
    metrics = (ROOT / "kfix" / "watch" / "report" / "metrics.py").read_text()
    named = set(re.findall(r"kfix_watch_([a-z_]+)", (folder / "prometheus-rules.yaml").read_text()))
    assert named
    assert {name for name in named if f'"{name}"' not in metrics} == set()
