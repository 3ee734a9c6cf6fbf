"""What kfix has asked each broker and controller of a lab, from their own request logs."""

import re
from contextlib import contextmanager

from kfix.core.kafka import requests
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline
from tests.waiting import wait_until

SWITCH = "INCREMENTAL_ALTER_CONFIGS"
#: Kafka's names of all that may be asked by somebody who changes nothing.
HARMLESS = {
    "API_VERSIONS",
    "CONSUMER_GROUP_DESCRIBE",
    "DESCRIBE_CLIENT_QUOTAS",
    "DESCRIBE_CLUSTER",
    "DESCRIBE_CONFIGS",
    "DESCRIBE_GROUPS",
    "DESCRIBE_LOG_DIRS",
    "DESCRIBE_QUORUM",
    "DESCRIBE_TOPIC_PARTITIONS",
    "FETCH",
    "FIND_COORDINATOR",
    "LIST_GROUPS",
    "LIST_OFFSETS",
    "LIST_PARTITION_REASSIGNMENTS",
    "METADATA",
    "OFFSET_FETCH",
    "OFFSET_FOR_LEADER_EPOCH",
    "SHARE_GROUP_DESCRIBE",
}
#: As Kafka logs a request of kfix, and as 2.7.1 does.
_ASKED = re.compile(r'"clientId":"kfix[^"]*","requestApiKeyName":"(\w+)"|apiKey=(\w+),.* clientId=kfix')
_FLEET = """\
apiVersion: kfix/v1
kind: Fleet
clusters:
  lab: {{bootstrap: "{lab}"}}
"""
#: A sick cluster, a right that is missing or a refusal is no failure of a command that reads.
_SAID = {0, 3, 20, 21, 22}


def reading(lab, folder, group):
    """Every command that reads a cluster and changes nothing; `folder` is where they write, and is empty."""
    fleet = folder / "fleet.yaml"
    fleet.write_text(_FLEET.format(lab=lab.bootstrap_servers))
    return (
        ("diagnose", "--prevention"),
        ("diagnose", "--group", group),
        ("whatif",),
        ("whatif", "--down", f"broker={lab.broker_ids[0]}"),
        ("snapshot", "save", folder / "s.json"),
        ("offsets", "save", "--partition", "all", "--output-file", folder / "offsets.json"),
        ("watch", "--every", "1", "--snapshots", "3", "--recorder", folder / "ring", "--group", group),
        ("fleet", "collect", "-i", fleet, "--store", folder / "store", "-q"),
    )


def asked_by(kfix, commands):
    """Runs the commands; returns {(role, node): names of the requests that it got from them}."""
    with request_logs(kfix.lab) as (asked, level):
        for words in commands:
            said = kfix.run(*words) if "-i" in words else kfix.on(*words)
            assert said.code in _SAID, (words, said.out, said.err)
        names = asked()
        level("DEBUG")
        wait_until(lambda: all(SWITCH in found for found in asked().values()), "every log shows a change")
    return names


@contextmanager
def request_logs(lab):
    """Turns the request logs of all live nodes on; gives the names of what kfix has asked each, and the switch.

    A node that restarts logs no requests any more; to turn the switch is a request, too. The log of a broker that is
    a controller, too, has the requests of both.
    """
    with lab.access() as access:
        live = sorted(access.live_ids())
    nodes = [("broker", b, lab.address(b)) for b in live]
    nodes += [("controller", c.id, f"127.0.0.1:{c.port}") for c in lab.state.own_controllers]

    def level(word):
        for role, node, address in nodes:
            host, _, port = address.rpartition(":")
            request = requests.alter_configs(8, str(node), {"kafka.request.logger": word})
            to = Endpoint(host, int(port))
            known = {request.api_key, 18}
            with BrokerConnection(to, Security(), allowed=known, controller=role == "controller") as line:
                line.call(request, Deadline.after(5))

    logs = {(role, node): lab.store.log_file(role, node) for role, node, _ in nodes}
    began = {node: log.stat().st_size for node, log in logs.items()}

    def asked():
        names = {node: set() for node in logs}
        for node, log in logs.items():
            with log.open(errors="replace") as file:
                file.seek(began[node])
                for line in file:
                    found = _ASKED.search(line)
                    if found and "Completed request" in line:
                        names[node].add(found[1] or found[2])
        return names

    level("DEBUG")
    wait_until(lambda: all(SWITCH in found for found in asked().values()), "every log shows the switch")
    began.update({node: log.stat().st_size for node, log in logs.items()})
    yield asked, level
    level("INFO")
