from __future__ import annotations

import pytest

from kfix.core.derive.coordinator import partition_of_group
from kfix.lab.clients.commits import STEMS, name_for


@pytest.mark.parametrize("partitions", [1, 5, 31, 50, 62])
def test_every_partition_of_the_offsets_topic_gets_a_group_with_a_plain_name(partitions):
    for wanted in range(partitions):
        name = name_for(wanted, partitions, STEMS[wanted % len(STEMS)])
        assert partition_of_group(name, partitions) == wanted
        assert name.split("-")[0] in STEMS
