"""The shape of a snapshot file, `kfix.snapshot/1` (docs/snapshot-format.md): type and range of every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from kfix.documents.shapes import Finite, Int16, Int32, Int64, LenientModel, Moment, Port, StrictModel
from kfix.model.cluster.at_risk import AtRisk


class _Repeated:
    """The last item of a row may occur any number of times, or not at all."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        return {**schema, "variadic_item_index": len(schema["items_schema"]) - 1}


Ids = tuple[Int32, ...]
_Names = list[str]
_Settings = dict[str, str]

# Rows of a topic: the partition number first.
ViewRow = tuple[Int32, Int32, Int32, Ids, Ids, Ids, Int16]
StateRow = tuple[Int32, Int32, Int32, Ids, Int32, Int32, Int64, Int64]
AssignmentRow = tuple[Int32, Ids, Ids, Ids]
ReassigningRow = tuple[Int32, Ids]
LogEndsRow = Annotated[tuple[Int32, tuple[Int32, Int64, Int64, str]], _Repeated()]
EndsRow = Annotated[tuple[Int32, tuple[Int32, Int64]], _Repeated()]
EpochEndRow = tuple[Int32, Int32, Int32, Int64, str]
LeaderRow = tuple[Int32, Int32, Int32, Int32]
VisibleRow = tuple[Int32, Int64]
MoveRow = tuple[Int32, Moment, Moment, tuple[tuple[Int32, Int64], ...]]
AtRiskRow = tuple[Int32, Moment, Int32, Int32, Int32, Ids, Int32, Int32, Int64, Int64, Moment]

#: The names of the columns, by the field that contains the rows.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "partitions": ("partition", "leader", "leader_epoch", "replicas", "isr", "offline", "error"),
    "states": ("partition", "leader", "leader_epoch", "isr", "controller_epoch", "version", "mzxid", "mtime_ms"),
    "assignments": ("partition", "replicas", "adding", "removing"),
    "reassignments": ("partition", "replicas", "adding", "removing"),
    "reassigning": ("partition", "replicas"),
    "epoch_ends": ("partition", "leader", "epoch", "end", "error"),
    "leaders": ("partition", "leader", "leader_epoch", "version"),
    "log_ends": ("partition",),
    "visible": ("partition",),
    "ends": ("partition",),
    "remembered_moves": ("partition", "since", "last", "ends"),
    "remembered_at_risk": ("partition", *AtRisk._fields),
}


class EndpointShape(StrictModel):
    host: str
    port: Port


class ClusterShape(StrictModel):
    id: str
    mode: Literal["zk", "kraft", "unknown"]
    bootstrap: str
    zookeeper: str


class SourceShape(StrictModel):
    name: str
    ok: bool
    error: str = ""
    seconds: Finite = 0.0


class ViewShape(LenientModel):
    controller: Int32
    alive: dict[Int32, EndpointShape]
    racks: dict[Int32, str]
    partitions: dict[str, list[ViewRow]]
    same_as: Int32 | None = None


class ControllerShape(StrictModel):
    broker: Int32 | None
    elected_ms: Int64
    czxid: Int64
    epoch: Int32
    epoch_version: Int32
    epoch_mzxid: Int64
    kraft_epoch: Int32 = -1


class RegistrationShape(LenientModel):
    broker: Int32
    endpoint: EndpointShape | None
    rack: str | None
    czxid: Int64
    registered_ms: Int64


class NodeShape(StrictModel):
    address: str
    mode: str
    error: str = ""
    zxid: Int64 = -1


class ZooKeeperShape(LenientModel):
    connect: str
    server: str
    controller: ControllerShape
    registrations: list[RegistrationShape]
    assignments: dict[str, list[AssignmentRow]]
    states: dict[str, list[StateRow]]
    reassigning: dict[str, list[ReassigningRow]]
    deleting: _Names
    topic_configs: dict[str, _Settings]
    isr_notifications: Int32
    preferred_election_pending: bool
    migrating: bool
    migrating_since_ms: Int64 = 0
    clock_ahead: Int64 | None = None
    members_zxid: Int64 = -1
    #: Up to 0.6 the servers were stored here.
    nodes: list[NodeShape] = Field(default_factory=list)


#: The fields of QuorumReplica, the last one only where it is known, and of ControllerAnswer.
QuorumReplicaRow = tuple[Int32, Int64, Finite, Finite] | tuple[Int32, Int64, Finite, Finite, str]
ControllerRow = tuple[Int32, str, bool, bool, str]


class QuorumShape(StrictModel):
    leader: Int32
    epoch: Int32
    high_watermark: Int64
    voters: list[QuorumReplicaRow]
    observers: list[QuorumReplicaRow]
    controllers: list[ControllerRow]
    through: Int32
    forwarded: str
    offsets: dict[Int32, Int64]
    later: dict[Int32, Int64]
    apart: Finite
    configured: dict[Int32, str]
    features: dict[str, Int16]
    fenced: Ids | None
    ignored_zookeeper: str = ""
    eligible: dict[str, list[tuple[Int32, Ids, Ids]]] = Field(default_factory=dict)
    topic_settings: dict[str, _Settings] | None = None
    supported: dict[Int32, Int16] = Field(default_factory=dict)
    #: The partition, then the fields of OldLeader.
    old_leaders: dict[str, list[tuple[Int32, Int32, Int32, str]]] = Field(default_factory=dict)
    migrating: list[str] = Field(default_factory=list)
    controller_settings: dict[Int32, _Settings] = Field(default_factory=dict)
    clock_ahead: Int64 | None = None


class GroupShape(LenientModel):
    name: str
    listed_by: Ids
    state: str
    members: tuple[str, ...]
    group_type: str = ""


class ProbeShape(StrictModel):
    group: str
    partition: Int32
    find_error: Int16 | None
    coordinator: Int32 | None
    fetch_error: Int16 | None
    committed: Int64 | None = None
    error: str = ""
    seconds: Finite = 0.0
    #: Missing in files of the first form: then the name shows it.
    made_up: bool | None = None


_Partitions = tuple[tuple[str, Int32], ...]
_Logged = tuple[str, Int32, _Partitions | None, _Partitions | None]
#: Files of the first form of these rows have no members.
LoggedGroupRow = _Logged | tuple[str, Int32, _Partitions | None, _Partitions | None, tuple[str, ...]]
TransactionRow = tuple[Int64, Int64, tuple[str, ...]]


#: The fields of OffsetsLogSize; the last one, the error, is there only if it is not empty.
_Size = tuple[Int32, Int32, Int64, Int64, Int64, Int64, Int64]
OffsetsLogSizeRow = _Size | tuple[Int32, Int32, Int64, Int64, Int64, Int64, Int64, str]


class OffsetsLogShape(StrictModel):
    partition: Int32
    broker: Int32
    start: Int64
    log_end: Int64
    stable: Int64
    first: Int64
    end: Int64
    groups: list[LoggedGroupRow]
    transactions: list[TransactionRow]
    error: str = ""
    withheld: bool = False


_Member = tuple[str, str, str, str, _Partitions]
#: Files of the first form of these rows have no target and no epoch.
MemberRow = _Member | tuple[str, str, str, str, _Partitions, _Partitions | None, Int32 | None]
#: Partition, then the fields of OpenBatch.
OpenBatchRow = tuple[Int32, Int64, Int64, Int16, Int64, str]
TransactionStateRow = tuple[str, Int64, Int16, Int32, str, Int64]
GroupPartitionRow = tuple[Int32, Int64, Int16, Int64, Int64, Int64, str]


class GroupReadingShape(StrictModel):
    group: str
    taken_at: Moment
    coordinator: Int32 | None
    endpoint: EndpointShape | None
    unconnected: str | None
    state: str
    kind: str
    members: list[MemberRow] | None
    partitions: dict[str, list[GroupPartitionRow]] | None
    left_out: Int32
    held: dict[str, list[OpenBatchRow]] = Field(default_factory=dict)
    errors: dict[str, str]
    group_type: str = ""
    epoch: Int32 | None = None


class TransactionLogShape(StrictModel):
    found: list[TransactionStateRow]
    error: str = ""


class SampleShape(LenientModel):
    taken_at: Moment
    ends: dict[str, list[EndsRow]]
    leaders: dict[str, list[LeaderRow]]
    visible: dict[str, list[VisibleRow]]


class VantageShape(LenientModel):
    name: str
    taken_at: Moment
    reached: tuple[str, ...]
    unreached: dict[str, str]


class HeadShape(LenientModel):
    """The fields that are checked first, since a later version may have another shape."""

    format: str = ""
    version: int = 0
    kfix: str = "?"


class SnapshotShape(LenientModel):
    taken_at: Moment
    seconds: Finite
    kfix: str
    cluster: ClusterShape
    sources: list[SourceShape]
    views: dict[Int32, ViewShape]
    zookeeper: ZooKeeperShape | None
    quorum: QuorumShape | None = None
    migration: QuorumShape | None = None
    broker_configs: dict[Int32, _Settings]
    topic_configs: dict[str, _Settings]
    groups: list[GroupShape]
    groups_complete: bool
    probes: list[ProbeShape]
    offsets_logs: list[OffsetsLogShape] = Field(default_factory=list)
    group_readings: list[GroupReadingShape] = Field(default_factory=list)
    transaction_log: TransactionLogShape | None = None
    offsets_sizes: list[OffsetsLogSizeRow] = Field(default_factory=list)
    log_ends: dict[str, list[LogEndsRow]]
    visible: dict[str, list[EndsRow]] = Field(default_factory=dict)
    epoch_ends: dict[str, list[EpochEndRow]] = Field(default_factory=dict)
    ensemble: list[NodeShape] | None = None
    samples: list[SampleShape] = Field(default_factory=list)
    vantages: list[VantageShape] = Field(default_factory=list)
    reassignments: dict[str, list[AssignmentRow]] | None
    addresses: dict[Int32, EndpointShape]
    silent: dict[Int32, str]
    remembered_groups: _Names
    remembered_brokers: dict[Int32, str]
    remembered_alive: dict[Int32, Moment] = Field(default_factory=dict)
    remembered_dead: dict[Int32, Moment] = Field(default_factory=dict)
    remembered_well: dict[Int32, Moment] = Field(default_factory=dict)
    remembered_epochs: dict[Int32, Moment] = Field(default_factory=dict)
    remembered_applied: dict[Int32, Moment] = Field(default_factory=dict)
    remembered_moves: dict[str, list[MoveRow]] = Field(default_factory=dict)
    remembered_at_risk: dict[str, list[AtRiskRow]] = Field(default_factory=dict)
    foreign: dict[str, str] = Field(default_factory=dict)
    stated_partitions: dict[str, Int32] | None = None
