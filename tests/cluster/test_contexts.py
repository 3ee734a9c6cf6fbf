"""Contexts on real brokers: what a name reaches, and what a watch of it expects."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.cluster.test_incidents import states


@pytest.fixture
def site(tmp_path, monkeypatch, lab):
    """A settings folder whose inventory names the cluster `orders`, and a working folder without one."""
    (tmp_path / "settings" / "kfix").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.delenv("KFIX_FLEET", raising=False)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "settings" / "kfix" / "fleet.yaml"


def test_a_context_is_added_tested_and_used(kfix, lab, site):
    assert kfix.run("context", "add", "orders", "--bootstrap-server", lab.bootstrap_servers).code == 0
    before = states(lab)
    said = kfix.run("context", "test", "orders")
    assert said.code == 0, said.err
    assert "orders: reached, in " in said.out
    assert "  security     PLAINTEXT\n" in said.out
    assert kfix.run("context", "test", "orders", "--json").json["brokers"] == sorted(lab.broker_ids)
    assert kfix.run("context", "use", "orders").code == 0
    assert states(lab) == before
    lab.break_("coordinator-stuck")
    said = kfix.run("diagnose", "--debounce", "3", "--json")
    assert said.code == 21
    commands = [r["command"] for r in said.findings["KFX101"]["remedies"] if r["runbook"]]
    assert commands
    assert all(" -c orders" in command for command in commands)
    said = kfix.run("-c", "orders", "runbook", "apply", "coordinator-stuck")
    assert said.code == 4, said.err
    assert " -c orders --approve" in said.err


def watched(kfix, *args):
    """Watches the context `orders` for three snapshots, and returns the outcome and the codes of the new findings."""
    quick = ("--every", "1", "--debounce", "1", "--restart-grace", "0", "--json")
    said = kfix.run("watch", "-c", "orders", *quick, *args)
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert {row["name"].split(" ")[0] for row in rows} <= {"orders"}
    return said, [row["finding"]["code"] for row in rows if row["kind"] == "new"]


def test_a_watch_of_a_context_has_its_mutes_its_window_and_what_it_expects(kfix, lab, site, tmp_path, monkeypatch):
    kfix.run("context", "add", "orders", "--bootstrap-server", lab.bootstrap_servers)
    plain, ring = site.read_text(), tmp_path / "ring"
    lab.break_("coordinator-stuck")
    said, new = watched(kfix, "--snapshots", "3", "--recorder", ring)
    assert (said.code, "KFX101" in new) == (21, True)

    day = (datetime.now(UTC) + timedelta(days=30)).date()
    site.write_text(f"{plain}mutes:\n  - {{clusters: [orders], findings: [KFX*], reason: known, until: {day}}}\n")
    said, new = watched(kfix, "--snapshots", "3")
    assert (said.code, new) == (kfix.run("diagnose", "-c", "orders", "--restart-grace", "0").code, [])
    said, new = watched(kfix, "--until", "healthy", "--within", "4")
    assert (said.code, new) == (22, [])

    now = datetime.now(UTC)
    begin, end = (f"{now + timedelta(hours=hours):%Y-%m-%dT%H:%MZ}" for hours in (-1, 1))
    site.write_text(f"{plain}    windows:\n      - {{why: upgrade, start: {begin}, end: {end}}}\n")
    said, new = watched(kfix, "--snapshots", "3")
    assert (said.code, "KFX101" in new) == (0, True), "a window hides nothing"
    assert watched(kfix, "--until", "healthy", "--within", "4")[0].code == 22

    site.write_text(f"{plain}    expected: {{rf: 4, min_isr: 3}}\n")
    said, new = watched(kfix, "--snapshots", "3", "--prevention")
    latent = kfix.run("diagnose", "-c", "orders", "--prevention", "--json", "--debounce", "1", "--restart-grace", "0")
    assert "4 are expected" in latent.findings["KFX601"]["summary"]
    assert "4 are expected" in said.out

    # A recording is judged without an inventory, whatever the environment names for other commands.
    monkeypatch.setenv("KFIX_CLUSTER", "orders")
    for address in ("", lab.bootstrap_servers):
        monkeypatch.setenv("KFIX_BOOTSTRAP_SERVER", address)
        again = kfix.run("watch", "--from-recorder", ring, "--debounce", "1", "--restart-grace", "0")
        assert (again.code, "new critical KFX101" in again.out) == (21, True), again.err
        report = kfix.run("report", "incident", "--recorder", ring, "--json")
        assert (report.code, "KFX101" in {c["code"] for c in report.json["causes"]}) == (0, True), report.err
    name, recorded = ("-c", "orders"), ("--from-recorder", ring)
    for words in (("watch", *name, *recorded), (*name, "watch", *recorded)):
        refused = kfix.run(*words)
        assert (refused.code, refused.out) == (2, "")
        assert "--from-recorder reads a recording; leave out the options for a live cluster" in refused.err
    refused = kfix.run("-c", "orders", "report", "incident", "--recorder", ring)
    assert (refused.code, refused.out) == (2, "")
    assert "does not act on a single cluster: leave out -c orders before it" in refused.err
