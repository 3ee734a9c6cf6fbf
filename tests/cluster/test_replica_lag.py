"""E3 on real brokers: a replica that is stuck, one that is too slow, one that catches up, told by two looks."""

import pytest


@pytest.mark.parametrize(
    ("kind", "pace", "code"), [("stuck", "stuck", 20), ("slow", "slow", 20), ("catching-up", "catching up", 0)]
)
def test_two_snapshots_show_the_pace_of_a_replica(kfix, lab, kind, pace, code):
    broken = lab.break_("replica-lagging", kind=kind)
    late = broken.details["lagging"]
    # On a busy machine a replica that was just started takes some seconds to fetch: the next look shows its pace.
    for _ in range(3):
        said = kfix.on("diagnose", "--json", "--debounce", "4")
        found = said.findings["KFX808"]
        if found["facts"]["pace"] == pace:
            break
    assert (found["facts"]["broker"], found["facts"]["pace"]) == (late, pace), said.out
    assert found["object"] == f"broker {late} {pace}"
    assert not set(said.findings) & {"KFX801", "KFX802", "KFX803", "KFX804", "KFX807"}, "slow is not cut"
    assert any("throttle" in each["text"] for each in found["remedies"]) is (pace != "catching up")
    if pace == "catching up":
        assert "will be in sync in about" in found["summary"]
        kfix.until(lambda said: "KFX302" not in said.findings, "it comes back by itself", "--debounce", "0", within=120)
