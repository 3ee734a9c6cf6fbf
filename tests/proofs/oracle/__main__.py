"""A lab of its own, trials on it, and the count as one line of JSON; `make oracle`.

Exit code 1 if a forecast was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace

from kfix.lab import Lab, LabSpec
from kfix.lab.definition.recipes import ZK
from tests.proofs.oracle.trials import Oracle

#: A stopped broker keeps its session for longer than its leader keeps it in the ISR.
SETTINGS = {"zookeeper.session.timeout.ms": "7000", "replica.lag.time.max.ms": "1500"}
STEPS = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.oracle", description=__doc__)
    parser.add_argument("trials", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kafka", default="2.7.1")
    parser.add_argument("--mode", choices=("zk", "kraft"))
    given = parser.parse_args()
    spec = LabSpec(name="oracle", kafka=given.kafka, mode=given.mode, ids=(1, 2, 3, 4), racks=("a", "b", "c", "d"))
    on_zookeeper = spec.recipe.mode == ZK
    spec = replace(spec, settings=SETTINGS) if on_zookeeper else replace(spec, controllers=3)
    lab, began, number = Lab.up(spec), time.monotonic(), 0
    try:
        lab.break_("healthy")
        with lab.access() as access:
            oracle = Oracle(lab, access, given.seed, lagging=on_zookeeper)
            while oracle.tally.trials < given.trials:
                oracle.round(number, STEPS)
                number += 1
                done = oracle.tally
                line = f"{done.trials} of {given.trials} trials, {len(done.differences)} differences"
                print(line, *done.differences[-9:], sep="\n  ", file=sys.stderr, flush=True)  # noqa: T201
    finally:
        lab.down()
    found = replace(oracle.tally)
    print(json.dumps(found.as_json() | {"rounds": number, "seconds": round(time.monotonic() - began)}))  # noqa: T201
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main())
