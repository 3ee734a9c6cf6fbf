"""A broker that is dead stays an alarm, and its age is right, while another one restarts and the controller changes."""

from __future__ import annotations

import time

from kfix.core.criteria import Criteria
from kfix.core.derive.casefile import open_case
from kfix.diagnose.snapshots import load_snapshot
from tests.cluster.watched import inbox, posting_to, watching
from tests.waiting import wait_until

GRACE = 10


def ages(kfix, file, broker):
    """Returns the bounds of the age of a broker that is gone, and when the snapshot was taken."""
    assert kfix.on("snapshot", "save", file).code == 0
    snapshot = load_snapshot(file)
    return open_case(snapshot, Criteria(restart_grace=GRACE)).absence(broker), snapshot.taken_at


def outside(absence, least, most):
    """Returns the bounds of an age that the truth contradicts: not of how quick the machine is."""
    too_old = absence.at_least is not None and absence.at_least > most + 1
    too_young = absence.at_most is not None and absence.at_most < least - 1
    return ["at least"] * too_old + ["at most"] * too_young


def test_a_restart_of_another_broker_hides_no_dead_one(kfix, lab, tmp_path):
    lab.break_("healthy")
    other, gone = lab.broker_ids[-2:]
    key = f"KFX401:broker {gone}"
    with (
        inbox() as (url, notices),
        watching(kfix, tmp_path, "--restart-grace", GRACE, "--notify", posting_to(tmp_path, url)) as watch,
        lab.access() as access,
    ):
        at = watch.says(": healthy")
        lab.kill(gone)
        killed = time.time()
        wait_until(lambda: gone not in access.live_ids(), "the session ends", 40)
        left = time.time()
        at = watch.says("new", key.replace(":", " "), after=at)
        time.sleep(max(0.0, left + 2 * GRACE - time.time()))
        lab.kill(other)
        wait_until(lambda: other not in access.live_ids(), "the session ends", 40)
        lab.restart(other)
        wait_until(lambda: other in access.live_ids(), "it registers again", 60)
        options = ("--debounce", "0", "--restart-grace", str(GRACE))
        wait_until(lambda: set(kfix.diagnose(*options).findings) >= {"KFX401"}, "it is back", 30)
        access.drop_controller()
        wait_until(lambda: access.controller() is not None, "a controller", 40)
        said = kfix.until(lambda said: "KFX401" in said.findings, "the dead broker is found", *options)
        absence, taken_at = ages(kfix, tmp_path / "now.json", gone)
        alone = kfix.on("diagnose", *options, "--nagios")
        watch.says(f"fixed KFX401 broker {other}", after=at)
        text = watch.text
    found = said.findings["KFX401"]
    assert (said.code, found["severity"], f"broker {gone}" in found["summary"]) == (20, "warning", True), said.out
    assert "at least" in found["summary"]
    assert "restart" not in found["summary"]
    assert outside(absence, taken_at - left, taken_at - killed) == [], absence
    assert alone.code == 1, alone.out
    assert f"fixed KFX401 broker {gone}" not in text, text
    assert "fixed KFX401 brokers" not in text, text
    assert [n["kind"] for n in notices if n["key"] == key and n["over"]] == []
    lab.mend()
