"""The record of a KRaft cluster: which controller counts, which broker counts, and what a change without them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self

import pytest

from kfix.core.collect.quorum_rows import DEPOSED_MS, clock_ahead, directory_bytes, unsustained
from kfix.core.errors import UnreachableError
from kfix.core.kafka import records
from kfix.core.kafka.kraft_messages import (
    DescribedCluster,
    DescribedQuorum,
    EligibleReplicas,
    Features,
    ListedBroker,
    VoterState,
)
from kfix.core.kafka.metadata import MetadataResponse
from kfix.core.kafka.requests import FetchedRecords
from kfix.core.kafka.security import Security
from kfix.core.snapshot.quorum import EligibleLeaders
from kfix.core.snapshot.reading import ChangeResult, NodeLevels, NodeName, StartMark
from kfix.core.snapshot.snapshot import Assignment, ClusterIdentity, Endpoint, Mode, PartitionView, TopicPartition
from kfix.core.snapshot.voters import QuorumVoters, joining_text, parsed_joining, parsed_voters, voters_text
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.heal.live import changer as live_changer
from kfix.heal.live import controllers as live_controllers
from kfix.heal.live import kraft_authority as live
from kfix.heal.live.changer import LiveChanger
from kfix.heal.live.clusters import NO_LOCK, NoClusterLock
from kfix.heal.live.kraft_authority import KraftAuthority
from tests.each import for_each

TP = TopicPartition("orders", 0)
ENDS = {number: Endpoint(f"b{number}", 9092) for number in (1, 2, 3)}
NOW = 1_000_000


def described(*fetched_ago_ms: int, error: int = 0) -> DescribedQuorum:
    """The answer of controller 100, whose followers fetched so many milliseconds ago."""
    own = VoterState(100, b"", 58, NOW, NOW)
    others = tuple(VoterState(101 + n, b"", 58, NOW - ago, NOW - ago) for n, ago in enumerate(fetched_ago_ms))
    return DescribedQuorum(error, -1 if error else 100, 7, 58, (own, *others))


@for_each(
    ("answer", "why"),
    [
        (described(), ""),
        (described(200, 400), ""),
        (described(200, 60_000), ""),
        (described(9_000, 60_000), "a majority of the voters no longer follows it"),
        (described(9_000), "a majority of the voters no longer follows it"),
        # One that was dead when this controller was elected has never fetched from it.
        (described(9_000, NOW + 1), "a majority of the voters no longer follows it"),
        (described(200, NOW + 1), ""),
        (described(200, 200, error=6), "not the active one"),
    ],
)
def test_an_active_controller_counts_while_a_majority_follows_it(answer: DescribedQuorum, why: str) -> None:
    found = unsustained(answer)
    assert (found == "") if not why else (why in found)


def elected(high: int = -1) -> DescribedQuorum:
    """The answer of controller 100 of three in the first milliseconds after its election: nobody has fetched yet."""
    own = VoterState(100, b"", 58, NOW, NOW)
    return DescribedQuorum(0, 100, 7, high, (own, VoterState(101, b"", -1, -1, -1), VoterState(102, b"", -1, -1, -1)))


@pytest.mark.parametrize("within_ms", [1500, DEPOSED_MS])
def test_a_controller_that_has_just_been_elected_does_not_count_yet(within_ms: int) -> None:
    assert "has just been elected" in unsustained(elected(), within_ms)
    assert "a majority of the voters no longer follows it" in unsustained(elected(58), within_ms)
    alone = replace(elected(), voters=elected().voters[:1])
    assert "has just been elected" in unsustained(alone, within_ms)
    assert unsustained(replace(alone, high_watermark=58), within_ms) == ""
    # Version 0 of the response dates nothing.
    undated = tuple(VoterState(each.node, b"", each.log_end, -1, -1) for each in elected().voters)
    assert unsustained(replace(elected(58), voters=undated), within_ms) == ""


@pytest.mark.parametrize("settles", [True, False])
def test_old_metadata_is_not_the_newest_while_the_active_controller_does_not_know_what_is_committed(
    authority: Any, monkeypatch: pytest.MonkeyPatch, settles: bool
) -> None:
    """The broker has old metadata; once the high watermark is known, another one is asked."""
    answers = [elected(), elected(), described(20, 20) if settles else elected()]

    def answer(*_args: object) -> DescribedQuorum:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    monkeypatch.setattr(live_controllers, "describe_at", answer)
    monkeypatch.setattr(live_controllers, "_BETWEEN", 0.01)
    quorum = live_controllers.Controllers(Security(), [Endpoint("c100", 9093)])
    monkeypatch.setattr(quorum, "reassignments", lambda *_: {})
    stale, fresh = [(20, metadata(STALE))], [(57, metadata(FULL))]
    found = authority({1: stale, 2: fresh, 3: fresh}, quorum, timeout=2.0)
    if settles:
        assert found.partition(TP).state.leader == 1
        assert found.asked == [1, 2]
        return
    with pytest.raises(UnreachableError, match="controller 100 has just been elected"):
        found.partition(TP)
    assert found.asked == []


@pytest.mark.parametrize(("late", "ahead"), [(0.0, 0), (1.9, 0), (-1.9, 0), (3600.2, 3600), (-3600.2, -3600)], ids=str)
def test_the_active_controller_shows_by_how_much_this_host_is_ahead(late: float, ahead: int) -> None:
    answer = described(200, 400)
    assert clock_ahead(replace(answer, heard_at=NOW / 1000 + late)) == ahead
    assert clock_ahead(answer) is None
    undated = replace(answer, voters=tuple(v._replace(fetched_ms=-1, caught_up_ms=-1) for v in answer.voters))
    assert clock_ahead(replace(undated, heard_at=NOW / 1000)) is None


def test_a_diagnosis_calls_a_controller_deposed_only_after_a_time_that_no_pause_takes() -> None:
    assert unsustained(described(3_000, 3_000))
    assert not unsustained(described(3_000, 3_000), DEPOSED_MS)
    assert "no longer follows" in unsustained(described(9_000, 60_000), DEPOSED_MS)
    assert unsustained(described(200, 200, error=6), DEPOSED_MS) == "not the active one"


class Quorum:
    """Controllers of which one is active, or none."""

    def __init__(self, moves: Mapping[TopicPartition, Assignment] | None = None, why: str = "") -> None:
        self.moves = moves or {}
        self.why = why

    def active(self, *_args: object) -> DescribedQuorum:
        if self.why:
            raise UnreachableError(self.why)
        return described()

    def reassignments(self, *_args: object) -> Mapping[TopicPartition, Assignment]:
        return self.moves

    def close(self) -> None: ...


def metadata(view: PartitionView | None = None, *, cluster: str = "mine") -> MetadataResponse:
    return MetadataResponse(cluster, 1, dict(ENDS), {}, {} if view is None else {TP: view})


Answers = Mapping[int, list[tuple[int, MetadataResponse] | UnreachableError]]


@pytest.fixture
def authority(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes an authority whose brokers give these answers, one after the other; the last one stays."""

    def make(answers: Answers, quorum: Quorum | None = None, timeout: float = 1.0) -> KraftAuthority:
        found = KraftAuthority(Target((), timeout=timeout), "mine", ENDS, ())
        found.asked = []  # type: ignore[attr-defined]

        def ask(broker: int, _ask: object, _until: object) -> tuple[int, MetadataResponse]:
            found.asked.append(broker)  # type: ignore[attr-defined]
            queue = answers[broker]
            answer = queue.pop(0) if len(queue) > 1 else queue[0]
            if isinstance(answer, UnreachableError):
                raise answer
            return answer

        lines = SimpleNamespace(ask=ask, to=lambda _: {}, close=lambda: None)
        monkeypatch.setattr(found, "_lines", lines)
        monkeypatch.setattr(found, "_controllers", quorum or Quorum())
        monkeypatch.setattr(live, "_BETWEEN", 0.01)
        return found

    return make


FULL = PartitionView(1, 4, (1, 2, 3), (1, 2, 3), (), 0)
STALE = PartitionView(2, 3, (1, 2, 3), (1, 2, 3), (), 0)


def test_a_broker_that_is_cut_is_passed_over_for_one_that_has_reached_the_high_watermark(authority: Any) -> None:
    found = authority({1: [(20, metadata(STALE))], 2: [(57, metadata(FULL))], 3: [(57, metadata(FULL))]})
    reading = found.partition(TP)
    assert (reading.state.leader, reading.state.leader_epoch, reading.state.version) == (1, 4, 4)
    assert reading.registered == {1, 2, 3}
    assert found.asked == [1, 2]
    # The one that was good is asked first from then on.
    found.partition(TP)
    assert found.asked == [1, 2, 2]


def test_a_broker_that_is_a_record_behind_is_asked_again(authority: Any) -> None:
    behind = [(56, metadata(STALE)), (57, metadata(FULL))]
    found = authority({1: list(behind), 2: [UnreachableError("hung")], 3: [UnreachableError("hung")]})
    assert found.partition(TP).state.leader == 1


def test_where_no_broker_has_come_so_far_nothing_is_known(authority: Any) -> None:
    found = authority({b: [(20, metadata(STALE))] for b in (1, 2, 3)}, timeout=0.5)
    with pytest.raises(UnreachableError, match="no broker has applied the metadata up to offset 57: broker 1 is at 20"):
        found.partition(TP)


def test_a_broker_of_another_cluster_does_not_count(authority: Any) -> None:
    theirs = (90, metadata(STALE, cluster="theirs"))
    found = authority({1: [theirs], 2: [(57, metadata(FULL))], 3: [theirs]})
    assert found.partition(TP).state.leader == 1


def test_without_an_active_controller_nothing_is_read(authority: Any) -> None:
    found = authority({b: [(57, metadata(FULL))] for b in (1, 2, 3)}, Quorum(why="no active controller answers"))
    for read in (found.registered, found.door, found.controller, lambda: found.partition(TP)):
        with pytest.raises(UnreachableError, match="no active controller answers"):
            read()
    assert found.asked == []
    assert found.address(1) is None


def test_a_move_counts_only_if_it_is_of_these_replicas(authority: Any) -> None:
    moving = PartitionView(1, 4, (1, 2, 3), (1, 2), (), 0)
    move = Assignment((1, 2, 3), (3,), ())
    answers = {b: [(57, metadata(moving))] for b in (1, 2, 3)}
    found = authority(answers, Quorum({TP: move}))
    found._eligible = lambda *_: {}
    assert found.partition(TP).assignment == move
    other = authority(answers, Quorum({TP: Assignment((1, 2, 4), (4,), ())}))
    other._eligible = lambda *_: {}
    assert other.partition(TP).assignment == Assignment((1, 2, 3))


def test_of_a_partition_without_a_leader_the_eligible_replicas_are_read_and_hold_every_record(authority: Any) -> None:
    empty = PartitionView(-1, 4, (3, 2, 1), (), (1, 2), 5)
    found = authority({b: [(57, metadata(empty))] for b in (1, 2, 3)})
    found._eligible = lambda *_: {TP: EligibleReplicas(-1, 4, (), (2,), (1,))}
    reading = found.partition(TP)
    assert reading.eligible == EligibleLeaders((2,), (1,))
    assert (reading.leaderless, reading.isr, reading.live_isr) == (True, (), (2,))


def test_a_leader_that_was_elected_between_two_questions_is_read_again(authority: Any) -> None:
    empty = PartitionView(-1, 4, (3, 2, 1), (), (1, 2), 5)
    found = authority({1: [(57, metadata(empty)), (58, metadata(FULL))], 2: [], 3: []})
    found._eligible = lambda *_: {TP: EligibleReplicas(1, 5, (1,), (), ())}
    assert found.partition(TP).state.leader == 1


# --- changes ----------------------------------------------------------------------------------------------------------


def changer(monkeypatch: pytest.MonkeyPatch, door: Any, answer: ChangeResult | None = None) -> tuple[LiveChanger, Any]:
    sent: list[int] = []

    class Line:
        def __init__(self, *_args: object, **_kwargs: object) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_args: object) -> None: ...

        def call(self, request: Any, _deadline: object) -> Any:
            if request.api_key == 3:
                return SimpleNamespace(cluster_id="mine")
            sent.append(request.api_key)
            if answer is None:
                raise UnreachableError("no answer in time")
            return SimpleNamespace(error=answer.code, message=answer.message)

    monkeypatch.setattr(live_changer, "BrokerConnection", Line)
    reader: Any = SimpleNamespace(
        door=door, address=ENDS.get, identity=lambda: ClusterIdentity("mine", Mode.KRAFT, "b:1")
    )
    return LiveChanger(Target(()), None, reader), sent


def test_no_unclean_election_is_sent_to_a_quorum_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent() -> int:
        raise UnreachableError("no active controller answers")

    made, sent = changer(monkeypatch, silent)
    result = made.elect(TP, unclean=True)
    assert (result.name, result.unknown, sent) == ("NOT_SENT", False, [])
    assert "no active controller answers" in result.message


@pytest.mark.parametrize(
    ("answer", "unknown"),
    [(None, True), (ChangeResult(41, ""), True), (ChangeResult(0, ""), False), (ChangeResult(39, "no"), False)],
)
def test_a_change_without_an_answer_or_of_a_controller_that_stepped_down_is_unknown(
    monkeypatch: pytest.MonkeyPatch, answer: ChangeResult | None, unknown: bool
) -> None:
    made, sent = changer(monkeypatch, lambda: 2, answer)
    assert made.reassign(TP, (1, 2)).unknown is unknown
    assert len(sent) == 1


def test_kraft_has_no_controller_node_to_delete_and_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    made, sent = changer(monkeypatch, lambda: 2)
    assert made.reelect_controller(epoch_version=3).name == "NOT_SENT"
    assert sent == []
    lock = NoClusterLock()
    with pytest.raises(UnreachableError, match=NO_LOCK):
        lock.take({})
    lock.release()
    assert (lock.held(), lock.scope) == (False, "none")


GHOST = Endpoint("b4", 9092)


def test_every_registered_broker_and_every_voter_is_asked_for_its_levels(
    authority: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address of controller 101 is not known, and the fenced broker 4 does not answer."""
    voters = (VoterState(100, b"", 58, NOW, NOW), VoterState(101, b"", 58, NOW, NOW))
    quorum = Quorum()
    monkeypatch.setattr(
        quorum, "active", lambda *_: replace(described(), voters=voters, nodes=((100, Endpoint("c100", 9093)),))
    )

    class Line:
        def __init__(self, endpoint: Endpoint, _security: Security, *, controller: bool) -> None:
            assert controller is (endpoint.port == 9093)
            self.endpoint = endpoint

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_args: object) -> None: ...

        def call(self, _request: object, _deadline: object) -> Features:
            if self.endpoint == GHOST:
                raise UnreachableError(f"{GHOST}: connection refused")
            levels = {} if self.endpoint == ENDS[3] else {"metadata.version": 21}
            return Features(57, levels, {"metadata.version": 30})

    found = authority({b: [(57, metadata(FULL))] for b in (1, 2, 3)}, quorum)
    read = found._lines.ask
    monkeypatch.setattr(live, "BrokerConnection", Line)
    monkeypatch.setattr(live, "ask_fenced", lambda *_: {4: GHOST})
    monkeypatch.setattr(found._lines, "ask", lambda b, ask, until: {4: GHOST} if found.asked else read(b, ask, until))
    levels = {f"{role} {node}": each for (role, node), each in found.metadata_levels().items()}
    assert levels == {
        **dict.fromkeys(("broker 1", "broker 2", "controller 100"), NodeLevels(21, 30)),
        "broker 3": NodeLevels(error="b3:9092 reports no metadata.version"),
        "broker 4": NodeLevels(error="b4:9092: connection refused"),
        "controller 101": NodeLevels(error="its address is not reported"),
    }


@pytest.mark.parametrize(
    ("broker", "fenced", "answers", "state", "runs", "replicas"),
    [
        (1, {}, False, "alive", True, 1),
        (4, {4: GHOST}, False, "fenced", False, 0),
        (4, {4: GHOST}, True, "fenced", True, 0),
        # Its address is a live broker's now: what answers there is not it.
        (4, {4: ENDS[2]}, True, "fenced", False, 0),
        (4, {}, False, "absent", False, 0),
        (4, None, False, "unreported", False, 0),
        # Being moved to it counts as held, although no broker's metadata has it yet.
        (5, {5: GHOST}, False, "fenced", False, 1),
    ],
)
def test_a_registration_is_read_with_all_that_may_need_it(
    authority: Any,
    monkeypatch: pytest.MonkeyPatch,
    broker: int,
    fenced: Mapping[int, Endpoint] | None,
    answers: bool,
    state: str,
    runs: bool,
    replicas: int,
) -> None:
    moves = {TP: Assignment((1, 2, 3, 5), (5,), ())} if broker == 5 else {}
    found = authority({b: [(57, metadata(FULL))] for b in ENDS}, Quorum(moves))
    monkeypatch.setattr(live, "ask_fenced", lambda *_: fenced)
    one_more = found._lines.ask
    monkeypatch.setattr(found._lines, "ask", lambda b, ask, until: fenced if found.asked else one_more(b, ask, until))
    asked = []

    class Line:
        accepted = False

        def __init__(self, endpoint: Endpoint, _security: object) -> None:
            asked.append(endpoint)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_args: object) -> None: ...

        def call(self, *_args: object) -> None:
            if not answers:
                raise UnreachableError("refused")

    monkeypatch.setattr(live, "BrokerConnection", Line)
    monkeypatch.setattr(live, "hidden_topics", lambda *_: "broker 1: hides orders")
    read = found.registration(broker)
    assert read.hidden == "broker 1: hides orders"
    assert (read.state, read.answers, read.replicas, read.voter, read.fetched) == (state, runs, replicas, False, None)
    assert asked == ([GHOST] if GHOST in (fenced or {}).values() else [])


def test_a_voter_is_one_and_its_last_fetch_is_known(authority: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Followed(Quorum):
        def active(self, *_args: object) -> DescribedQuorum:
            return described(200, 400)

    found = authority({b: [(57, metadata(FULL))] for b in ENDS}, Followed())
    one_more = found._lines.ask
    monkeypatch.setattr(found._lines, "ask", lambda b, ask, until: {} if found.asked else one_more(b, ask, until))
    monkeypatch.setattr(live, "hidden_topics", lambda *_: "")
    read = found.registration(101)
    assert (read.state, read.voter, read.fetched) == ("absent", True, 0.2)


class Log:
    """The active controller as far as Fetch goes: one batch for each record, from `first` on."""

    endpoint = ENDS[1]

    def __init__(self, *values: bytes, first: int = 0, error: int = 0) -> None:
        self.batches = {first + n: one_record(first + n, value) for n, value in enumerate(values)}
        self.error = error

    def call(self, request: Any, _deadline: object) -> FetchedRecords:
        at = int.from_bytes(request.body[51:59], "big")
        if self.error:
            return FetchedRecords(self.error, -1, -1, b"")
        return FetchedRecords(0, len(self.batches), 0, self.batches.get(at, b""))


def one_record(offset: int, value: bytes) -> bytes:
    return records._one_record(b"", records._to_varint(len(value)) + value, 0, offset, 3, 0)


def registers(kind: int, node: int) -> bytes:
    """The begin of a registration: frame 1, type, version 0, id."""
    return bytes((1, kind, 0)) + node.to_bytes(4, "big")


def starts(log: Log, since: int, high: int) -> Mapping[NodeName, int]:
    controllers = live_controllers.Controllers(Security(), ())
    controllers._lines[ENDS[1]], controllers._last = log, ENDS[1]  # type: ignore[assignment]
    return controllers.starts_since(StartMark(since, 3), DescribedQuorum(0, 100, 7, high), Deadline.after(5))


def test_nodes_that_registered_since_a_mark_are_read_from_the_metadata_log() -> None:
    log = Log(registers(0, 1), registers(2, 7), registers(27, 101), registers(0, 2), registers(0, 2))
    assert starts(log, 0, 5) == {("broker", 1): 0, ("controller", 101): 2, ("broker", 2): 4}
    assert starts(log, 1, 5) == {("controller", 101): 2, ("broker", 2): 4}
    assert starts(log, 5, 5) == {}


def test_a_metadata_log_that_cannot_be_read_leaves_starts_unknown() -> None:
    with pytest.raises(UnreachableError, match=r"from offset 0 on was not read: .*snapshot"):
        starts(Log(registers(0, 1), first=3), 0, 4)
    with pytest.raises(UnreachableError, match=r"CLUSTER_AUTHORIZATION_FAILED.*ClusterAction"):
        starts(Log(error=31), 0, 4)
    with pytest.raises(UnreachableError, match="offsets 0 to 0"):
        starts(Log(b"\x07"), 0, 1)
    with pytest.raises(UnreachableError, match="no listener of a controller"):
        live_controllers.Controllers(Security(), ()).starts_since(
            StartMark(0), DescribedQuorum(0, 100, 7, 4), Deadline.after(5)
        )


def voters_read(*, error: int = 0, version: bool = True, listeners: tuple[str, ...] = ("CONTROLLER",)) -> QuorumVoters:
    """What is read of a quorum whose controller 102 follows with another disk, and broker 1 as any broker does."""
    directory = bytes(15) + b"\1"
    voters = (
        VoterState(100, directory, 58, NOW, NOW),
        VoterState(101, directory, 58, NOW - 200, NOW - 200),
        VoterState(102, directory, 20, NOW - 60_000, NOW - 60_000),
    )
    observers = (
        VoterState(1, directory, 58, NOW - 100, NOW - 100),
        VoterState(102, bytes(15) + b"\2", 58, NOW - 300, NOW - 300),
        VoterState(102, bytes(15) + b"\3", 58, NOW - 90_000, NOW - 90_000),
    )
    found = DescribedQuorum(0, 100, 7, 58, voters, observers, listeners=listeners)
    registered = tuple(ListedBroker(node, Endpoint(f"c{node}", 9093), False) for node in (100, 101, 102))
    line = SimpleNamespace(
        endpoint=ENDS[1],
        supports=lambda *_: version,
        call=lambda *_: DescribedCluster(error, "c", 100, registered),
    )
    authority = KraftAuthority(Target(()), "c", {}, [ENDS[1]])
    authority._controllers._lines[ENDS[1]] = line  # type: ignore[assignment]

    def active(*_: object) -> DescribedQuorum:
        authority._controllers._last = ENDS[1]
        return found

    authority._controllers.active = active  # type: ignore[method-assign, assignment]
    return authority.voters()


def test_voters_are_read_with_their_disks_and_only_controllers_can_join() -> None:
    found = voters_read()
    assert (found.leader, found.following, found.dynamic) == (100, (100, 101), True)
    assert [each.fetched for each in found.voters] == [0.0, 0.2, 60.0]
    [joining] = found.joining
    assert (joining.node, joining.address) == (102, "CONTROLLER://c102:9093")
    assert parsed_joining(joining_text(found.joining)) == found.joining
    assert parsed_voters(voters_text(found.voters)) == {each.node: each.directory for each in found.voters}
    assert directory_bytes(joining.directory) == bytes(15) + b"\2"
    [unnamed] = voters_read(listeners=("CONTROLLER", "OTHER")).joining
    assert unnamed.address == "c102:9093"


def test_voters_are_unknown_where_the_controllers_are_not_reported() -> None:
    with pytest.raises(UnreachableError, match=r"CLUSTER_AUTHORIZATION_FAILED \(.*Alter"):
        voters_read(error=31)
    with pytest.raises(UnreachableError, match="does not report which controllers are registered"):
        voters_read(version=False)


def test_a_change_of_voters_needs_the_listener_of_a_controller() -> None:
    with pytest.raises(UnreachableError, match="give --bootstrap-controller"):
        _ = live_controllers.Controllers(Security(), ()).active_endpoint
