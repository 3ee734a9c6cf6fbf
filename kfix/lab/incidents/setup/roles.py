"""The roles of the brokers when a lab with zones is cut: the one in the zone of the controller, and two others."""

from collections.abc import Mapping
from dataclasses import dataclass

from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.incidents.setup.content import TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.network import faults
from kfix.lab.waiting import wait_for
from kfix.lab.workload.background import start_in_background

#: Sessions end after 6 s and replicas leave the ISR after 4 to 6 s: a cut shows in less than this.
SEEN_SECONDS = 25.0
_RATE = 40.0


@dataclass(frozen=True)
class ZoneRoles:
    """`active` is the controller itself: with ZooKeeper, or combined on KRaft, the broker `controller`."""

    context: IncidentContext
    active: int
    controller: int
    one: int
    other: int

    def zone(self, broker: int) -> str:
        return faults.zone_of_broker(self.context.lab.store, broker)

    def lead_nothing(self, broker: int) -> None:
        """Gives every partition another preferred leader, which then leads; `mend` restores the old order."""
        targets = {}
        for topic in self.context.access.topics():
            for number, replicas in self.context.access.assignment(topic).items():
                if replicas[0] == broker and len(replicas) > 1:
                    targets[TopicPartition(topic, number)] = (*replicas[1:], broker)
        if targets:
            self.context.access.reassign(targets)
            wait_for("the new preferred leaders lead", lambda: self._prefer(targets), SEEN_SECONDS)
            self.context.report(f"moved the leadership of {len(targets)} partitions away from broker {broker}")

    def _prefer(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> bool:
        states = self.context.access.states()
        left = [tp for tp, ids in targets.items() if (state := states.get(tp)) is None or state.leader != ids[0]]
        if left:
            self.context.access.elect(left, unclean=False)
        return not left

    def ledger(self, *leaders: int) -> list[TopicPartition]:
        """Creates a topic with a partition led by each of `leaders`; all three brokers have a replica."""
        ids = (self.controller, self.one, self.other)
        self.context.topic(TOPIC, [[leader, *(b for b in ids if b != leader)] for leader in leaders])
        return [TopicPartition(TOPIC, number) for number in range(len(leaders))]

    def write_from(self, broker: int, seconds: float, acks: str = "1", retries: int = 0) -> int:
        """Starts a producer in that broker's zone and returns the workload's number."""
        from kfix.lab.workload.workload import WorkloadPlan  # noqa: PLC0415 - brings the client library

        lab = self.context.lab
        plan = WorkloadPlan(
            lab.bootstrap_servers, TOPIC, acks=acks, retries=retries, rate=_RATE, seconds=seconds, consume=False
        )
        number = start_in_background(lab, plan, self.zone(broker))
        self.context.report(f"workload {number} writes to {TOPIC} from {self.zone(broker)} with acks={acks}")
        return number

    def cut(self, a: int, b: int, only: str = "", *, one_way: bool = False) -> None:
        faults.cut(self.context.lab.store, self.zone(a), self.zone(b), only=only, one_way=one_way)
        direction = "no longer reaches" if one_way else "and"
        end = "" if one_way else " are cut from each other"
        self.context.report(f"{self.zone(a)} {direction} {self.zone(b)}{end}{f' ({only} only)' if only else ''}")

    def isolate(self, broker: int, only: str = "") -> None:
        faults.isolate(self.context.lab.store, self.zone(broker), only)
        self.context.report(f"{self.zone(broker)} is cut from the other zones{f' ({only} only)' if only else ''}")

    def wait_unregistered(self, broker: int) -> None:
        kraft = self.context.lab.quorum is not None
        gone = wait_for(
            f"the controller fences broker {broker}" if kraft else f"ZooKeeper ends the session of broker {broker}",
            lambda: broker not in self.context.access.live_ids(),
            SEEN_SECONDS,
        )
        assert gone
        self.context.report(f"broker {broker} is {'fenced' if kraft else 'no longer registered'}")

    def wait_other_controller(self) -> int:
        found = wait_for(
            "another controller is elected",
            lambda: now if (now := self.context.access.controller()) not in {None, self.active} else None,
            SEEN_SECONDS,
        )
        self.context.report(f"node {found} is the controller now")
        return found


def assign_roles(context: IncidentContext) -> ZoneRoles:
    """Returns the roles of three brokers in three zones."""
    active = wait_for("there is a controller", context.access.controller, 10)
    state = context.lab.state
    home = next((each for each in state.controllers if each.id == active), None) or state.broker(active)
    assert home is not None
    zones = {faults.zone_of_broker(context.lab.store, each): each for each in reversed(context.ids())}
    controller = zones.pop(home.zone or "")
    one, other = sorted(zones.values(), key=context.ids().index)[:2]
    return ZoneRoles(context, active, controller, one, other)


def require_successors(context: IncidentContext) -> None:
    """Raises UsageError for a quorum of one controller: without it none is active."""
    if context.lab.quorum is not None and len(context.lab.state.controllers) == 1:
        raise UsageError(
            f"lab {context.lab.name!r} has one controller, and no other one can be elected",
            hint="kfix lab up --zones 3 --controllers 3",
        )
