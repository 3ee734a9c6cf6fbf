"""A process that ends in the middle: python -m tests.proofs.fleet.killed STORE finish|NUMBER WHERE STEP.

`finish` completes a run, NUMBER audits the run of that day. WHERE is `before` or `after` a commit, `created` (a table
is there, and has no commit yet) or `writing` (before a file of a table is written). The process exits with KILLED
there, and prints how many commits it made; or with 0 if it has fewer steps.
"""

import os
import sys
from datetime import date

from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.store import staging
from kfix.fleet.store.delta import StoreTable
from kfix.fleet.store.places import place_of
from tests.unit.fleet.audit_runs import again

DAY = date(2026, 3, 1)
KILLED = 9


def end_at(where, step):
    owner, name = {
        "before": (StoreTable, "replace"),
        "after": (StoreTable, "replace"),
        "created": (StoreTable, "_created"),
        "writing": (staging, "writing"),
    }[where]
    commit, commits = StoreTable.replace, [0]

    def committed(*given, **more):
        commit(*given, **more)
        commits[0] += 1

    StoreTable.replace = committed
    real, done = getattr(owner, name), [0]

    def end():
        os.write(1, str(commits[0]).encode())
        os._exit(KILLED)

    def counted(*given, **more):
        done[0] += 1
        if done[0] == step and where in {"before", "writing"}:
            end()
        found = real(*given, **more)
        if done[0] == step:
            end()
        return found

    setattr(owner, name, counted)


def main(store, what, where, step):
    end_at(where, int(step))
    if what == "finish":
        staging.RunWriter(place_of(store), DAY, "r").finish({"gone": "no answer"})
    else:
        # The run is complete: all commits are those of the audit.
        again(store, EmbeddedEngine(1), number=int(what))


if __name__ == "__main__":
    main(*sys.argv[1:])
