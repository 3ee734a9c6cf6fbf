"""What one broker answers: a list that it refuses is unknown and not empty, and a default is no topic's own value."""

from __future__ import annotations

from kafka.protocol import admin

from kfix.core.collect.broker import ask_broker, ask_topic_configs
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.metadata import Shared
from kfix.core.kafka.security import Security
from kfix.core.timing import Deadline
from tests.each import for_each
from tests.unit.core.fake_broker import ALL_VERSIONS, FakeBroker, configs


def listing(error: int, *names: str) -> FakeBroker:
    """A broker that lists these groups, or refuses to."""
    row = admin.ListGroupsResponse.ListedGroup
    rows = [row(group_id=name, protocol_type="consumer") for name in names]
    described = configs(("broker.rack", "a", 4, False)).answers[32]
    return FakeBroker(
        {
            32: described,
            16: lambda *_: admin.ListGroupsResponse(throttle_time_ms=0, error_code=error, groups=rows),
        },
        {**ALL_VERSIONS, 16: (0, 2)},
    )


@for_each(("error", "names", "groups"), [(0, ("g", "h"), ("g", "h")), (0, (), ()), (30, (), None), (15, ("g",), None)])
def test_a_refused_list_of_groups_is_unknown(
    error: int, names: tuple[str, ...], groups: tuple[str, ...] | None
) -> None:
    with listing(error, *names).listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        found = ask_broker(line, 1, Deadline.after(3), Shared())
    assert (None if found.groups is None else tuple(group.name for group in found.groups)) == groups
    assert len(found.problems) == (groups is None)
    assert found.configs == {"broker.rack": "a"}


def test_only_the_values_that_a_topic_has_of_its_own_are_its_own() -> None:
    """The sources of DescribeConfigs: 1 is the topic, 2 to 4 are brokers, 5 is Kafka's default."""
    rows = [("min.insync.replicas", "2", 1), ("unclean.leader.election.enable", "true", 2)]
    rows += [("cleanup.policy", "compact", 1), ("segment.bytes", "9", 4), ("min.compaction.lag.ms", "0", 5)]
    broker = configs(*((*row, False) for row in rows))
    with broker.listening() as endpoint, BrokerConnection(endpoint, Security()) as line:
        effective, own, refused = ask_topic_configs(line, ("t",), Deadline.after(3))
    assert effective == {"t": {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}}
    assert own == {"t": {"min.insync.replicas": "2", "cleanup.policy": "compact"}}
    assert refused == ""
