"""What kfix has asked each broker and controller of a lab, from their own request logs."""

import re
from contextlib import contextmanager

from kfix.adapters.deadline import Deadline
from kfix.adapters.kafka import requests
from kfix.adapters.kafka.connection import BrokerConnection
from kfix.adapters.kafka.security import Security
from kfix.model.cluster.snapshot import Endpoint
from tests.cluster.seen import wait_until

SWITCH = "INCREMENTAL_ALTER_CONFIGS"


@contextmanager
def request_logs(lab):
    """Turns the request logs of all live nodes on; gives the names of what kfix has asked each, and the switch.

    A node that restarts logs no requests any more; to turn the switch is a request, too.
    """
    with lab.access() as access:
        live = sorted(access.live_ids())
    nodes = [("broker", b, lab.address(b)) for b in live]
    nodes += [("controller", c.id, f"127.0.0.1:{c.port}") for c in lab.state.controllers]

    def level(word):
        for role, node, address in nodes:
            host, _, port = address.rpartition(":")
            request = requests.alter_configs(8, str(node), {"kafka.request.logger": word})
            to = Endpoint(host, int(port))
            known = {request.api_key, 18}
            with BrokerConnection(to, Security(), allowed=known, controller=role == "controller") as line:
                line.call(request, lambda reader: reader, Deadline.after(5))

    logs = {(role, node): lab.store.log_file(role, node) for role, node, _ in nodes}
    began = {node: log.stat().st_size for node, log in logs.items()}

    def asked():
        names = {node: set() for node in logs}
        for node, log in logs.items():
            with log.open(errors="replace") as file:
                file.seek(began[node])
                for line in file:
                    found = re.search(r'"clientId":"kfix[^"]*","requestApiKeyName":"(\w+)"', line)
                    if found and "Completed request" in line:
                        names[node].add(found[1])
        return names

    level("DEBUG")
    wait_until(lambda: all(SWITCH in found for found in asked().values()), "every log shows the switch")
    began.update({node: log.stat().st_size for node, log in logs.items()})
    yield asked, level
    level("INFO")
