"""`kfix diagnose --from A --from B` and `kfix snapshot save --vantage`: what is said, and with which exit code."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import SnapshotOptions
from kfix.core.saved.files import parse, read_text, save
from kfix.core.snapshot.snapshot import Snapshot
from kfix.heal.memory.incidents import ALL
from kfix.shell.app import app
from tests.unit.core.derive.places import seen_by, two
from tests.unit.diagnostics.clusters import healthy
from tests.unit.heal.fake_wiring import FakeWiring

DESCRIBED = "Topic: t\tPartitionCount: 1\n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"


def run(*args: object, behind: App | None = None) -> Result:
    return CliRunner().invoke(app, list(map(str, args)), obj=behind)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path, "az1.json", two()[0]), written(tmp_path, "az2.json.gz", two()[1])


def written(folder: Path, name: str, snapshot: Snapshot) -> Path:
    save(snapshot, folder / name)
    return folder / name


def test_two_places_are_one_diagnosis_with_its_matrix(files: tuple[Path, Path]) -> None:
    result = run("diagnose", "--from", files[0], "--from", files[1])
    assert result.exit_code == 21
    assert "CRITICAL KFX803 broker 1" in result.stdout
    assert "  broker           1    2    3\n  az1 (08:00:00Z)  yes  no   no\n" in result.stdout
    assert "from az1: reaches: broker 1" in run("diagnose", "--from", files[0], "--from", files[1], "-v").stdout
    assert result.stderr == ""


def test_the_order_of_files_does_not_matter_in_any_output(files: tuple[Path, Path]) -> None:
    for more in ((), ("--json",), ("--nagios",), ("--group", "g2")):
        told = [run("diagnose", "--from", a, "--from", b, *more) for a, b in (files, files[::-1])]
        assert told[0].stdout == told[1].stdout
        assert told[0].exit_code == told[1].exit_code
    said = json.loads(run("diagnose", "--from", files[1], "--from", files[0], "--json").stdout)
    assert said["exit_code"] == 21
    assert [v["name"] for v in said["vantages"]] == ["az1", "az2"]


def test_one_file_is_read_as_ever(tmp_path: Path, files: tuple[Path, Path]) -> None:
    plain = written(tmp_path, "one.json", healthy())
    one, twice = run("diagnose", "--from", plain), run("diagnose", "--from", plain, "--from", plain)
    assert one.exit_code == twice.exit_code == 0
    assert one.stdout == twice.stdout
    assert "reached from" not in one.stdout
    (tmp_path / "pasted.txt").write_text(DESCRIBED)
    assert run("diagnose", "--from", tmp_path / "pasted.txt").exit_code == 22


def refused(tmp_path: Path, files: tuple[Path, Path], name: str) -> str:
    """What is said of the second file, with exit code 2 and on standard error alone."""
    result = run("diagnose", "--from", files[0], "--from", tmp_path / name)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.replace(f"{tmp_path}/", "")


def test_what_cannot_be_merged_is_refused_with_the_name_of_its_file(tmp_path: Path, files: tuple[Path, Path]) -> None:
    other = two()[1]
    (tmp_path / "pasted.txt").write_text(DESCRIBED)
    (tmp_path / "torn.json").write_text((tmp_path / "az1.json").read_text()[:-9])
    written(tmp_path, "prod-2.json", replace(other, cluster=replace(other.cluster, id="prod-2")))
    written(tmp_path, "late.json", replace(other, taken_at=other.taken_at + 600))
    written(tmp_path, "same.json", replace(other, vantages=(replace(other.vantages[0], name="az1"),)))
    wanted = {
        "pasted.txt": "pasted.txt: is not a snapshot; text names neither its cluster nor its vantage",
        "torn.json": "torn.json:1:",
        "no-such.json": "no-such.json: cannot be read: no such file or directory",
        "prod-2.json": "az1.json is of cluster paper, prod-2.json is of cluster prod-2: only snapshots of one cluster",
        "late.json": "late.json at 2027-01-15 08:10:01Z, 601 s later",
        "same.json": "az1.json and same.json are both of vantage 'az1' and reached different servers",
    }
    for name, words in wanted.items():
        said = refused(tmp_path, files, name)
        assert words in said
        assert len(said.splitlines()) <= 2  # the hint has a line of its own


def test_a_file_without_a_cluster_id_is_trusted_and_reported(tmp_path: Path, files: tuple[Path, Path]) -> None:
    here = two()[0]
    nameless = written(tmp_path, "nameless.json", replace(here, cluster=replace(here.cluster, id="")))
    result = run("diagnose", "--json", "--from", nameless, "--from", files[1])
    assert result.exit_code == 21
    assert "nameless.json: has no cluster id; kfix assumes cluster paper" in result.stderr
    assert json.loads(result.stdout)["cluster"] == "paper"


def test_saved_snapshots_and_live_ones_do_not_go_together(files: tuple[Path, Path]) -> None:
    result = run("diagnose", "--from", files[0], "--from", files[1], "--bootstrap-server", "b:1")
    assert result.exit_code == 2


def test_a_saved_snapshot_is_shown_with_its_vantage(files: tuple[Path, Path]) -> None:
    said = run("snapshot", "show", files[0])
    assert "seen from az1: reaches broker 1, zookeeper zk-a:2181" in said.stdout
    assert json.loads(run("snapshot", "show", files[0], "--json").stdout)["vantages"][0]["name"] == "az1"


@pytest.mark.parametrize("name", ["", " az1", "a\tb", "x" * 41])
def test_a_name_that_is_none_is_refused_before_anybody_is_asked(tmp_path: Path, name: str) -> None:
    result = run("snapshot", "save", tmp_path / "a.json", "--bootstrap-server", "h:1", "--vantage", name)
    assert result.exit_code == 2
    assert "--vantage" in result.stderr


@pytest.mark.parametrize(("told", "name"), [((), "kafka-7"), (("--vantage", "az1"), "az1")])
def test_a_saved_snapshot_has_its_own_name_or_that_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: tuple[str, ...], name: str
) -> None:
    class Seen(FakeWiring):
        def snapshot(self, access: Access, options: SnapshotOptions) -> Snapshot:
            return seen_by(healthy(), options.vantage, {1, 2, 3})

    behind = Seen(ALL["coordinator-stuck"]().cluster).app(tmp_path)
    monkeypatch.setattr(socket, "gethostname", lambda: "kafka-7.example")
    path = tmp_path / "now.json"
    assert run("snapshot", "save", path, "--bootstrap-server", "h:1", *told, behind=behind).exit_code == 0
    assert [v.name for v in parse(read_text(path), path).vantages] == [name]
