"""No advice that loses a record where a start loses none: the advice is carried out on a model of Kafka's own rules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kfix.model.cluster.quorum import ELR_FEATURE, EligibleLeaders
from kfix.model.cluster.snapshot import Snapshot, TopicPartition
from kfix.model.diagnosis.finding import ChangeKind, Diagnosis, Remedy
from kfix_diagnostics.engine import Options, diagnose
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.kraft_clusters import HIGH, kraft, quorum

UNCLEAN = "unclean.leader.election.enable"
TP = TopicPartition("orders", 0)
BROKERS = (1, 2, 3)
#: It has no replica and never dies: whoever is asked about the cluster.
WITNESS = 4


@dataclass
class Model:
    """One partition of a KRaft cluster, of Kafka 4 with eligible leader replicas (`PartitionChangeBuilder`).

    Without them, as on 3.9, the last member of the ISR stays in it. Those of `eligible_read` False are in no snapshot.
    A log is a list of records. What was written with acks=all while the ISR was large enough is `acknowledged`.
    """

    min_isr: int
    replicas: tuple[int, ...]
    keeps_eligible: bool = True
    unclean: bool = False
    eligible_read: bool = True
    live: set[int] = field(default_factory=lambda: set(BROKERS))
    killed: set[int] = field(default_factory=set)
    leader: int = -1
    isr: list[int] = field(default_factory=list)
    elr: list[int] = field(default_factory=list)
    last_known: int = -1
    logs: dict[int, list[int]] = field(default_factory=dict)
    acknowledged: list[int] = field(default_factory=list)
    written: int = 0

    def __post_init__(self) -> None:
        self.isr = list(self.replicas)
        self.leader = self.replicas[0]
        self.logs = {b: [] for b in self.replicas}

    def write(self, *, everyone: bool) -> None:
        """A record with acks=all, which a partition below min.insync.replicas refuses, or with acks=1."""
        if self.leader < 0 or (everyone and len(self.isr) < self.min_isr):
            return
        self.written += 1
        for broker in self.isr:
            self.logs[broker].append(self.written)
        if everyone:
            self.acknowledged.append(self.written)

    def stop(self, broker: int, *, kill: bool) -> None:
        if broker not in self.live:
            return
        self.live.discard(broker)
        if kill:
            self.killed.add(broker)
        if broker in self.isr:
            self._shrink(broker)
        elif self.leader < 0:
            self._elect()

    def _shrink(self, broker: int) -> None:
        left = [b for b in self.isr if b != broker]
        if not left and not self.keeps_eligible:
            self.leader = -1
            return
        if len(left) >= min(self.min_isr, len(self.replicas)):
            self.elr, self.last_known = [], -1
        elif self.keeps_eligible:
            self.elr = [*self.elr, broker]
        if not left:
            self.last_known = self.leader
        self.isr = left
        if self.leader == broker:
            self.leader = -1
        self._elect()

    def start(self, broker: int) -> None:
        if broker in self.live:
            return
        self.live.add(broker)
        if broker in self.killed:
            self.killed.discard(broker)
            self.elr = [b for b in self.elr if b != broker]
        self._elect()
        if self.leader >= 0 and broker in self.replicas and broker != self.leader:
            self._catch_up(broker)

    def _elect(self) -> None:
        if self.leader >= 0:
            return
        able = [b for b in self.replicas if b in self.live and (b in self.isr or b in self.elr)]
        if not able and not self.isr and not self.elr and self.last_known in self.live:
            able = [self.last_known]
        if not able and self.unclean:
            able = [b for b in self.replicas if b in self.live]
        if not able:
            return
        self.leader = able[0]
        if self.leader not in self.isr:
            self.isr = [self.leader]
        self.elr = [b for b in self.elr if b not in self.isr]
        for broker in self.replicas:
            if broker in self.live and broker not in self.isr:
                self._catch_up(broker)

    def _catch_up(self, broker: int) -> None:
        self.logs[broker] = list(self.logs[self.leader])
        self.isr = [b for b in self.replicas if b in (*self.isr, broker)]
        self.elr = [b for b in self.elr if b not in self.isr]
        if len(self.isr) >= min(self.min_isr, len(self.replicas)):
            self.elr, self.last_known = [], -1

    def has_all(self, broker: int) -> bool:
        return set(self.acknowledged) <= set(self.logs[broker])

    def snapshot(self) -> Snapshot:
        paper = kraft(Paper((*BROKERS, WITNESS)).topic(TP.topic, 1, replicas=[list(self.replicas)]))
        paper.min_isr = self.min_isr
        dead = [b for b in BROKERS if b not in self.live]
        for broker in dead:
            paper.kill(broker)
        part = paper.parts[TP]
        part.leader, part.isr = self.leader, tuple(self.isr)
        paper.log_ends = {TP: {b: len(log) for b, log in self.logs.items() if b in self.live}}
        known = (self.last_known,) if self.last_known >= 0 else ()
        waiting = {TP: EligibleLeaders(tuple(self.elr), known)} if self.leader < 0 and self.eligible_read else {}
        offsets = dict.fromkeys((*BROKERS, WITNESS), HIGH)
        features = {"metadata.version": 30, ELR_FEATURE: 1} if self.keeps_eligible else {"metadata.version": 21}
        ages = dict.fromkeys(dead, 60.0)
        view = quorum(ages, fenced=tuple(dead), eligible=waiting, offsets=offsets, features=features)
        settings = {TP.topic: {UNCLEAN: "true" if self.unclean else "false"}}
        return replace(paper.snapshot(quorum=view), topic_configs=settings)


Happening = tuple[str, int]
HAPPENINGS = st.lists(
    st.tuples(st.sampled_from(("all", "one", "stop", "kill", "kill", "start")), st.sampled_from(BROKERS)), max_size=14
)


def after(model: Model, happenings: list[Happening]) -> Model:
    for what, broker in happenings:
        if what in {"all", "one"}:
            model.write(everyone=what == "all")
        elif what == "start":
            model.start(broker)
        else:
            model.stop(broker, kill=what == "kill")
    return model


def first_advice(diagnosis: Diagnosis) -> Remedy:
    """The first remedy of the finding of the partition."""
    for finding in diagnosis.walk():
        if TP in finding.partitions and finding.code in {"KFX103", "KFX104", "KFX119"}:
            return finding.remedies[0]
    raise AssertionError("a partition without a leader, and no finding about it")


def allowed_to_start(diagnosis: Diagnosis) -> set[int]:
    """The brokers that some remedy starts or restarts, and that no finding holds back."""
    remedies = [r for f in diagnosis.walk() for r in f.remedies if ChangeKind.START in r.changes and not r.after]
    return {broker for remedy in remedies for broker in remedy.brokers}


@settings(max_examples=400, deadline=None)
@given(st.integers(1, 3), st.permutations(BROKERS), st.integers(1, 3), *[st.booleans()] * 3, HAPPENINGS)
def test_to_start_the_brokers_of_the_first_remedy_brings_a_leader_with_every_record(
    min_isr, order, size, keeps_eligible, eligible_read, unclean, happenings
):
    """Followed until a leader is elected; before that, no remedy that may lose a record comes first.

    Unclean elections were allowed after the last leader died: Kafka elects when the next broker starts.
    """
    model = after(Model(min_isr, tuple(order[:size]), keeps_eligible, eligible_read=eligible_read), happenings)
    if model.leader >= 0:
        event("a leader")
        return
    model.unclean = unclean
    event(f"ISR {len(model.isr)}, ELR {len(model.elr)}, unclean elections {unclean}")
    for _ in (*BROKERS, "the setting"):
        remedy = first_advice(diagnose(model.snapshot(), options=Options(prevention=True)))
        if remedy.command.endswith(f"{UNCLEAN}=false"):
            model.unclean = False
            continue
        assert ChangeKind.START in remedy.changes, remedy
        assert remedy.brokers, remedy
        for broker in remedy.brokers:
            model.start(broker)
        if model.leader >= 0:
            break
    assert model.leader >= 0, "the advice was followed, and no leader was elected"
    assert model.has_all(model.leader)


@settings(max_examples=400, deadline=None)
@given(st.integers(1, 3), st.permutations(BROKERS), st.integers(1, 3), *[st.booleans()] * 2, HAPPENINGS, st.data())
def test_no_remedy_starts_a_broker_whose_start_elects_a_replica_that_lacks_records(
    min_isr, order, size, keeps_eligible, eligible_read, happenings, data
):
    """Of any finding, in any order, as long as none holds it back."""
    model = after(Model(min_isr, tuple(order[:size]), keeps_eligible, eligible_read=eligible_read), happenings)
    if model.leader >= 0:
        return
    model.unclean = True
    allowed = allowed_to_start(diagnose(model.snapshot(), options=Options(prevention=True)))
    if not allowed:
        return
    model.start(data.draw(st.sampled_from(sorted(allowed))))
    assert model.leader < 0 or model.has_all(model.leader)


@settings(max_examples=400, deadline=None)
@given(st.integers(1, 3), st.permutations(BROKERS), st.integers(1, 3), HAPPENINGS, st.sampled_from(BROKERS))
def test_whichever_broker_comes_back_first_no_record_is_lost_before_an_unclean_election(
    min_isr, order, size, happenings, broker
):
    """The model itself: whoever is elected without an unclean election has every acknowledged record."""
    model = after(Model(min_isr, tuple(order[:size])), [*happenings, ("start", broker)])
    assert model.leader < 0 or model.has_all(model.leader)
