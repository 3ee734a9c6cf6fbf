"""`kfix preflight plan`: whether a plan would begin now; nothing is locked, written or changed."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.shell.app import app
from tests.unit.shell import console
from tests.unit.shell.console import changes, one_line, plan_file, wire


@pytest.fixture
def weak(monkeypatch, tmp_path):
    """orders has 6 partitions of 2 replicas on 3 brokers, and nothing is wrong."""
    return wire("weak-topic", monkeypatch, tmp_path)


def preflight(file, *more):
    return CliRunner().invoke(
        app, ["preflight", "plan", str(file), "--bootstrap-server", "h:1", *more], obj=console.behind
    )


def below(folder):
    return sorted(str(path) for path in Path(folder).rglob("*"))


def test_a_plan_that_would_begin_is_safe_and_leaves_no_trace(weak, tmp_path):
    file, _ = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    before = below(tmp_path)
    said = preflight(file)
    assert (said.exit_code, said.stdout.startswith(f"safe: plan {file}")) == (0, True), said.output
    assert (below(tmp_path), changes(weak)) == (before, [])


def test_a_plan_whose_facts_have_changed_is_unsafe(weak, tmp_path):
    file, _ = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    weak.cluster.kill(3)
    said = preflight(file)
    assert said.exit_code == 23, said.output
    assert "waiting does not help" not in said.stdout
    assert "next: " in said.stdout


def test_an_old_plan_is_unsafe(weak, tmp_path):
    file, _ = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    weak.cluster.clock.at += 90_000
    said = preflight(file)
    assert (said.exit_code, " expired at " in one_line(said.stdout)) == (23, True), said.output


def test_a_plan_that_was_altered_is_refused_as_it_is_by_apply(weak, tmp_path):
    file, _ = plan_file(tmp_path, "raise-topic-rf", "-p", "topic=orders")
    text = Path(file).read_text()
    Path(file).chmod(0o600)
    Path(file).write_text(text.replace('"orders-0"', '"orders-9"', 1))
    assert preflight(file).exit_code in {2, 3}
    assert changes(weak) == []
