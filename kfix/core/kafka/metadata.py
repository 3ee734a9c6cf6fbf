"""Decodes the responses of several brokers to Metadata, versions 7 and 10, which are nearly the same bytes.

Equal bytes are decoded once: the same response, the same topic. The result is the same as without that
(tests/unit/core/kafka/test_metadata.py), at a tenth of the time for the second broker.
"""

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from threading import Lock

from kfix.core.kafka.codec import ByteReader, ProtocolError, decoder
from kfix.core.numbers import LARGEST_PORT
from kfix.core.snapshot.naming import PartitionNames
from kfix.core.snapshot.snapshot import Endpoint, PartitionView, TopicPartition

#: The part of a response before its topics.
HEAD = "_throttle_ms:i32 brokers:[id:i32 host:str port:i32 rack:str?] cluster_id:str controller:i32"
#: The first version with topic ids (Kafka 2.8). It is flexible, and each partition and topic ends with tags.
WITH_IDS = 10
_FLEXIBLE = 9
Partitions = dict[TopicPartition, PartitionView]


@dataclass(frozen=True, slots=True)
class MetadataResponse:
    """`partitions` and `topic_ids` may be the same objects in the responses of several brokers: they are never changed.

    `topic_ids` are {topic: its id, as Kafka prints it}, without topics that have none.
    """

    cluster_id: str
    controller: int
    brokers: dict[int, Endpoint]
    racks: dict[int, str]
    partitions: Partitions
    topic_ids: dict[str, str] = field(default_factory=dict)


class Shared:
    """Decoded values by their bytes. The responses of a snapshot share one; threads decode one by one."""

    def __init__(self, names: PartitionNames | None = None) -> None:
        self.names = names or PartitionNames()
        self.lock = Lock()
        self.responses: list[tuple[bytes, tuple[Partitions, dict[str, str]]]] = []
        self.topics: dict[str, tuple[bytes, Partitions]] = {}
        #: One object for equal partitions, of which a cluster has few.
        self.views: dict[PartitionView, PartitionView] = {}


def decoded(r: ByteReader, shared: Shared | None = None, version: int = 7) -> MetadataResponse:
    flexible = version >= _FLEXIBLE
    brokers, cluster_id, controller = decoder(HEAD, version, flexible=flexible).read(r)
    if any(not 0 <= port <= LARGEST_PORT for _, _, port, _ in brokers):
        raise ProtocolError("a broker with an invalid port: not the Kafka protocol")
    racks = {node: rack for node, _, _, rack in brokers if rack is not None}
    shared = shared or Shared()
    # Python runs one thread at a time anyway, and the second thread then finds everything decoded.
    with shared.lock:
        known = _known_response(r, shared)
        partitions, topic_ids = _topics(r, shared, flexible) if known is None else known
    addresses = {node: Endpoint(host, port) for node, host, port, _ in brokers}
    return MetadataResponse(cluster_id, controller, addresses, racks, partitions, topic_ids)


def _known_response(r: ByteReader, shared: Shared) -> tuple[Partitions, dict[str, str]] | None:
    for raw, found in shared.responses:
        if len(r.data) - r.at == len(raw) and r.data.startswith(raw, r.at):
            r.at = len(r.data)
            return found
    return None


def _topics(r: ByteReader, shared: Shared, flexible: bool) -> tuple[Partitions, dict[str, str]]:
    begin, found, ids = r.at, Partitions(), dict[str, str]()
    head = decoder(_TOPIC_WITH_ID if flexible else _TOPIC, flexible=flexible)
    for _ in range(r.compact() if flexible else r.i32()):
        topic, *topic_id = head.read(r)
        if any(map(any, topic_id)):
            ids[topic] = urlsafe_b64encode(topic_id[0]).decode().rstrip("=")
        known = shared.topics.get(topic)
        if known is not None and r.data.startswith(known[0], r.at):
            r.at += len(known[0])
        else:
            at = r.at
            partitions = _partitions(r, topic, shared, flexible)
            known = shared.topics[topic] = r.data[at : r.at], partitions
        found.update(known[1])
        if flexible:
            _end(r)
    if flexible:
        _end(r)
    if r.at == len(r.data):
        shared.responses.append((r.data[begin:], (found, ids)))
    return found, ids


def _end(r: ByteReader) -> None:
    """Reads the end of a topic, or of a response with topic ids: the operations that the client may do, and tags."""
    r.i32()
    r.tags()


_TOPIC, _TOPIC_WITH_ID = "_error:i16 name:str _internal:bool", "_error:i16 name:str id:uuid _internal:bool"
_PARTITIONS = "partitions:[error:i16 index:i32 leader:i32 epoch:i32 replicas:i32s? isr:i32s? offline:i32s?]"


def _partitions(r: ByteReader, topic: str, shared: Shared, flexible: bool) -> Partitions:
    names, found = shared.names.of(topic), Partitions()
    [rows] = decoder(_PARTITIONS, flexible=flexible).read(r)
    for error, index, leader, epoch, replicas, isr, offline in rows:
        if None in (replicas, isr, offline):
            raise ProtocolError("a partition without a list of replicas: not the Kafka protocol")
        view = PartitionView(leader, epoch, replicas, isr, offline, error)
        tp = names.get(index)
        if tp is None:
            tp = names[index] = TopicPartition(topic, index)
        found[tp] = shared.views.setdefault(view, view)
    return found
