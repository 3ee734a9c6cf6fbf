"""The settings of a KRaft controller that decide elections, read at its own listener (docs/facts/kraft.md).

A broker answers with its own settings and defaults, which decide no election.
"""

from __future__ import annotations

from kfix.core.derive.elections import UNCLEAN
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.timing import Deadline

#: Start of the source's name if a controller refused them.
SOURCE = "settings of controller"
_KEYS = ("min.insync.replicas", UNCLEAN)


def ask_controller_settings(line: BrokerConnection, node: int, deadline: Deadline) -> dict[str, str]:
    """Returns {key: value in force, including dynamic defaults}; empty before KIP-919, which added the request.

    Raises UnreachableError if the controller refuses, or is another node.
    """
    if not line.supports(requests.DESCRIBE_CONFIGS, 1, deadline):
        return {}
    request = requests.describe_configs(requests.BROKER_RESOURCE, (str(node),), _KEYS)
    described = line.call(request, deadline)
    if not described or described[0].error:
        raise UnreachableError(name_of(described[0].error) if described else "an empty response")
    return dict(described[0].values)
