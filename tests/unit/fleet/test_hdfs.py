"""An hdfs:// store that cannot be opened ends in one line; what works is tested with real servers in tests/spark.

In a process of its own: hdfs-native starts threads, after which a fork, as by pyspark, never returns.
"""

import os
import subprocess
import sys

import pytest

from tests.waiting import seconds


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("hdfs://nameservice/kfix", "HDFS cannot be opened: No NameNode hosts found"),
        ("hdfs://user@host:1/kfix", "neither options nor a user"),
        ("hdfs://host:1/kfix?a=b", "neither options nor a user"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_line(url, why):
    env = {name: value for name, value in os.environ.items() if not name.startswith("HADOOP_")}
    command = [sys.executable, "-m", "kfix", "audit", "--store", url, "--collect", "no"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=seconds(60))
    assert done.returncode == 2
    assert why in done.stderr
    assert "internal error" not in done.stderr
    assert len(done.stderr.splitlines()) == 2, "what is wrong, and how to continue"
