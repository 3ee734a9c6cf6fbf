"""Contexts on real brokers: what a name reaches, and another cluster behind the same name."""

import pytest

from kfix.lab import Lab, LabSpec
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


def test_another_cluster_behind_the_same_name_is_refused(kfix, lab, site):
    kfix.run("context", "add", "shop", "--bootstrap-server", lab.bootstrap_servers)
    first = kfix.run("diagnose", "-c", "shop", "--json").json["cluster"]
    other = Lab.up(LabSpec(name="other", ids=(1,)))
    try:
        site.write_text(site.read_text().replace(lab.bootstrap_servers, other.bootstrap_servers))
        said = kfix.run("diagnose", "-c", "shop", "--json")
        assert (said.code, said.json["exit_code"]) == (3, 3)
        assert f"this name stood for cluster {first}, and the cluster that answers now is " in said.err
        for words in (("snapshot", "save", "x.json"), ("whatif",), ("runbook", "plan", "coordinator-stuck")):
            assert kfix.run("-c", "shop", *words).code == 3
        assert not (site.parent / "x.json").exists()
        assert kfix.run("context", "test", "shop", "--accept-new-id").code == 0
        assert kfix.run("diagnose", "-c", "shop", "--json").json["cluster"] != first
    finally:
        other.down()
