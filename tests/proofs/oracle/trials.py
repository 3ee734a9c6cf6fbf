"""Forecasts against real brokers: the forecast is written down, brokers are killed, and everything is read again.

A round makes random topics (one to three replicas, any min.insync.replicas, unclean elections on or off) on a lab, and
kills brokers step by step until one or two are left, on KRaft controllers, too; each step is a trial. The first deaths
shrink ISRs and stop partitions for those that follow. A trial that takes the controllers' majority ends the round:
nothing changes any more. Before a step some records may be edited behind the controller's back, as by a restored
backup, or a follower may be left behind by its leader.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Any

from kfix.core.derive.casefile import open_case
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.record import record_of
from kfix.core.diagnosis.forecast import Failure, FailureForecast, Fate, PartitionForecast
from kfix.core.errors import UnreachableError
from kfix.core.failures.judging import Judge
from kfix.core.kafka import group_messages
from kfix.core.snapshot.snapshot import NO_LEADER, Snapshot, TopicPartition
from kfix.core.target import make_target
from kfix.diagnose.snapshots import read_cluster
from kfix.fleet.audit.scenarios import RunScenarios, row_by_rules
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.model.scenarios import PAIR
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from kfix.lab import Lab
from kfix.lab.clients.access import LabClient
from kfix.lab.clients.asking import ask
from kfix.lab.clients.commits import name_for
from kfix.lab.nodes.brokers import wait_gone
from kfix.lab.waiting import wait_for
from tests.waiting import wait_until

TOPICS = 4
STABLE_SECONDS = 1.0
NOT_AVAILABLE = 15
REFUSED = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}


@dataclass
class Tally:
    """What was compared, and every difference, in words."""

    trials: int = 0
    partitions: int = 0
    groups: int = 0
    producers: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    falls_under: int = 0
    left_with_last: int = 0
    controllers: int = 0
    majorities: int = 0
    unknown: int = 0
    stored: int = 0
    discarded: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "fates": dict(sorted(self.fates.items()))}


@dataclass(frozen=True)
class Written:
    """A forecast, written down before anything is killed."""

    partitions: dict[TopicPartition, PartitionForecast]
    failure: FailureForecast
    before: dict[TopicPartition, tuple[int, tuple[int, ...]]]
    controller: int | None
    sessions: dict[int, int]


class Oracle:
    """`lagging`: the lab's session timeout is long enough to stop a broker without ending its session."""

    def __init__(self, lab: Lab, access: LabClient, seed: int, *, lagging: bool = False) -> None:
        self.lab = lab
        self.access = access
        self.random = Random(seed)
        self.seed = seed
        self.lagging = lagging
        self.tally = Tally()
        self.topics: list[str] = []
        self.edited = False

    # --- a round ---------------------------------------------------------------------------------------------------

    def round(self, number: int, steps: int) -> None:
        """Leaves every broker alive, its topics deleted, and the assignment of the offsets topic changed."""
        self.edited = False
        try:
            self._make_topics(number)
            for step in range(steps):
                if len(self.access.live_ids()) < 2 or not self._has_majority():
                    break
                self._trial(f"seed {self.seed}, round {number}, step {step}")
        finally:
            self._restore()

    def _make_topics(self, number: int) -> None:
        ids = sorted(self.access.live_ids())
        for n in range(TOPICS):
            topic = f"whatif-{self.seed}-{number}-{n}"
            config = {}
            if self.random.random() < 0.8:
                config["min.insync.replicas"] = str(self.random.choice((1, 2, 2, 3)))
            if self.random.random() < 0.4:
                config["unclean.leader.election.enable"] = self.random.choice(("true", "false"))
            factor = self.random.randint(1, min(3, len(ids)))
            assignment = [self.random.sample(ids, factor) for _ in range(self.random.randint(2, 4))]
            self.access.create_topic(topic, assignment, config)
            self.topics.append(topic)
        partitions = self.access.assignment(OFFSETS_TOPIC)
        targets = {
            TopicPartition(OFFSETS_TOPIC, p): tuple(self.random.sample(ids, self.random.randint(1, min(3, len(ids)))))
            for p in partitions
        }
        self.access.reassign(targets)

    def _restore(self) -> None:
        if gone := self._controllers("dead"):
            self.lab.restart(*gone, role="controller")
        dead = [b for b in self.lab.broker_ids if self.lab.nodes.condition(self.lab.state, "broker", b) == "dead"]
        if dead:
            self.lab.restart(*dead)
        if self.edited and self.access.znodes is not None:
            self.access.znodes.drop_controller()
            wait_for("a controller is elected", lambda: self.access.controller() is not None, 20)
        for topic in self.topics:
            self.access.delete_topic(topic)
        wait_for("the topics are deleted", lambda: not set(self.topics) & set(self.access.topics()), 60)
        self.topics.clear()
        wait_for("every partition has a leader", lambda: NO_LEADER not in {s[0] for s in self._states().values()}, 40)

    def _controllers(self, condition: str) -> list[int]:
        """Returns the controllers of a KRaft lab that are `alive` or `dead`."""
        ids = [] if self.lab.quorum is None else [each.id for each in self.lab.state.controllers]
        return [c for c in ids if self.lab.nodes.condition(self.lab.state, "controller", c) == condition]

    def _has_majority(self) -> bool:
        return len(self._controllers("alive")) >= len(self._controllers("dead")) + (self.lab.quorum is not None)

    # --- a trial ---------------------------------------------------------------------------------------------------

    def _trial(self, name: str) -> None:
        live = sorted(self.access.live_ids())
        stopped: int | None = None
        down = tuple(self.random.sample(live, 2 if len(live) > 2 and self.random.random() < 0.3 else 1))
        if len(down) == 1 and self.random.random() < 0.35:
            down = self._edit(live) or down
        elif self.lagging and len(down) == 1 and len(live) > 2 and self.random.random() < 0.5:
            stopped = self._leave_behind(down[0], live, name)
        falling = self._falling_controllers()
        if falling and self.random.random() < 0.3:
            down = ()
        failure = Failure(frozenset(down), controllers=frozenset(falling))
        try:
            written = self._write_down(failure, stable=stopped is None)
            for controller in falling:
                self.lab.kill(controller, role="controller")
            self.lab.nodes.kill(self.lab.state, down)
        finally:
            if stopped is not None:
                self.lab.cont(stopped)
        wait_gone(self.lab, down)
        self._settle()
        frozen = not self._has_majority()
        self.tally.controllers += len(falling)
        self.tally.majorities += frozen
        if not frozen and self._sessions() != {b: czxid for b, czxid in written.sessions.items() if b not in down}:
            self.tally.discarded.append(f"{name}: another broker's session ended or began meanwhile")
            return
        self._compare(f"{name}, down {down}, controllers {falling}", written)

    def _falling_controllers(self) -> tuple[int, ...]:
        alive = self._controllers("alive")
        if self.random.random() > 0.4 or not alive:
            return ()
        return tuple(self.random.sample(alive, min(self.random.choice((1, 1, 2)), len(alive))))

    def _edit(self, live: list[int]) -> tuple[int, ...] | None:
        """Edits records so that they name another in-sync replica as leader; returns it as the one to kill."""
        states = self._states()
        rich = [
            tp for tp, (leader, isr) in states.items() if tp.topic in self.topics and leader in live and len(isr) > 1
        ]
        if not rich or self.access.znodes is None:
            return None
        self.edited = True
        chosen: int | None = None
        for tp in self.random.sample(rich, min(2, len(rich))):
            leader, isr = states[tp]
            chosen = self.random.choice([b for b in isr if b != leader])
            self.access.znodes.forge_state(*tp, chosen, isr)
        assert chosen is not None
        return (chosen,) if self.random.random() < 0.7 else None

    def _leave_behind(self, leader: int, live: list[int], name: str) -> int | None:
        """Stops a follower and writes what it lacks to topics of its leader, until it is out of the ISRs; it stays so.

        The topics have no third replica, which would let the follower catch up once the leader is dead.
        """
        others = [b for b in live if b not in (leader, self.access.controller())]
        if not others:
            return None
        follower = self.random.choice(others)
        made = []
        for unclean in ("true", "false"):
            topic = f"{name.replace(', ', '-').replace(' ', '')}-{unclean}"
            config = {"unclean.leader.election.enable": unclean}
            self.access.create_topic(topic, [[leader, follower]], config, known_to=live)
            self.topics.append(topic)
            made.append(TopicPartition(topic, 0))
        self._settle()
        self.lab.stop(follower)
        try:
            for tp in made:
                self.access.produce(tp.topic, {0: [("k", b"lost")]}, acks="1")
            wait_for("the ISRs shrink", lambda: all(self._states()[tp][1] == (leader,) for tp in made), 6)
        except BaseException:
            self.lab.cont(follower)
            raise
        return follower

    def _write_down(self, failure: Failure, *, stable: bool) -> Written:
        if stable:
            self._settle()
        target = make_target(self.lab.bootstrap_servers, self.lab.zookeeper_connect, timeout=5.0 if stable else 1.5)
        for _ in range(10):
            snapshot, before = read_cluster(target, keep=False), self._states()
            if self._recorded(snapshot) == before or not stable:
                break
        judge = Judge(open_case(snapshot))
        if not failure.controllers:
            self._compare_fleet(judge, snapshot, failure.brokers)
        controller = self.access.controller()
        forecasts = dict(judge.every_partition(failure))
        return Written(forecasts, judge.judge(failure), before, controller, self._sessions_in(snapshot))

    def _recorded(self, snapshot: Snapshot) -> dict[TopicPartition, tuple[int, tuple[int, ...]]]:
        record = record_of(snapshot)
        return {} if record is None else {tp: (s.leader, s.isr) for tp, s in record.states.items()}

    def _sessions_in(self, snapshot: Snapshot) -> dict[int, int]:
        """Returns {live broker: its session}; a KRaft broker that was fenced for a moment is not noticed."""
        if snapshot.zookeeper is None:
            return dict.fromkeys(open_case(snapshot).live or (), 0)
        return {b: r.czxid for b, r in snapshot.zookeeper.registrations.items()}

    def _compare_fleet(self, judge: Judge, snapshot: Snapshot, down: frozenset[int]) -> None:
        """Stores the snapshot and compares what the fleet forecasts of it with the forecast that follows."""
        with tempfile.TemporaryDirectory(prefix="kfix-oracle-") as folder:
            writer = RunWriter(place_of(folder), date(2026, 1, 1), "oracle")
            writer.begin()
            writer.write("lab", snapshot)
            scenarios = RunScenarios(place_of(folder), writer.finish(), EmbeddedEngine(1))
            chosen = (PAIR, "these", down)
            [row] = scenarios.chosen({"lab": chosen}).rows
        self.tally.stored += 1
        if row != (wanted := row_by_rules(judge, "lab", *chosen)):
            self.tally.differences.append(f"down {set(down)}: the fleet's statement gives {row}, whatif {wanted}")

    # --- what happened ---------------------------------------------------------------------------------------------

    def _sessions(self) -> dict[int, int]:
        """Returns {live broker: czxid of its registration}: a broker that came back in between has another one."""
        target = make_target(self.lab.bootstrap_servers, self.lab.zookeeper_connect, timeout=5.0)
        return self._sessions_in(read_cluster(target, keep=False))

    def _states(self) -> dict[TopicPartition, tuple[int, tuple[int, ...]]]:
        return {tp: (s.leader, s.isr) for tp, s in self.access.states().items() if s is not None}

    def _settle(self) -> None:
        """Returns when nothing has changed for a while, and the live brokers' metadata is what it was, too."""

        def picture() -> Any:
            views = {b: self.access.metadata(b) for b in sorted(self.access.live_ids())}
            leaders = {b: v and {tp: p.leader for tp, p in v.partitions.items()} for b, v in views.items()}
            return self._states(), self.access.controller(), leaders

        last, since = picture(), time.monotonic()

        def rests() -> bool:
            nonlocal last, since
            if (now := picture()) != last:
                last, since = now, time.monotonic()
            # The controllers of a KRaft lab are no brokers.
            led = last[1] is not None or not self._has_majority()
            if self.lab.quorum is None:
                led = last[1] in self.access.live_ids()
            return time.monotonic() - since >= STABLE_SECONDS and led

        wait_until(rests, "the cluster comes to rest", 30, pause=0.2)

    def _compare(self, name: str, written: Written) -> None:
        frozen, failure = not self._has_majority(), written.failure.failure
        live, after, found = self.access.live_ids() - failure.brokers, self._states(), []
        minimum = self._min_isr()
        for tp, foretold in written.partitions.items():
            leader, isr = after[tp]
            leader = leader if leader in live else NO_LEADER
            alive = tuple(sorted(b for b in isr if b in live))
            needed = minimum(tp.topic)
            # From 3.9 on a leader asks for no more in-sync replicas than there are replicas.
            needed = min(needed, len(foretold.replicas)) if self.lab.quorum is not None else needed
            # Without a majority a dead replica stays in the ISR, and acks=all waits for it.
            under = leader != NO_LEADER and (len(alive) < needed or (frozen and len(alive) < len(isr)))
            last = leader != NO_LEADER and len(alive) == 1 and len(foretold.replicas) > 1
            if foretold.leader is None:
                self.tally.unknown += 1
                continue
            seen: tuple[object, ...] = (leader, alive, under, last)
            expected = (foretold.leader, foretold.isr, foretold.under_min_isr, foretold.last_in_sync)
            if foretold.under_min_isr is None:
                # The settings of a stopped broker were not read.
                self.tally.unknown += 1
                seen = (leader, alive, None, last)
            if seen != expected:
                found.append(f"{tp} {foretold.fate}: foretold {expected}, seen {seen}, before {written.before[tp]}")
            self.tally.fates[foretold.fate.value] += 1
            self.tally.falls_under += foretold.falls_under is True
            self.tally.left_with_last += foretold.left_with_last
        found += self._groups(live, written)
        found += self._producers(written, frozen=frozen)
        if self.lab.quorum is not None and written.failure.quorum_lost is not frozen:
            found.append(f"quorum: foretold lost {written.failure.quorum_lost}, seen {frozen}")
        if not frozen and written.failure.controller_moves != (self.access.controller() != written.controller):
            found.append(f"controller: was {written.controller}, is {self.access.controller()}")
        self.tally.trials += 1
        self.tally.partitions += len(written.partitions)
        self.tally.differences += [f"{name}: {each}" for each in found]

    def _min_isr(self) -> Any:
        own = self.access.configs("topics")
        return lambda topic: int(own.get(topic, {}).get("min.insync.replicas", 1))

    def _groups(self, live: frozenset[int], written: Written) -> list[str]:
        """Asks every live broker for the coordinator of a group in each partition of the offsets topic."""
        partitions = {tp: p for tp, p in written.partitions.items() if tp.topic == OFFSETS_TOPIC}
        found = []
        for tp, foretold in partitions.items():
            group = name_for(tp.partition, len(partitions), "oracle")
            expected = (0, foretold.leader) if foretold.leader != NO_LEADER else (NOT_AVAILABLE, -1)
            seen = {self._coordinator(broker, group, live) for broker in live}
            self.tally.groups += 1
            if seen != {expected}:
                found.append(f"group {group} of {tp}: foretold {expected}, seen {seen}")
        return found

    def _coordinator(self, broker: int, group: str, live: frozenset[int]) -> tuple[int, int]:
        """Returns error and coordinator; one that is dead, which brokers name without a majority, is none."""
        try:
            found = ask(self.lab.address(broker), group_messages.find_coordinator(group), 5.0)
        except UnreachableError as error:
            return -1, hash(str(error))
        return (found.error, found.broker) if found.error or found.broker in live else (NOT_AVAILABLE, -1)

    def _producers(self, written: Written, *, frozen: bool) -> list[str]:
        """A real producer with acks=all, at one partition of each kind. Without a majority it waits in vain."""
        led = [p for p in written.partitions.values() if p.tp.topic in self.topics and (p.leader or 0) > 0]
        found = []
        for under in (True, False):
            chosen = next((p for p in led if p.under_min_isr is under and p.fate is not Fate.STOPPED), None)
            if chosen is None:
                continue
            error = self.access.produce_error(*chosen.tp, "all")
            self.tally.producers += 1
            if (bool(error) if frozen else error in REFUSED) != under:
                found.append(f"{chosen.tp}: acks=all was foretold to {'fail' if under else 'work'}, and gave {error!r}")
        return found
