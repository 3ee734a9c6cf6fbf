"""`python -m tests.proofs.oracle TRIALS [SEED]`: a lab of its own, and the count as one line of JSON; `make oracle`.

Exit code 1 if a forecast was wrong.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

from kfix.lab import Lab, LabSpec
from tests.proofs.oracle.trials import Oracle

#: A stopped broker keeps its session for longer than its leader keeps it in the ISR.
SETTINGS = {"zookeeper.session.timeout.ms": "7000", "replica.lag.time.max.ms": "1500"}
STEPS = 3


def main() -> int:
    trials, *first = map(int, sys.argv[1:])
    spec = LabSpec(name="oracle", ids=(1, 2, 3, 4), racks=("a", "b", "c", "d"), settings=SETTINGS)
    lab, began, number = Lab.up(spec), time.monotonic(), 0
    try:
        lab.break_("healthy")
        with lab.access() as access:
            oracle = Oracle(lab, access, first[0] if first else 1, lagging=True)
            while oracle.tally.trials < trials:
                oracle.round(number, STEPS)
                number += 1
                done = oracle.tally
                line = f"{done.trials} of {trials} trials, {len(done.differences)} differences"
                print(line, *done.differences[-9:], sep="\n  ", file=sys.stderr, flush=True)  # noqa: T201
    finally:
        lab.down()
    found = replace(oracle.tally)
    print(json.dumps(found.as_json() | {"rounds": number, "seconds": round(time.monotonic() - began)}))  # noqa: T201
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main())
