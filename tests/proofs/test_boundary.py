"""Proof: whatever comes from outside, kfix gives a value or a refusal of its own, in time and in bounded memory.

`make fuzz` runs KFIX_FUZZ new cases of each kind (100 000), `make test` a few, always the same. Each kind has a process
of its own, so that its peak memory is its own: `python -m tests.proofs.fuzz KIND CASES [FIRST]` repeats it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.places import ROOT
from tests.proofs.fuzz.counting import MOST_MEMORY, MOST_MEMORY_OF
from tests.proofs.fuzz.kinds import KINDS

#: Of each kind; the other proofs share theirs.
CASES = int(os.environ.get("KFIX_FUZZ", "50"))
#: A case of a store copies it and opens each of its tables, which takes as long as several others.
SHARE = {"store": 5}


@pytest.mark.parametrize("kind", list(KINDS))
def test_hostile_input_is_a_value_or_a_refusal(kind: str, first: int, record_property) -> None:
    cases = max(CASES // SHARE.get(kind, 1), 1)
    words = [sys.executable, "-m", "tests.proofs.fuzz", kind, str(cases), str(first)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "PYTHONHASHSEED": "0"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    count = json.loads(done.stdout.splitlines()[-1])
    record_property("fuzz", count)
    sys.stdout.write(f"{json.dumps(count)}\n")
    assert count["cases"] == cases
    assert count["values"] + count["refusals"] == cases, count["examples"]
    assert (count["internal_errors"], count["hangs"]) == (0, 0), count["examples"]
    assert count["peak_mib"] <= MOST_MEMORY_OF.get(kind, MOST_MEMORY), f"{count['peak_mib']} MiB"
