"""The right that a request needs, in the words of kafka-acls.sh: its operation is declared with the request.

Source: `kafka.server.KafkaApis` and `ControllerApis` of 2.7.1 and 3.9.2. `tests/cluster/test_missing_rights.py` takes
some of them away on real brokers.
"""

from __future__ import annotations

import re

from kfix.core.kafka.api import Api
from kfix.core.kafka.codes import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, name_of

#: {error: option of kafka-acls.sh}.
_OPTIONS = {
    TOPIC: "--topic '*'",
    GROUP: "--group '*'",
    CLUSTER: "--cluster",
    TRANSACTIONAL_ID: "--transactional-id '*'",
}


def with_right(text: str, api: Api, principal: str) -> str:
    """Returns the text of a failure; for an authorizer's error, with the right that the request needs."""
    refused = next((error for error in _OPTIONS if re.search(rf"\b{name_of(error)}\b", text)), 0)
    why = missing_right(api, refused, principal)
    return f"{text} ({why})" if why else text


def missing_right(api: Api, error: int, principal: str) -> str:
    """Returns the right that the principal lacks and the command that grants it, "" for any other error."""
    if error not in _OPTIONS:
        return ""
    operation = api.operations.get(error, "Describe")
    grant = f"kafka-acls.sh --add --allow-principal '{principal}' --operation {operation} {_OPTIONS[error]}"
    return f"missing right: {operation} for {principal}; {grant}"
