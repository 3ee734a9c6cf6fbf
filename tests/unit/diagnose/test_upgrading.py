"""What is against an upgrade, whoever asks: the version, each restart, and clients."""

from __future__ import annotations

import pytest

from kfix.core.derive.casefile import open_case
from kfix.core.errors import UsageError
from kfix.diagnose.stopping import Assessment
from kfix.diagnose.upgrading import judge_upgrade, line_wanted
from kfix.heal.memory.incidents import ALL as INCIDENTS


@pytest.mark.parametrize("text", ["4", "4.x", "4.3.1-rc", "", "next"])
def test_a_text_that_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a version of Kafka"):
        line_wanted(text)


def test_the_last_step_is_named_once_every_node_runs_the_version() -> None:
    cluster = INCIDENTS["metadata-version-behind"]().cluster
    found = judge_upgrade(open_case(cluster.snapshot()), line_wanted("4.4.0"))
    assert [text for text in found.cautions if "raise-metadata-version -p version=4.4 raises it" in text]
    cluster.levels[102] = 30
    found = judge_upgrade(open_case(cluster.snapshot()), line_wanted("4.4.0"))
    assert [text for text in found.cautions if "stays as it is until" in text]


def test_clients_count_only_where_an_older_kafka_serves_them() -> None:
    cluster = INCIDENTS["restartable-kraft"]().cluster
    assert judge_upgrade(open_case(cluster.snapshot()), line_wanted("4.4.0")).unknown == ()
    cluster.levels[3] = 21
    found = judge_upgrade(open_case(cluster.snapshot()), line_wanted("4.4.0"))
    assert [text.startswith("which clients Kafka 4 refuses") for text in found.unknown] == [True]
    assert judge_upgrade(open_case(cluster.snapshot()), line_wanted("4.4.0"), Assessment()).unknown == ()
