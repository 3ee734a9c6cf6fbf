"""For all tests: what a shell sets does not reach what they start, and none depends on the speed of the machine."""

import contextlib
import os
import signal

from hypothesis import HealthCheck, settings

from tests.suite import plugin

_LONGEST_ID = 60

# `nohup make test &` leaves Ctrl-C ignored, and so do all processes that the tests start to press it on.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Reports are as wide as COLUMNS says. GNU readline, which pytest's debugger imports, sets it for all child processes.
with contextlib.suppress(ImportError):
    import readline  # noqa: F401
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")


def pytest_addoption(parser):
    plugin.add_options(parser)


def pytest_make_parametrize_id(val):
    """Cuts off long texts and bytes: the id of a test is a line of a report. Pytest numbers those that are equal."""
    return f"{val[:_LONGEST_ID]!r}..." if isinstance(val, str | bytes) and len(val) > _LONGEST_ID else None


def pytest_configure(config):
    plugin.configure(config)
    # Machines of tests are shared: an example that takes 200 ms of wall time proves nothing.
    fixed = config.option.hypothesis_seed is None
    settings.register_profile("kfix", deadline=None, derandomize=fixed, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("kfix")
