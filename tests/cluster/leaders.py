"""Which partitions have a leader for clients, in rounds of questions to all brokers, beside a test."""

import threading
import time
from collections import Counter


class Led:
    """`rounds` is how many rounds there were, `longest` the most in a row in which one partition was offline.

    A partition is offline in a round if no broker that answers names a leader that answers. `seconds` is how long the
    longest such time was.
    """

    def __init__(self, lab):
        self.rounds = self.longest = 0
        self.seconds = 0.0
        self._lab, self._over = lab, threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def __str__(self):
        return f"offline for {self.longest} of {self.rounds} rounds, {self.seconds:.1f} s"

    @property
    def share(self):
        return self.longest / self.rounds

    def _ask(self):
        in_a_row, since = Counter(), {}
        with self._lab.access() as access:
            while not self._over.wait(0.1):
                began = time.monotonic()
                asked = {broker: access.metadata(broker) for broker in self._lab.broker_ids}
                found = {broker: answer.partitions for broker, answer in asked.items() if answer is not None}
                every = {tp for each in found.values() for tp in each}
                led = {tp for each in found.values() for tp, view in each.items() if view.leader in found}
                self.rounds += 1
                for tp in led:
                    in_a_row.pop(tp, None), since.pop(tp, None)
                for tp in every - led:
                    in_a_row[tp] += 1
                    self.longest = max(self.longest, in_a_row[tp])
                    self.seconds = max(self.seconds, time.monotonic() - since.setdefault(tp, began))
