"""Looks saved on both sides of a real cut, put together: one finding, with what each side reached."""

import os
import subprocess

import pytest

from kfix.lab import Lab, LabSpec
from tests.cluster.conftest import KFIX, Kfix, lab_of_its_own
from tests.waiting import seconds

pytestmark = [pytest.mark.xdist_group("cluster-zones")]


def start():
    return Lab.up(LabSpec(name="vantages", zones=3, zookeepers=3))


own, three = lab_of_its_own(start)


def save_in(lab, names, folder):
    """A file a zone, all at once; {zone: (the file, exit code of the command)}."""
    started = {}
    for name in names:
        # No place knows what another one remembers.
        env = os.environ | {"KFIX_STATE_HOME": str(folder / f"state-{name}"), "NO_COLOR": "1"}
        path = folder / f"{name}.json"
        words = ["snapshot", "save", "--vantage", name, str(path), "--bootstrap-server", lab.bootstrap_servers]
        started[name] = (
            path,
            subprocess.Popen(
                [*lab.zone(name).host().prefix, KFIX, *words],
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ),
        )
    return {name: (path, process.wait(timeout=seconds(30))) for name, (path, process) in started.items()}


def test_both_sides_of_a_cut_show_together_what_neither_shows_alone(three, tmp_path):
    broken = three.break_("zone-isolated-with-leader")
    alone, here = broken.details["isolated"], broken.details["zone"]
    there = next(zone.name for zone in three.zones() if zone.name != here)
    kfix = Kfix(three, tmp_path / "home")
    others = sorted(set(three.broker_ids) - {alone})
    servers = {node.zone: f"zookeeper {three.zone(node.zone).address}:{node.port}" for node in three.state.zookeepers}

    saved = save_in(three, (here, there), tmp_path)
    assert {name: code for name, (_, code) in saved.items()} == {here: 22, there: 0}
    paths = [word for path, _ in saved.values() for word in ("--from", path)]
    merged = kfix.run("diagnose", "--json", "--restart-grace", "0", *paths)
    live = kfix.on("diagnose", "--json", "--debounce", "0", "--restart-grace", "0", "--no-keep")

    assert merged.code == live.code == 21
    assert merged.json["could_not_read"] == []
    [head] = merged.json["findings"]
    [same] = live.json["findings"]
    assert head["key"] == same["key"] == "KFX803:zone"
    assert {f["key"] for f in head["folded"]} >= {f"KFX403:broker {alone}", f"KFX203:broker {alone}"}
    assert head["facts"]["two_leaders"] == same["facts"]["two_leaders"] > 0
    assert head["facts"]["forecast_exact"] is True
    assert 0 <= head["facts"]["forecast_total"] <= same["facts"]["forecast_total"]

    rows = {e["source"]: e["value"] for e in head["evidence"] if e["what"] == "reaches"}
    assert rows[f"from {here}"].startswith(f"broker {alone}, {servers[here]}; does not reach broker {others[0]} (")
    assert rows[f"from {there}"].startswith(f"broker {others[0]}, broker {others[1]}, ")
    assert f"does not reach broker {alone} (" in rows[f"from {there}"]

    reach = {v["name"]: v["reach"] for v in merged.json["vantages"]}
    for name, mine in ((here, {alone}), (there, set(others))):
        assert {b: reach[name][f"broker {b}"] for b in three.broker_ids} == {b: b in mine for b in three.broker_ids}
        inside = {here} if name == here else servers.keys() - {here}
        assert {z: reach[name][s] for z, s in servers.items()} == {z: z in inside for z in servers}

    text = kfix.run("diagnose", "--restart-grace", "0", *paths).out
    matrix = {line.split()[0]: line.split()[2:] for line in text.split("\n\n")[1].splitlines()[2:4]}
    assert matrix[here] == ["yes" if b == alone else "no" for b in three.broker_ids]
    assert matrix[there] == ["no" if b == alone else "yes" for b in three.broker_ids]

    three.mend()
    whole = save_in(three, (here, there), tmp_path / "home")
    after = kfix.run(
        "diagnose", "--json", "--restart-grace", "0", *(w for p, _ in whole.values() for w in ("--from", p))
    )
    assert not any(f["code"].startswith("KFX80") for f in after.every)
    assert all(all(v["reach"].values()) for v in after.json["vantages"])
