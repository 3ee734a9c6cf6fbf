"""The context of an incident: content, faults, checks, and a record of what was done and how long it took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import LabError, UnreachableError, UsageError
from kfix.core.kafka.group_messages import offset_commit
from kfix.core.snapshot.group_reading import RECONCILING
from kfix.core.snapshot.offsets import StoredOffset
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.lab.clients.asking import ask
from kfix.lab.clients.commits import COORDINATOR_NOT_AVAILABLE, STEMS, Groups, name_for
from kfix.lab.clients.leading import answers_as_leader, log_ends, moves, stable_end, start_move
from kfix.lab.clients.membership import (
    begin_join,
    describe,
    describe_any,
    join_consumer_group,
    keep_members,
    settle_alone,
    stay_in_group,
    supports_consumer_groups,
)
from kfix.lab.clients.transactions import Transactions
from kfix.lab.definition.properties import DEFAULTS
from kfix.lab.definition.state import ids_by_rack, spread
from kfix.lab.healing.health import trouble
from kfix.lab.incidents.setup.content import CONTENT_TOPIC, MEGABYTE, RECORDS, bulk, records
from kfix.lab.nodes.brokers import add_broker, kill_brokers, replace_broker, start_brokers, wait_gone
from kfix.lab.nodes.failures import lose_disks
from kfix.lab.waiting import wait_for

if TYPE_CHECKING:  # these bring the client libraries
    from kfix.lab.clients.access import LabClient, RecordedState, Znodes
    from kfix.lab.nodes.handle import LabHandle

_OFFSETS_CONFIG = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}


class IncidentContext:
    groups: Groups  #: from `content` on

    def __init__(
        self, lab: LabHandle, access: LabClient, options: Mapping[str, Any], progress: Callable[[str], None]
    ) -> None:
        self.lab = lab
        self.access = access
        self.options = options
        self._progress = progress
        self.did: list[str] = []
        self._since = time.monotonic()

    # --- the record -----------------------------------------------------------------------------------------------

    def report(self, sentence: str) -> None:
        now = time.monotonic()
        self.did.append(f"{sentence} ({now - self._since:.1f} s)")
        self._since = now
        self._progress(self.did[-1])

    def require(self, holds: bool, claim: str) -> None:
        if not holds:
            raise LabError(
                f"the incident did not succeed: expected that {claim}",
                hint="kfix lab mend, then try again",
            )

    def int_option(self, name: str) -> int | None:
        try:
            return int(self.options[name]) if name in self.options else None
        except (TypeError, ValueError):
            raise UsageError(f"option {name}={self.options[name]!r} is not a number") from None

    def ints_option(self, name: str) -> tuple[int, ...]:
        raw = self.options.get(name, ())
        try:
            return tuple(int(each) for each in (raw.split(",") if isinstance(raw, str) else raw))
        except (TypeError, ValueError):
            raise UsageError(f"option {name}={raw!r} is not a list of numbers", hint="like 1,2") from None

    def offsets_partition(self) -> TopicPartition:
        """Returns the partition of the offsets topic that the option `partition` names, by default the first."""
        number = self.int_option("partition") or 0
        self.require(number in self.groups.by_partition, f"{OFFSETS_TOPIC} has a partition {number}")
        return TopicPartition(OFFSETS_TOPIC, number)

    @property
    def small_segments(self) -> str:
        """The setting of a topic that gives it segments of less than a megabyte."""
        return self.lab.state.spec.recipe.segment_key

    @property
    def znodes(self) -> Znodes:
        """The record in ZooKeeper. Raises UsageError on KRaft, where no incident that needs it is begun."""
        if self.access.znodes is None:
            raise UsageError(f"lab {self.lab.name!r} has no ZooKeeper", hint="kfix lab incidents")
        return self.access.znodes

    # --- content --------------------------------------------------------------------------------------------------

    def ids(self) -> tuple[int, ...]:
        return ids_by_rack(self.lab.state.brokers)

    def controller_first(self) -> list[int]:
        controller = wait_for("there is a controller", self.access.controller, 10)
        return sorted(self.ids(), key=lambda each: each != controller)

    def with_follower(self, follower: int | None = None) -> tuple[TopicPartition, int, int]:
        """Returns an offsets partition, its leader, and an in-sync follower, as the options want them."""
        wanted = self.int_option("partition")
        for number in self.access.assignment(OFFSETS_TOPIC):
            where = TopicPartition(OFFSETS_TOPIC, number)
            state = self.live_state(where)
            others = [each for each in state.isr if each != state.leader and follower in {None, each}]
            if others and wanted in {None, number}:
                return where, state.leader, others[0]
        such = "an" if follower is None else "such an"
        raise UsageError(
            f"no such partition of {OFFSETS_TOPIC} has {such} in-sync follower", hint="kfix lab up --offsets-rf 3"
        )

    def spread(self, partitions: int, replicas: int) -> list[list[int]]:
        return spread(self.ids(), partitions, replicas)

    def ensure_offsets_topic(self) -> None:
        if OFFSETS_TOPIC in self.access.topics():
            return
        spec = self.lab.state.spec
        partitions = int(spec.settings.get("offsets.topic.num.partitions", DEFAULTS["offsets.topic.num.partitions"]))
        self.access.create_topic(OFFSETS_TOPIC, self.spread(partitions, spec.offsets_replication), _OFFSETS_CONFIG)
        self.report(
            f"created {OFFSETS_TOPIC} with {partitions} partitions, replication factor {spec.offsets_replication}"
        )

    def topic(self, name: str, assignment: list[list[int]], config: Mapping[str, str] | None = None) -> None:
        if name in self.access.topics():
            raise UsageError(
                f"lab {self.lab.name!r} already has a topic {name!r}", hint="delete it, or use another lab"
            )
        self.access.create_topic(name, assignment, config or {})
        self.access.produce(name, {number: records(name, number) for number in range(len(assignment))})
        where = "; ".join(f"{number} on {replicas}" for number, replicas in enumerate(assignment))
        self.report(f"created topic {name} ({where}) with {RECORDS} records per partition")

    def fill(self, topic: str, partitions: int, megabytes: int) -> None:
        """Writes this many megabytes in all, for a reassignment that takes measurable time."""
        self.access.produce(topic, {number: bulk(megabytes * MEGABYTE // partitions) for number in range(partitions)})
        self.report(f"wrote {megabytes} MB of random bytes to {topic}")

    def content(self) -> None:
        """Creates a topic on all brokers, and in every offsets partition a group that has read half of the topic."""
        if CONTENT_TOPIC not in self.access.topics():
            self.topic(CONTENT_TOPIC, self.spread(3, min(3, len(self.ids()))))
        partitions = len(self.access.assignment(OFFSETS_TOPIC))
        names = {number: name_for(number, partitions, STEMS[number % len(STEMS)]) for number in range(partitions)}
        self.groups = Groups(self.access, names, CONTENT_TOPIC)
        self.groups.commit_all({TopicPartition(CONTENT_TOPIC, number): RECORDS // 2 for number in range(3)})
        self.report(f"{partitions} groups committed offsets, one in each partition of {OFFSETS_TOPIC}")

    def transact(self, transactional_ids: dict[int, str]) -> Transactions:
        """Each producer commits a transaction. `transactional_ids` is {partition of `__transaction_state`: id}."""
        for each in transactional_ids.values():
            self.access.transact(each, CONTENT_TOPIC)
        self.report(f"transactional producers {', '.join(transactional_ids.values())} committed a transaction each")
        return Transactions(self.access, transactional_ids)

    # --- faults ---------------------------------------------------------------------------------------------------

    def kill(self, *brokers: int) -> None:
        kill_brokers(self.lab, brokers)
        self.report(f"killed broker {' and '.join(map(str, brokers))} (SIGKILL); {self.lab.authority.buried}")

    def shut_down(self, *brokers: int) -> None:
        self.lab.nodes.shutdown(self.lab.state, brokers)
        wait_gone(self.lab, brokers)
        self.report(f"shut down broker {' and '.join(map(str, brokers))} (SIGTERM)")

    def kill_controllers(self, numbers: Iterable[int]) -> None:
        dying = tuple(numbers)
        self.lab.nodes.kill(self.lab.state, dying, "controller")
        self.report(f"killed controller {' and '.join(map(str, dying))} (SIGKILL)")

    def lose_disks(self, controllers: Iterable[int]) -> None:
        """Takes the disks of dead controllers away."""
        lost = tuple(controllers)
        lose_disks(self.lab, lost)
        self.report(f"took the disk of controller {' and '.join(map(str, lost))} away")

    def start(self, *brokers: int) -> None:
        start_brokers(self.lab, brokers)
        self.report(f"started broker {' and '.join(map(str, brokers))} again")

    def add(self, broker: int) -> None:
        """Starts a new broker, in no rack of its own and without a replica."""
        add_broker(self.lab, broker)
        self.report(f"added broker {broker}")

    def replace(self, dead: int, new_id: int) -> None:
        replace_broker(self.lab, dead, new_id)
        self.report(f"re-created broker {dead} as {new_id}: same address, empty disk")

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> None:
        self.access.reassign(targets)
        self.report(
            "moved " + ", ".join(f"{topic}-{number} to {list(ids)}" for (topic, number), ids in sorted(targets.items()))
        )

    def begin_move(self, where: TopicPartition, replicas: tuple[int, ...] | None) -> None:
        """Returns when the reassignment has begun; None cancels the one in progress. `reassign` waits for its end."""
        start_move(self.access, where, replicas)

    def set_config(self, kind: str, name: str, changes: Mapping[str, str]) -> None:
        self.access.write_config(kind, name, {**self.access.configs(kind).get(name, {}), **changes})

    def write_commits(
        self, where: TopicPartition, group: str, offsets: Mapping[TopicPartition, int], count: int, hours: int
    ) -> int:
        """Writes commits of these offsets into an offsets partition, with times of the last hours before this one.

        Returns the size of the partition in bytes at its leader.
        """
        self.access.write_commits(where, group, offsets, count, hours)
        return self.access.partition_size(self.live_state(where).leader, where)

    def hold_rebalance(self, group: str, coordinator: int, topic: str, partitions: int, instance: str = "") -> str:
        """Returns the id of a member that does not join again when another one comes: the group waits for it.

        With `instance`, its group.instance.id, it is a static member.
        """
        address = self.access.addresses()[coordinator]
        held = settle_alone(address, group, [TopicPartition(topic, number) for number in range(partitions)], instance)
        self.report(f"member {held} of group {group} joined alone and has all partitions of {topic}")
        begin_join(address, group, topic)
        wait_for(
            f"group {group} waits for {held} to join again",
            lambda: describe(address, group).state == "PreparingRebalance",
            10,
        )
        self.require(len(describe(address, group).members or ()) == 2, "both members are in the group")
        self.report(f"another member joined; the coordinator waits for {held}, which does not join again")
        return held

    def commit_unanswered(self, coordinator: int, group: str, where: TopicPartition, offset: int) -> None:
        """Commits without waiting for the answer, which a follower that does not fetch delays."""
        with contextlib.suppress(UnreachableError):
            ask(self.access.addresses()[coordinator], offset_commit(group, {where: StoredOffset(offset)}), 0.3)
        self.report(f"committed an offset for group {group} that no follower acknowledges but one")

    def grown_end(self, where: TopicPartition, broker: int, before: int) -> int | None:
        """Returns the log end of a replica if it is larger than before."""
        end = self.log_ends(where, [broker])[broker]
        return end if end > before else None

    def check_consumer_protocol(self) -> None:
        if not all(map(supports_consumer_groups, self.access.addresses().values())):
            raise UsageError(
                "protocol=consumer: these brokers have no consumer protocol", hint="kfix lab up --kafka 4.3.1"
            )

    def hold_reconciling(self, group: str, coordinator: int, topic: str) -> str:
        """Returns the id of a member of the consumer protocol that does not give up what another one is to have."""
        address = self.access.addresses()[coordinator]
        keep_members(address, group)
        held, epoch = join_consumer_group(address, group, topic)

        def has_all() -> bool:
            nonlocal epoch
            epoch = stay_in_group(address, group, held, epoch)
            found = describe_any(address, group)
            return found.state == "Stable" and any(each.assigned for each in found.members or ())

        wait_for(f"{held} has the partitions of {topic}", has_all, 10)
        self.report(f"member {held} of group {group} joined alone and has all partitions of {topic}")
        other, joined = join_consumer_group(address, group, topic)

        def reconciles() -> bool:
            nonlocal joined
            joined = stay_in_group(address, group, other, joined)
            return describe_any(address, group).state == RECONCILING

        wait_for(f"group {group} reconciles", reconciles, 10)
        self.report(f"another member joined; {held} does not give up the partitions that it is to have")
        return held

    # --- checks ---------------------------------------------------------------------------------------------------

    def wait_well(self, seconds: float = 30) -> None:
        def well() -> bool:
            return not trouble(self.access, self.lab.broker_ids)

        wait_for("all replicas are in sync and all brokers agree", well, seconds)

    def live_state(self, where: TopicPartition) -> RecordedState:
        return wait_for(f"{where} has a recorded state", lambda: self.access.state(*where), 10)

    def wait_state(
        self, where: TopicPartition, what: str, holds: Callable[[RecordedState], bool], seconds: float = 30
    ) -> RecordedState:
        def probe() -> RecordedState | None:
            state = self.access.state(*where)
            return state if state is not None and holds(state) else None

        return wait_for(f"{where}: {what}", probe, seconds)

    def wait_no_leader(self, where: TopicPartition, heirs: tuple[int, ...], seconds: float = 30) -> None:
        """Until no leader is recorded, and every broker reports it; only `heirs` may lead without a loss then."""
        state = self.wait_state(where, "no recorded leader", lambda each: each.leader == -1, seconds)
        self.require(state.heirs == heirs, f"only {list(heirs)} may lead {where}: {list(state.heirs)}")
        self.wait_leaderless_everywhere(where)

    def wait_move(self, where: TopicPartition) -> Assignment:
        return wait_for(f"the controller reassigns {where}", lambda: moves(self.access).get(where), 10)

    def log_ends(self, where: TopicPartition, brokers: Iterable[int]) -> dict[int, int]:
        return log_ends(self.access, where, brokers)

    def error_as_leader(self, broker: int, where: TopicPartition) -> int | None:
        """Returns the error code that a consumer gets from this broker as leader, or None if it does not answer."""
        return answers_as_leader(self.access, broker, [where]).get(where)

    def wait_dead_left_isr(self, besides: frozenset[TopicPartition], seconds: float = 30) -> None:
        def left() -> bool:
            live = self.access.live_ids()
            states = [state for where, state in self.access.states().items() if where not in besides]
            return all(state is not None and state.leader in live and live.issuperset(state.isr) for state in states)

        wait_for("the dead brokers left the ISR of all other partitions", left, seconds)

    def wait_leaderless_everywhere(self, where: TopicPartition, seconds: float = 20) -> None:
        def everywhere() -> bool:
            seen = [self.access.metadata(broker) for broker in self.access.live_ids()]
            views = [each.partitions.get(where) if each else None for each in seen]
            return bool(views) and all(view is not None and view.leader == -1 for view in views)

        wait_for(f"every broker reports that {where} has no leader", everywhere, seconds)

    def wait_no_coordinator(self, of: Groups | Transactions, number: int) -> None:
        for broker in self.access.live_ids():
            wait_for(
                f"broker {broker} knows no coordinator for {of.by_partition[number]}",
                lambda via=broker: of.coordinator(number, via)[0] == COORDINATOR_NOT_AVAILABLE,  # type: ignore[misc]
                15,
            )

    def wait_stable(self, where: TopicPartition, stable: int, high: int) -> None:
        leader = self.live_state(where).leader
        wait_for(
            f"{where} has {high} records, of which {stable} are stable",
            lambda: stable_end(self.access, leader, where) == (stable, high),
            10,
        )

    def wait_groups(self, hung: Collection[int] = ()) -> None:
        """Until every group works, but for those in the offsets partitions `hung`."""
        for number, group in self.groups.by_partition.items():
            if number not in hung:
                wait_for(f"group {group} still works", lambda each=number: self.groups.works(each), 30)  # type: ignore[misc]
