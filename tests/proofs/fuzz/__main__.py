"""`python -m tests.proofs.fuzz KIND CASES [FIRST]`: prints the count as one line of JSON."""

from __future__ import annotations

import json
import sys

from tests.proofs.fuzz import counting
from tests.proofs.fuzz.kinds import KINDS


def main() -> None:
    kind, cases, *first = sys.argv[1:]
    with KINDS[kind]() as case:
        count = counting.run(kind, case, int(cases), int(first[0]) if first else 0)
    print(json.dumps(count.as_json()))  # noqa: T201 - its only output


if __name__ == "__main__":
    main()
