"""Commands that only read send nothing that changes a cluster: seen in ZooKeeper and in the brokers' request logs."""

import re

import pytest

from kfix.core.deadline import Deadline
from kfix.core.kafka import requests
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint
from kfix.lab.clients.groups import COORDINATOR_NOT_AVAILABLE
from tests.waiting import wait_until

BROKER_LOGGER = 8
REQUESTS = "kafka.request.logger"
#: Kafka's names of all that may be asked by somebody who changes nothing.
HARMLESS = {
    "API_VERSIONS",
    "METADATA",
    "FIND_COORDINATOR",
    "OFFSET_FETCH",
    "LIST_GROUPS",
    "DESCRIBE_GROUPS",
    "DESCRIBE_CONFIGS",
    "DESCRIBE_LOG_DIRS",
    "LIST_OFFSETS",
    "LIST_PARTITION_REASSIGNMENTS",
    "OFFSET_FOR_LEADER_EPOCH",
    "FETCH",
}
#: Each change that kfix knows, as the broker calls it.
CHANGES = {"ELECT_LEADERS", "ALTER_PARTITION_REASSIGNMENTS", "INCREMENTAL_ALTER_CONFIGS", "ALTER_CONFIGS"}


def znodes(cluster):
    """(mzxid, cversion) of every node; opening and closing a session moves the zxid, and none of these."""
    found, todo = {}, ["/"]
    while todo:
        path = todo.pop()
        children, stat = cluster.access._zk.get_children(path, include_data=True)
        found[path] = (stat.mzxid, stat.cversion)
        todo += [f"{path.rstrip('/')}/{child}" for child in children if child != "zookeeper"]
    return found


@pytest.fixture
def asked(cluster):
    """Turns the brokers' request logs on; gives a function that tells which requests kfix has sent since."""
    logs = {b: cluster.lab.store.log_file("broker", b) for b in cluster.lab.broker_ids}

    def level(word):
        for broker in cluster.access.live_ids():
            host, _, port = cluster.lab.address(broker).rpartition(":")
            request = requests.alter_configs(BROKER_LOGGER, str(broker), {REQUESTS: word})
            with BrokerConnection(Endpoint(host, int(port)), Security(), allowed={request.api_key, 18}) as line:
                line.call(request, Deadline.after(5))

    def since(began):
        names = set()
        for broker, log in logs.items():
            with log.open(errors="replace") as file:
                file.seek(began[broker])
                for line in file:
                    found = re.search(r"Completed request:RequestHeader\(apiKey=(\w+),.* clientId=([\w.-]*)", line)
                    if found and found[2].startswith("kfix"):
                        names.add(found[1])
        return names

    level("DEBUG")
    yield lambda: {b: log.stat().st_size for b, log in logs.items()}, since
    level("INFO")


def test_commands_that_read_change_nothing_and_applying_does(operator, cluster, asked):
    now, since = asked
    broken = cluster.lab.break_("coordinator-stuck")
    controller = cluster.access.controller()
    nodes, began = znodes(cluster), now()
    planned = operator.plan("coordinator-stuck")
    operator.diagnose()
    operator.diagnose("--group", broken.group)
    for words in (
        ("runbook", "show", planned.path),
        ("runbook", "history"),
        ("runbook", "list"),
        ("runbook", "plan", "coordinator-stuck", "--debounce", "1", "--diff", planned.path),
        ("runbook", "plan", "raise-topic-rf", "--debounce", "1", "-p", "topic=orders"),
        ("runbook", "plan", "sweep-throttles", "--debounce", "1"),
        ("runbook", "plan", "controller-reelect", "--debounce", "1"),
    ):
        wants_cluster = words[1] == "plan"
        said = operator.on(*words) if wants_cluster else operator.run(*words)
        assert said.code in {0, 3}, said.err
    # An apply that nobody approved looks, asks, and ends.
    operator.apply(planned, level="", code=4)
    assert since(began) - HARMLESS == set()
    assert {"METADATA", "FIND_COORDINATOR"} <= since(began)
    left = {path: stat for path, stat in znodes(cluster).items() if nodes.get(path) != stat}
    # That apply held the lock for a moment.
    assert set(left) <= {"/", "/kfix"}
    assert (cluster.access.controller(), cluster.access.state(*broken.partitions[0]).leader) == (controller, -1)
    assert {error for error, _ in cluster.coordinators(broken.group)} == {COORDINATOR_NOT_AVAILABLE}

    planned = operator.plan("coordinator-stuck")
    began = now()
    operator.healed(planned)
    wait_until(lambda: since(began) & CHANGES, "the request log shows a change")
    assert since(began) - HARMLESS == {"ALTER_PARTITION_REASSIGNMENTS"}
    nodes, began = znodes(cluster), now()
    assert operator.on("runbook", "verify", operator.ran(planned).id).code == 0
    assert since(began) - HARMLESS == set()
    assert znodes(cluster) == nodes
