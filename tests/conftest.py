"""For all tests: what a shell sets does not reach what they start, and none depends on the speed of the machine."""

import contextlib
import os
import signal
from pathlib import Path

from hypothesis import HealthCheck, settings

# `nohup make test &` leaves Ctrl-C ignored, and so do all processes that the tests start to press it on.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Reports are as wide as COLUMNS says. GNU readline, which pytest's debugger imports, sets it for all child processes.
with contextlib.suppress(ImportError):
    import readline  # noqa: F401
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")

# Machines of tests are shared: an example that takes 200 ms of wall time proves nothing.
settings.register_profile("kfix", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kfix")


def pytest_addoption(parser):
    parser.addoption("--costs", type=Path, metavar="FOLDER", help="measure each test: a file of each worker in FOLDER")
    parser.addoption("--copies", type=int, metavar="N", help="at most N copies of each parametrized test")


def pytest_configure(config):
    from tests.suite.plugin import Copies, Costs

    if (most := config.getoption("copies")) is not None:
        config.pluginmanager.register(Copies(most))
    folder = config.getoption("costs")
    if folder is not None and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Costs(folder))
