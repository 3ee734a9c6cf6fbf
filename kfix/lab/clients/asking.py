"""Requests to one chosen broker, through `core.kafka`, and the changes a lab makes that way."""

from __future__ import annotations

from typing import TypeVar

from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.group_messages import INIT_PRODUCER_ID, OFFSET_COMMIT
from kfix.core.kafka.kraft_messages import ADD_VOTER, REMOVE_VOTER, UNREGISTER_BROKER, UPDATE_FEATURES
from kfix.core.kafka.requests import ALTER_REASSIGNMENTS, INCREMENTAL_ALTER_CONFIGS
from kfix.core.kafka.security import Security
from kfix.core.snapshot.fleet_facts import CONSUMER_RATE
from kfix.core.snapshot.snapshot import Endpoint
from kfix.core.timing import Deadline

T = TypeVar("T")

JOIN_GROUP = Api(
    11,
    "group:str session_ms:i32 rebalance_ms:i32 _member:str instance:str?@5 type:str protocols:[name:str content:blob]",
    "_throttle_ms:i32 error:i16 generation:i32 _protocol:str _leader:str member:str",
)
SYNC_GROUP = Api(
    14,
    "group:str generation:i32 member:str instance:str?@3 assignments:[member:str content:blob]",
    "_throttle_ms:i32 error:i16",
)
PRODUCE = Api(
    0,
    "transactional_id:str? acks:i16 timeout_ms:i32 topics:[name:str partitions:[index:i32 records:blob]]",
    "topics:[_name:str partitions:[_index:i32 error:i16 _base:i64 _time_ms:i64]] _throttle_ms:i32",
)
ALTER_CLIENT_QUOTAS = Api(
    49,
    "entries:[entity:[type:str name:str?] ops:[key:str value:f64 remove:bool]] _validate_only:bool",
    "_throttle_ms:i32 entries:[error:i16 _message:str? _entity:[type:str name:str?]]",
    flexible=1,
)
CONSUMER_GROUP_HEARTBEAT = Api(
    68,
    "group:str member:str epoch:i32 _instance:str? _rack:str? rebalance_ms:i32 topics:strs? _assignor:str?"
    " owned:[topic:uuid partitions:i32s]?",
    "_throttle_ms:i32 error:i16 message:str _member:str epoch:i32",
    flexible=0,
)
_ALLOWED = frozenset(
    {
        *(OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP, INIT_PRODUCER_ID),
        *(ALTER_REASSIGNMENTS, INCREMENTAL_ALTER_CONFIGS, UNREGISTER_BROKER),
        *(CONSUMER_GROUP_HEARTBEAT, UPDATE_FEATURES, PRODUCE, ADD_VOTER, REMOVE_VOTER, ALTER_CLIENT_QUOTAS),
    }
)


def fetch_quota(client: str, rate: int | None) -> Request[int]:
    """Sets what a client id may fetch, in bytes per second and broker; None removes it. Returns the error code."""
    changes = [(CONSUMER_RATE, float(rate or 0), rate is None)]
    entries = [([("client-id", client)], changes)]
    return ALTER_CLIENT_QUOTAS.ask(0, (entries,), lambda rows: int(rows[0][0]))


def ask(
    address: str, request: Request[T], seconds: float, security: Security | None = None, *, controller: bool = False
) -> T:
    """Sends a request over a connection of its own. Raises UnreachableError if there is no answer in time."""
    with connected_to(address, security, controller=controller) as line:
        return line.call(request, Deadline.after(seconds))


def connected_to(address: str, security: Security | None = None, *, controller: bool = False) -> BrokerConnection:
    """Returns a connection to a broker, or to a controller, that opens with its first request; close it."""
    host, _, port = address.rpartition(":")
    own = security or Security()
    return BrokerConnection(Endpoint(host, int(port)), own, allowed=_ALLOWED, controller=controller)
