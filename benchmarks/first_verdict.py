"""How long an operator at a terminal waits for the first verdict while one broker is frozen.

python -m benchmarks.first_verdict [RUNS]    a lab of 3 brokers; about half a minute, and 7 s a run
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pexpect

from kfix.lab import Lab, LabSpec

KFIX = str(Path(sys.executable).with_name("kfix"))
#: The default of `--timeout`, in seconds: no source may take longer.
DEADLINE = 5.0
FIRST = "why: "


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory(prefix="kfix-bench-") as folder:
        os.environ |= {"KFIX_STATE_HOME": f"{folder}/state", "KFIX_LAB_HOME": f"{folder}/labs", "NO_COLOR": "1"}
        # A long session: the broker stays registered, so that its silence is all there is to see.
        lab = Lab.up(LabSpec(name="bench", settings={"zookeeper.session.timeout.ms": "300000"}))
        try:
            lab.break_("healthy")
            frozen = lab.broker_ids[-1]
            lab.stop(frozen)
            try:
                waits = [first_verdict(lab) for _ in range(count)]
            finally:
                lab.cont(frozen)
        finally:
            lab.down()
    print(
        f"first verdict with broker {frozen} frozen: deadline {DEADLINE:.0f} s, plus {statistics.median(waits):.2f} s "
        f"({min(waits):.2f} to {max(waits):.2f}, {count} runs, load {os.getloadavg()[0]:.1f})"
    )


def first_verdict(lab: Lab) -> float:
    """Returns the seconds from the start of the process to the reason on the terminal, less the deadline."""
    began = time.perf_counter()
    child = pexpect.spawn(
        KFIX, ["diagnose", "--bootstrap-server", lab.bootstrap_servers], timeout=60, dimensions=(50, 140)
    )
    child.expect_exact(FIRST)
    waited = time.perf_counter() - began
    child.close(force=True)
    return waited - DEADLINE


if __name__ == "__main__":
    main()
