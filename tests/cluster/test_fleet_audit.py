"""The audit of a real fleet: several labs at once, two of them sick, one unreachable, one that never answers."""

import csv
import json
import socket
from pathlib import Path

import pytest

from kfix.lab import Lab, LabSpec
from tests.spark.standalone import Standalone
from tests.waiting import wait_until

FLEET = """
apiVersion: kfix/v1
kind: Fleet
defaults:
  timeout: 8s
  restart_grace: 0s  # what a restart explains for two minutes would come and go between two audits
clusters:
  orders: {{bootstrap: "{orders}", owner: team-a, tags: [prod], criticality: high}}
  payments: {{bootstrap: "{payments}", owner: team-b, tags: [prod]}}
  small: {{bootstrap: "{small}", expected: {{rf: 1, min_isr: 1}}}}
  gone: {{bootstrap: "127.0.0.1:{closed}"}}
  hung: {{bootstrap: "127.0.0.1:{silent}", timeout: 2s}}
mutes:
  - {{clusters: [small], findings: [KFX613], reason: a laboratory, until: 2099-01-01, by: tests}}
"""


@pytest.fixture(scope="module")
def others(shared_lab):
    # The fixture before has chosen the folder of labs.
    labs = [Lab.up(LabSpec(name="fleet-b", racks=("a", "b", "c"))), Lab.up(LabSpec(name="fleet-c", ids=(1,)))]
    try:
        labs[0].break_("healthy")
        labs[0].mend()
        yield labs
    finally:
        for lab in labs:
            lab.down()


@pytest.fixture
def fleet(lab, others, tmp_path):
    with socket.socket() as closed, socket.socket() as silent:
        closed.bind(("127.0.0.1", 0))  # bound, and nobody listens
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        text = FLEET.format(
            orders=lab.bootstrap_servers,
            payments=others[0].bootstrap_servers,
            small=others[1].bootstrap_servers,
            closed=closed.getsockname()[1],
            silent=silent.getsockname()[1],
        )
        path = tmp_path / "fleet.yaml"
        path.write_text(text)
        yield path


def keys(said, cluster):
    return {f["key"]: f["status"] for f in said.json["findings"] if f["cluster"] == cluster}


def of(said, cluster):
    return next(c for c in said.json["clusters"] if c["cluster"] == cluster)


def test_a_fleet_that_becomes_sick_is_reported_and_is_healthy_again(kfix, lab, others, fleet, tmp_path):
    store, out = tmp_path / "store", tmp_path / "out"
    out.mkdir()

    def audit(run, *more, timeout=120):
        given = ("audit", "-i", fleet, "--store", store, "--run", run, *more)
        return kfix.run(*given, timeout=timeout)

    first = audit("one", "--json", "--fail-on", "critical")
    assert first.code == 22, first.err
    assert {c["cluster"]: c["collected"] for c in first.json["clusters"]} == {
        "orders": True,
        "payments": True,
        "small": True,
        "gone": False,
        "hung": False,
    }
    assert all(f["severity"] != "critical" for f in first.json["findings"]), first.out
    assert "connection refused" in of(first, "gone")["why"]
    assert of(first, "hung")["score"] is None

    broken = lab.break_("coordinator-stuck")
    others[0].kill(2)
    with others[0].access() as access:
        wait_until(lambda: 2 not in access.live_ids(), "broker 2 is not registered any more", 30)
    files = {kind: out / f"fleet.{kind}" for kind in ("html", "csv", "prom", "md")}
    written = [files["html"], files["csv"], files["prom"], files["md"]]
    options = [w for pair in zip(("--html", "--csv", "--prometheus", "--markdown"), written, strict=True) for w in pair]
    second = audit("two", "--json", *options)
    assert second.code == 21, second.err
    stuck = next(f for f in second.json["findings"] if f["code"] == "KFX101")
    assert (stuck["cluster"], stuck["status"], stuck["severity"]) == ("orders", "new", "critical")
    assert broken.group in stuck["blocked_groups"]
    assert "kfix runbook apply coordinator-stuck" in stuck["command"]
    assert keys(second, "payments")["KFX401:broker 2"] == "new"
    assert keys(second, "gone") == {"KFX701:cluster": "still"}
    assert second.json["clusters"][2]["cluster"] == "orders", "the unknown first, then the riskiest"
    assert {(f["cluster"], f["muted"]) for f in second.json["findings"] if f["code"] == "KFX613"} >= {("small", True)}
    rows = list(csv.DictReader(files["csv"].read_text().splitlines()))
    assert len(rows) == len(second.json["findings"])
    assert 'kfix_audit_cluster_collected{cluster="gone"' in files["prom"].read_text()
    assert "KFX101" in files["md"].read_text()
    assert "orders" in files["html"].read_text()

    # The same checks as one cluster's own diagnosis, on the same state.
    for name, one in (("orders", lab), ("payments", others[0])):
        own = kfix.run(
            "diagnose",
            "--json",
            "--prevention",
            "--debounce",
            "0",
            "--restart-grace",
            "0",
            "--bootstrap-server",
            one.bootstrap_servers,
        )
        assert {f["key"] for f in own.every} == {
            key for key, status in keys(second, name).items() if status != "fixed" and not key.startswith("KFX7")
        }

    again = audit("two", "--only-new", "--fail-on", "never")
    assert (again.code, again.err) == (0, "")
    lab.mend()
    others[0].mend()
    third = audit("three", "--json")
    assert keys(third, "orders")[stuck["key"]] == "fixed"
    assert keys(third, "payments")["KFX401:broker 2"] == "fixed"
    quiet = audit("four", "--only-new", "--fail-on", "never")
    assert quiet.out == "", quiet.out
    told = kfix.run("audit", "query", "SELECT count(*) AS n FROM partitions", "--store", store, "--json")
    shown = kfix.run("audit", "show", "--store", store, "--json", "--fail-on", "never")
    assert json.loads(told.out)[0]["n"] == sum(c["partitions"] for c in shown.json["clusters"]) > 0
    assert not [p for p in Path(out).iterdir() if p.name.startswith(".")]


def test_a_standalone_spark_cluster_collects_and_judges_it(kfix, fleet, tmp_path):
    """One task a cluster; the workers reach the brokers by themselves, and write the store."""
    (tmp_path / "spark").mkdir()
    given = ("audit", "-i", fleet, "--json", "--fail-on", "never", "-q")
    with Standalone(tmp_path / "spark", workers=2) as spark:
        on_spark = ("--spark", spark.url, "--collect", "spark")
        there = kfix.run(*given, "--store", tmp_path / "there", *on_spark, timeout=250)
    assert there.code == 0, there.err
    here = kfix.run(*given, "--store", tmp_path / "here", timeout=120)
    assert "spark" in there.json["engine"]

    def results_of(said):
        findings = {(f["cluster"], f["key"], f["status"], f["severity"]) for f in said.json["findings"]}
        return findings, {c["cluster"]: (c["collected"], c["partitions"]) for c in said.json["clusters"]}

    assert results_of(there) == results_of(here)
    assert {c["cluster"] for c in there.json["clusters"] if not c["collected"]} == {"gone", "hung"}
