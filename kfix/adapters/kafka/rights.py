"""The right that a request needs, in the words of kafka-acls.sh.

Source: `kafka.server.KafkaApis` and `ControllerApis` of 2.7.1 and 3.9.2. `tests/cluster/test_missing_rights.py` takes
some of them away on real brokers.
"""

from __future__ import annotations

import re

from kfix.adapters.kafka import requests
from kfix.adapters.kafka.codes import name_of

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 29, 30, 31, 53
#: {error: option of kafka-acls.sh}.
_OPTIONS = {
    TOPIC: "--topic '*'",
    GROUP: "--group '*'",
    CLUSTER: "--cluster",
    TRANSACTIONAL_ID: "--transactional-id '*'",
}
#: {(API, error): operation}, where it is not Describe.
_OPERATIONS = {
    (requests.DESCRIBE_CONFIGS, TOPIC): "DescribeConfigs",
    (requests.DESCRIBE_CONFIGS, CLUSTER): "DescribeConfigs",
    (requests.FETCH, TOPIC): "Read",
    (requests.PRODUCE, TOPIC): "Write",
    (requests.ELECT_LEADERS, CLUSTER): "Alter",
    (requests.ALTER_REASSIGNMENTS, CLUSTER): "Alter",
    (requests.INCREMENTAL_ALTER_CONFIGS, CLUSTER): "AlterConfigs",
    (requests.INCREMENTAL_ALTER_CONFIGS, TOPIC): "AlterConfigs",
    (requests.OFFSET_COMMIT, TOPIC): "Read",
    (requests.OFFSET_COMMIT, GROUP): "Read",
    (requests.OFFSET_DELETE, TOPIC): "Read",
    (requests.OFFSET_DELETE, GROUP): "Delete",
    (requests.LEAVE_GROUP, GROUP): "Read",
    (requests.INIT_PRODUCER_ID, TRANSACTIONAL_ID): "Write",
    # Asked of controllers; a broker answers without a right.
    (requests.DESCRIBE_CLUSTER, CLUSTER): "Alter",
    (requests.UNREGISTER_BROKER, CLUSTER): "Alter",
}


def with_right(text: str, api: int, principal: str) -> str:
    """Returns the text of a failure; where it has an error of an authorizer, with the right that the request needs."""
    refused = next((error for error in _OPTIONS if re.search(rf"\b{name_of(error)}\b", text)), 0)
    why = missing_right(api, refused, principal)
    return f"{text} ({why})" if why else text


def missing_right(api: int, error: int, principal: str) -> str:
    """Returns the right that the principal lacks and the command that grants it, "" for any other error."""
    if error not in _OPTIONS:
        return ""
    operation = _OPERATIONS.get((api, error), "Describe")
    grant = f"kafka-acls.sh --add --allow-principal '{principal}' --operation {operation} {_OPTIONS[error]}"
    return f"missing right: {operation} for {principal}; {grant}"
