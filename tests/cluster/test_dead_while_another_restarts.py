"""A broker that is dead stays an alarm while another one restarts, although that rewrites every record without it."""

from __future__ import annotations

import time

from tests.cluster.watched import inbox, posting_to, watching
from tests.waiting import wait_until

GRACE = 10


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
        said = kfix.diagnose(*options)
        alone = kfix.on("diagnose", *options, "--nagios")
        watch.says(f"fixed KFX401 broker {other}", after=at)
        text = watch.text
    found = said.findings["KFX401"]
    assert (said.code, found["severity"], f"broker {gone}" in found["summary"]) == (20, "warning", True), said.out
    assert "at least" in found["summary"]
    assert "restart" not in found["summary"]
    assert alone.code == 1, alone.out
    assert f"fixed KFX401 broker {gone}" not in text, text
    assert "fixed KFX401 brokers" not in text, text
    assert [n["kind"] for n in notices if n["key"] == key and n["over"]] == []
    lab.mend()
