"""Diagnoses over and over of a cluster that goes through what every cluster goes through: none may be an alarm."""

import threading
from contextlib import contextmanager

from tests.waiting import seconds, wait_until

#: Seconds until a fault that lasts would be above INFO; the lab's machine may need longer to start a process.
GRACE = "90"


class Alarms(list[tuple[int, list[str], list[str]]]):
    """What the diagnoses found above INFO, or did not read."""

    def __init__(self):
        super().__init__()
        self.begun = self.ended = 0

    def wait_for_the_next(self):
        """Returns when a diagnosis has begun and ended: none has its first snapshot from before this moment."""
        last = self.begun + 1
        wait_until(lambda: self.ended >= last, "a diagnosis begins and ends", 60)


@contextmanager
def diagnosed(kfix):
    """Diagnoses over and over, and returns what was above INFO or not read."""
    found, over = Alarms(), threading.Event()

    def work():
        while not over.is_set():
            found.begun += 1
            # Longer than the shutdown of a broker, which closes its connections and is registered until its end.
            said = kfix.diagnose("--restart-grace", GRACE, "--debounce", "6")
            found.ended += 1
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
    assert found.ended >= 3


def settled(kfix):
    kfix.until(lambda said: said.code == 0, "the cluster settles", "--debounce", "0", "--restart-grace", "0", within=60)
