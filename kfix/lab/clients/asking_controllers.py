"""Requests that only KRaft answers: the quorum, asked at one controller, and how far a broker follows its log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UnreachableError
from kfix.core.kafka import kraft_messages
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.security import Security
from kfix.core.snapshot.snapshot import Endpoint, TopicPartition
from kfix.core.timing import Deadline
from kfix.lab.clients.asking import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SECONDS = 1.0
_CHANGE_SECONDS = 10.0
#: Kafka's REQUEST_TIMED_OUT: the active controller does not reach a voter that has just started (docs/facts/kraft.md).
_NOT_READY = 7


@dataclass(frozen=True)
class QuorumState:
    """The answer of the active controller. `log_ends` is {voter: log end offset}; `followers` is that of brokers."""

    leader: int
    epoch: int
    high_watermark: int
    log_ends: dict[int, int]
    followers: dict[int, int]


@dataclass(frozen=True)
class Eligible:
    elr: tuple[int, ...]
    last_known: tuple[int, ...]


def quorum_seen_by(address: str, seconds: float = _SECONDS, security: Security | None = None) -> QuorumState | None:
    """Returns what a controller answers as the active one; None if it is another one. Raises UnreachableError."""
    host, _, port = address.rpartition(":")
    with BrokerConnection(Endpoint(host, int(port)), security or Security(), controller=True) as line:
        found = line.call(kraft_messages.describe_quorum(0), Deadline.after(seconds))
    if found.error:
        return None
    return QuorumState(
        found.leader,
        found.epoch,
        found.high_watermark,
        {each.node: each.log_end for each in found.voters},
        {each.node: each.log_end for each in found.observers},
    )


def active_controller(
    addresses: Mapping[int, str], seconds: float = _SECONDS, security: Security | None = None
) -> QuorumState | None:
    """Asks each controller, until one answers as the active one: only that one does. `addresses` is {id: address}."""
    for address in addresses.values():
        try:
            found = quorum_seen_by(address, seconds, security)
        except UnreachableError:
            continue
        if found is not None:
            return found
    return None


def applied_offset(address: str, seconds: float = _SECONDS) -> int:
    """Returns how far a broker has applied the quorum's log (`finalized_features_epoch`). Raises UnreachableError."""
    return ask(address, kraft_messages.describe_features(), seconds).epoch


def eligible_replicas(address: str, topics: Iterable[str], seconds: float = 5.0) -> dict[TopicPartition, Eligible]:
    """Returns the eligible leader replicas and last known leaders as a broker knows them. Raises UnreachableError."""
    asked = kraft_messages.describe_topic_partitions(tuple(sorted(topics)))
    found, _ = ask(address, asked, seconds)
    return {tp: Eligible(each.elr, each.last_known) for tp, each in found.items()}


def unregister(address: str, broker: int, seconds: float = 10.0) -> int:
    """Removes the registration of a dead broker. Returns the error code. Raises UnreachableError."""
    return ask(address, kraft_messages.unregister_broker(broker), seconds).error


def set_feature(address: str, name: str, level: int, seconds: float = 10.0) -> int:
    """Sets the level of a feature, downwards only if that is safe. Returns the error code. Raises UnreachableError."""
    error = 0
    for kind in (kraft_messages.UPGRADE, kraft_messages.SAFE_DOWNGRADE):
        error = ask(address, kraft_messages.update_feature(name, level, int(seconds * 1000), kind), seconds).error
        if not error:
            break
    return error


def members_seen_by(address: str, security: Security) -> kraft_messages.DescribedQuorum:
    """Returns what a controller answers, with directory ids (Kafka 3.9). Raises UnreachableError."""
    request = kraft_messages.describe_quorum(kraft_messages.NEWEST_QUORUM)
    return ask(address, request, _SECONDS, security, controller=True)


def remove_voter(address: str, voter: tuple[int, bytes], security: Security) -> None:
    """Removes a voter, a node with its directory id, at the active controller. Raises LabError if it is refused."""
    result = ask(address, kraft_messages.remove_voter(*voter), _CHANGE_SECONDS, security, controller=True)
    if result.error:
        raise LabError(f"voter {voter[0]} was not removed: error {result.error} {result.message}")


def add_voter(address: str, voter: tuple[int, bytes], listener: tuple[str, Endpoint], security: Security) -> bool:
    """Adds a voter, a node with its directory id, at the active controller. Returns whether the voter was ready.

    Raises LabError if it is refused.
    """
    request = kraft_messages.add_voter(*voter, listener, int(_CHANGE_SECONDS * 1000))
    result = ask(address, request, 2 * _CHANGE_SECONDS, security, controller=True)
    if result.error not in {0, _NOT_READY}:
        raise LabError(f"voter {voter[0]} was not added: error {result.error} {result.message}")
    return not result.error
