"""The tests that only `make test-long` runs, since they take long: most need real clusters or Spark.

`make test` has of each capability what shows it on real brokers. Those marked `long` are variants of it: another line
of Kafka, another mechanism, a second way into the same fault, a kill one moment earlier.
"""

import pytest


def long(*values):
    """Returns these values of a parametrized test, marked so that only `make test-long` runs it with them."""
    return pytest.param(*values, marks=pytest.mark.long)
