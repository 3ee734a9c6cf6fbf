"""An hdfs:// store that cannot be opened ends in one line; what works is tested with real servers in tests/spark."""

import pytest

from kfix.adapters.fleet.places import place_of
from kfix.errors import UsageError


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("hdfs://nameservice/kfix", "HDFS cannot be opened: No NameNode hosts found"),
        ("hdfs://user@host:1/kfix", "neither options nor a user"),
        ("hdfs://host:1/kfix?a=b", "neither options nor a user"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_line(monkeypatch, url, why):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    with pytest.raises(UsageError) as caught:
        place_of(url)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
