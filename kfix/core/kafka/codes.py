"""Names of the Kafka error codes that kfix shows or handles. Source: `org.apache.kafka.common.protocol.Errors`."""

from __future__ import annotations

import re

from kfix.core.kafka.api import Api

NO_ANSWER = -1
#: The errors of an authorizer, by the kind of the resource.
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 29, 30, 31, 53

NAMES = {
    -1: "UNKNOWN_SERVER_ERROR",
    0: "NONE",
    1: "OFFSET_OUT_OF_RANGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    12: "OFFSET_METADATA_TOO_LARGE",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    17: "INVALID_TOPIC_EXCEPTION",
    25: "UNKNOWN_MEMBER_ID",
    28: "INVALID_COMMIT_OFFSET_SIZE",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    33: "UNSUPPORTED_SASL_MECHANISM",
    34: "ILLEGAL_SASL_STATE",
    35: "UNSUPPORTED_VERSION",
    37: "INVALID_PARTITIONS",
    38: "INVALID_REPLICATION_FACTOR",
    39: "INVALID_REPLICA_ASSIGNMENT",
    40: "INVALID_CONFIG",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    44: "POLICY_VIOLATION",
    47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE",
    49: "INVALID_PRODUCER_ID_MAPPING",
    50: "INVALID_TRANSACTION_TIMEOUT",
    51: "CONCURRENT_TRANSACTIONS",
    52: "TRANSACTION_COORDINATOR_FENCED",
    53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    56: "KAFKA_STORAGE_ERROR",
    58: "SASL_AUTHENTICATION_FAILED",
    60: "REASSIGNMENT_IN_PROGRESS",
    68: "NON_EMPTY_GROUP",
    69: "GROUP_ID_NOT_FOUND",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    78: "OFFSET_NOT_AVAILABLE",
    80: "PREFERRED_LEADER_NOT_AVAILABLE",
    82: "FENCED_INSTANCE_ID",
    83: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    84: "ELECTION_NOT_NEEDED",
    85: "NO_REASSIGNMENT_IN_PROGRESS",
    86: "GROUP_SUBSCRIBED_TO_TOPIC",
    88: "UNSTABLE_OFFSET_COMMIT",
    90: "PRODUCER_FENCED",
    102: "BROKER_ID_NOT_REGISTERED",
    104: "INCONSISTENT_CLUSTER_ID",
    126: "DUPLICATE_VOTER",
    127: "VOTER_NOT_FOUND",
}


def name_of(code: int) -> str:
    return NAMES.get(code, f"error {code}")


# The right that a request needs, in the words of kafka-acls.sh: its operation is declared with the request.
#
# Source: `kafka.server.KafkaApis` and `ControllerApis` of 2.7.1 and 3.9.2. `tests/cluster/test_missing_rights.py` takes
# some of them away on real brokers.

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
