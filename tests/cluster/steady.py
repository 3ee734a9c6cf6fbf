"""Diagnoses over and over of a cluster that goes through what every cluster goes through: none may be an alarm."""

import threading
from contextlib import contextmanager

from tests.waiting import seconds

#: Seconds until a fault that lasts would be above INFO; the lab's machine may need longer to start a process.
GRACE = "90"


@contextmanager
def diagnosed(kfix):
    """Diagnoses over and over, and returns what was above INFO or not read."""
    found, count, over = [], [], threading.Event()

    def work():
        while not over.is_set():
            said = kfix.diagnose("--restart-grace", GRACE)
            count.append(said.code)
            worse = [f"{f['code']} {f['summary']}" for f in said.json["findings"] if f["severity"] != "info"]
            if said.code != 0 or worse:
                found.append((said.code, worse, said.json["could_not_read"]))
            over.wait(0.5)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join(seconds(60))
    assert len(count) >= 3


def settled(kfix):
    kfix.until(lambda said: said.code == 0, "the cluster settles", "--debounce", "0", "--restart-grace", "0", within=60)
