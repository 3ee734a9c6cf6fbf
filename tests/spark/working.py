"""Work for tests on Spark, in a module of its own: workers find it by name."""

import time
from pathlib import Path

from kfix.fleet.judging.case import judge_stored


def slowly(stored, began):
    """Leaves a file in the folder `began` for each cluster that is begun."""
    (Path(began) / stored.name).touch()
    time.sleep(0.3)
    return judge_stored(stored)


def whose_code(_):
    """(the file that kfix is loaded from, its runbooks)."""
    from importlib import resources

    import kfix

    inside = resources.files("kfix").joinpath("_runbooks")
    return str(Path(kfix.__file__)), sorted(e.name for e in inside.iterdir()) if inside.is_dir() else []


def unpicklable(number):
    return (lambda: number) if number == 1 else number
