"""A host whose clock is wrong: the environment in which a command sees another wall clock, by `skewed.c`."""

import datetime as dt
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import seconds

#: Kafka's logs have whole seconds here.
_SECOND = dt.timedelta(seconds=1)
#: More than a diagnosis needs on a busy machine, and far less than the clocks are off.
_LATELY = 90


def skewed(folder):
    """Returns a function of seconds: the environment of a process whose wall clock is that much ahead."""
    shim = folder / "skewed.so"
    source = Path(__file__).with_name("skewed.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, source], check=True, timeout=seconds(60))
    return lambda seconds: {"LD_PRELOAD": str(shim), "KFIX_TEST_CLOCK": str(seconds)}


@contextmanager
def restarted(lab, node, seconds, folder, patch):
    """Restarts a broker on a host whose wall clock is `seconds` ahead; in the end it has the right clock again."""
    try:
        _restart(lab, node, seconds, folder, patch)
        yield
    finally:
        lab.mend()
        lab.restart(node)
        lab.mend()


def _restart(lab, node, seconds, folder, patch):
    began = dt.datetime.now().astimezone()
    with patch.context() as elsewhere:
        for name, value in skewed(folder)(seconds).items():
            elsewhere.setenv(name, value)
        lab.restart(node)
    *_, last = re.findall(r"^\[([-\d]+ [:\d]+),\d+\]", lab.store.log_file("broker", node).read_text(), re.MULTILINE)
    shown = dt.datetime.strptime(last, "%Y-%m-%d %H:%M:%S").astimezone() - dt.timedelta(seconds=seconds)
    assert began - _SECOND <= shown <= dt.datetime.now().astimezone(), f"the broker's log has the time {last}"


def no_fault_until_killed(kfix, broker):
    """Nothing is found or unread. Once killed, the broker is dated right, and so may be restarting: no alarm either."""
    said = kfix.diagnose("--debounce", "3", "--prevention")
    assert not [f["summary"] for f in said.every if f["severity"] != "info" and not f["prevention"]]
    assert said.json["could_not_read"] == []
    kfix.lab.kill(broker)
    said = kfix.on("diagnose", "--debounce", "0", "--restart-grace", "600")
    assert said.code == 0, said.out
    found = re.search(rf"no alarm, but broker {broker} has been gone for (?:about |at most )?(\d+) s", said.out)
    assert found, said.out
    assert int(found[1]) < seconds(_LATELY)
