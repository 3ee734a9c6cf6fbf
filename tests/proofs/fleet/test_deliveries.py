"""News that was not delivered is reported again, after a full disk, a closed pipe, a kill, or another reader."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import UsageError
from kfix.fleet.audit.reading import find_audit
from kfix.fleet.cli.audit_outputs import Outputs
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.store import deliveries
from kfix.fleet.store.places import place_of
from kfix.front.terminal import guarded, run_on
from tests.places import ROOT
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited
from tests.unit.fleet.audit_runs import cluster, day_of, reported

DEAD = "KFX401 a"
CRON = Outputs(only_new=True, fail_on="never", records=True)


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """The reports of four days in one store: healthy, a broker dies, it is still dead, it is still dead."""
    root, engine = tmp_path_factory.mktemp("days") / "store", EmbeddedEngine(1)
    made = [
        audited(root, [cluster("a", number, dead=dead)], engine, number=number)
        for number, dead in enumerate((0, 1, 1, 1))
    ]
    return [reported(root, each, engine) for each in made]


@pytest.fixture(autouse=True)
def unused(days):
    yield
    subprocess.run(["rm", "-rf", str(Path(days[0].store) / "channels")], check=True)


@contextmanager
def output(file):
    before, sys.stdout = sys.stdout, file
    try:
        yield file
    finally:
        sys.stdout = before


def said(outputs, report, tmp_path):
    """Returns what the outputs print to a file."""
    with (tmp_path / "mail").open("w") as file, output(file):
        outputs.write(report)
    return (tmp_path / "mail").read_text()


def test_news_is_reported_once_on_each_channel(days, tmp_path):
    assert DEAD not in said(CRON, days[0], tmp_path)
    assert DEAD in said(CRON, days[1], tmp_path)
    assert DEAD not in said(CRON, days[2], tmp_path)
    chat = Outputs(markdown=str(tmp_path / "m"), fail_on="never", records=True)
    said(chat, days[2], tmp_path)
    assert "KFX401" not in (tmp_path / "m").read_text(), "a new channel begins with what is new"


def test_a_full_disk_loses_no_news(days, tmp_path):
    said(CRON, days[0], tmp_path)
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("w") as full, output(full):
        CRON.write(days[1])
    assert DEAD in said(CRON, days[2], tmp_path)
    assert DEAD not in said(CRON, days[3], tmp_path)


def test_the_first_delivery_of_all_may_fail_as_well(days, tmp_path):
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("w") as full, output(full):
        CRON.write(days[1])
    assert DEAD in said(CRON, days[2], tmp_path)


@pytest.mark.parametrize(
    ("outputs", "news"),
    [(CRON, DEAD), (replace(CRON, only_new=False, markdown="-"), "(new) `a` `KFX401")],
    ids=["text", "document"],
)
def test_a_closed_pipe_loses_no_news(days, tmp_path, outputs, news):
    said(outputs, days[0], tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe, output(pipe), guarded():
        run_on()
        assert outputs.write(days[1]) == 0
    assert news in said(outputs, days[2], tmp_path)
    assert news not in said(outputs, days[3], tmp_path)


def test_a_closed_standard_output_is_no_delivery(days, tmp_path):
    said(CRON, days[0], tmp_path)
    with output(None):
        CRON.write(days[1])
    assert DEAD in said(CRON, days[2], tmp_path)


def test_a_file_that_cannot_be_written_spares_the_other_outputs_and_is_delivered_next(days, tmp_path):
    chat = tmp_path / "chat"
    both = Outputs(markdown=str(chat / "m"), only_new=True, fail_on="never", records=True)
    chat.mkdir()
    said(both, days[0], tmp_path)
    (chat / "m").unlink()
    chat.rmdir()
    with pytest.raises(UsageError, match="does not exist"):
        said(both, days[1], tmp_path)
    assert DEAD in (tmp_path / "mail").read_text()
    chat.mkdir()
    assert DEAD not in said(both, days[2], tmp_path)
    assert "KFX401" in (chat / "m").read_text()


def test_another_reader_takes_nothing_away(days, tmp_path):
    said(CRON, days[0], tmp_path)
    said(Outputs(fail_on="never", records=True), days[1], tmp_path)
    said(Outputs(only_new=True, fail_on="never"), days[1], tmp_path)
    assert DEAD in said(Outputs(only_new=True, fail_on="never", channel="me"), days[1], tmp_path)
    terminal, peer = os.openpty()
    with os.fdopen(peer, "w") as tty, output(tty):
        CRON.write(days[1])
    os.close(terminal)
    assert DEAD in said(CRON, days[2], tmp_path)


def test_the_report_of_a_delivered_audit_stays_the_same(days, tmp_path):
    said(CRON, days[0], tmp_path)
    mailed = said(CRON, days[1], tmp_path)
    said(CRON, days[2], tmp_path)
    assert said(Outputs(only_new=True, fail_on="never"), days[1], tmp_path) == mailed


def test_the_threshold_is_about_what_the_channel_reports(days, tmp_path):
    fresh = Outputs(only_new=True, fail_on="new-warning", records=True)
    with (tmp_path / "mail").open("w") as file, output(file):
        fresh.write(days[0])
        assert fresh.write(days[2]) == 20
        assert fresh.write(days[3]) == 0


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_around_the_record_repeats_news_and_loses_none(days, tmp_path, moment):
    said(CRON, days[0], tmp_path)
    script = f"""
import os, signal, sys
from kfix.fleet.store import deliveries
from kfix.shell.app import app
real = deliveries.Channel.record
def dies(self, delivery):
    {"real(self, delivery)" if moment == "after" else "pass"}
    os.kill(os.getpid(), signal.SIGKILL)
deliveries.Channel.record = dies
sys.argv = ["kfix", "audit", "show", "--only-new", "--channel", "only-new", *{["--store", days[0].store]}]
sys.argv += ["--date", "{day_of(1)}"]
app()
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "KFIX_STATE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT, env=env
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert DEAD in done.stdout
    assert (DEAD in said(CRON, days[2], tmp_path)) == (moment == "before")


def test_a_damaged_state_of_a_channel_is_named_and_costs_no_news(days, tmp_path, capsys):
    said(CRON, days[0], tmp_path)
    said(CRON, days[1], tmp_path)
    [first, last] = sorted((Path(days[0].store) / "channels" / "only-new").glob("2*"))
    last.write_bytes(last.read_bytes()[:40])
    assert DEAD in said(CRON, days[2], tmp_path)
    assert f"warning: {last}: is damaged" in capsys.readouterr().err
    for each in first.parent.iterdir():
        each.write_text("{}")
    assert DEAD in said(CRON, days[3], tmp_path)


def test_a_channel_keeps_its_last_deliveries(days, tmp_path, monkeypatch):
    monkeypatch.setattr(deliveries, "KEPT", 2)
    for report in days:
        said(CRON, report, tmp_path)
    names = sorted(p.name[:10] for p in (Path(days[0].store) / "channels" / "only-new").iterdir())
    assert names == [str(day_of(2)), str(day_of(3))]


def test_a_channel_needs_a_plain_name(days):
    with pytest.raises(UsageError, match="not a valid name"):
        Outputs(channel="../x").check()
    assert find_audit(place_of(days[0].store)).day == day_of(3)
