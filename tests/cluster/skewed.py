"""A host whose clock is wrong: the environment in which a command sees another wall clock, by `skewed.c`."""

import subprocess
from pathlib import Path


def skewed(folder):
    """Returns a function of seconds: the environment of a process whose wall clock is that much ahead."""
    shim = folder / "skewed.so"
    source = Path(__file__).with_name("skewed.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, source], check=True, timeout=60)
    return lambda seconds: {"LD_PRELOAD": str(shim), "KFIX_TEST_CLOCK": str(seconds)}
