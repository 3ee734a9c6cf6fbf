"""Commands that only read send nothing that changes a cluster: seen in ZooKeeper and in the brokers' request logs."""

from kfix.lab.clients.commits import COORDINATOR_NOT_AVAILABLE
from tests.cluster.asked import HARMLESS, request_logs
from tests.waiting import wait_until


def znodes(cluster):
    """(mzxid, cversion) of every node; opening and closing a session moves the zxid, and none of these."""
    found, todo = {}, ["/"]
    while todo:
        path = todo.pop()
        children, stat = cluster.access._zk.get_children(path, include_data=True)
        found[path] = (stat.mzxid, stat.cversion)
        todo += [f"{path.rstrip('/')}/{child}" for child in children if child != "zookeeper"]
    return found


def names(asked):
    return set().union(*asked().values())


def test_commands_that_read_change_nothing_and_applying_does(operator, cluster):
    broken = cluster.lab.break_("coordinator-stuck")
    controller = cluster.access.controller()
    with request_logs(cluster.lab) as (asked, _):
        nodes = znodes(cluster)
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
        # An apply that nobody approved reads, asks, and ends.
        operator.apply(planned, level="", code=4)
        assert names(asked) - HARMLESS == set()
        assert {"METADATA", "FIND_COORDINATOR"} <= names(asked)
    left = {path: stat for path, stat in znodes(cluster).items() if nodes.get(path) != stat}
    # That apply held the lock for a moment.
    assert set(left) <= {"/", "/kfix"}
    assert (cluster.access.controller(), cluster.access.state(*broken.partitions[0]).leader) == (controller, -1)
    assert {error for error, _ in cluster.coordinators(broken.group)} == {COORDINATOR_NOT_AVAILABLE}

    planned = operator.plan("coordinator-stuck")
    with request_logs(cluster.lab) as (asked, _):
        operator.healed(planned)
        wait_until(lambda: names(asked) - HARMLESS, "the request log shows a change")
        assert names(asked) - HARMLESS == {"ALTER_PARTITION_REASSIGNMENTS"}
    with request_logs(cluster.lab) as (asked, _):
        nodes = znodes(cluster)
        assert operator.on("runbook", "verify", operator.ran(planned).id).code == 0
        assert names(asked) - HARMLESS == set()
        assert znodes(cluster) == nodes
