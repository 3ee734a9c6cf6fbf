"""KFX809 without `--before`: an earlier snapshot knew who had every record, and another replica leads now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest

from kfix.core.derive.loss import in_doubt, lost_since
from kfix.core.derive.memory import at_risk, compared_with
from kfix.core.diagnosis.finding import Confidence, Finding, Severity
from kfix.core.saved import files
from kfix.core.saved.files import encode
from kfix.core.saved.store import SnapshotStore
from kfix.core.snapshot.memory import AtRisk, Memory
from kfix.core.snapshot.snapshot import EpochEnd, Snapshot, TopicPartition
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import NOW, Paper, Part

WHERE = TopicPartition("ledger", 0)


@dataclass
class Story:
    """ledger-0 on brokers 1 and 2, one snapshot after the other, each of which remembers those before it.

    Broker 2 has fallen behind; broker 1, the only one in sync, acknowledges records and stops.
    """

    kraft: bool = False
    at: float = NOW
    paper: Paper = field(init=False)
    memory: dict[TopicPartition, AtRisk] = field(default_factory=dict)
    epoch_end: EpochEnd | None = None

    def __post_init__(self) -> None:
        self.paper = Paper().topic("ledger", 1, replicas=[[1, 2]])
        if self.kraft:
            kraft_clusters.kraft(self.paper)
        self.part.isr = (1,)
        self.part.version += 1

    @property
    def part(self) -> Part:
        return self.paper.parts[WHERE]

    def snapshot(self, after: float = 60.0, *, ends: dict[int, int] | None = None) -> Snapshot:
        self.at += after
        self.paper.log_ends = {} if ends is None else {WHERE: ends}
        gone = sorted({1, 2, 3} - self.paper.answering)
        view = kraft_clusters.quorum(dict.fromkeys(gone, 600.0), fenced=tuple(gone))
        quorum = {"quorum": view} if self.kraft else {}
        taken = self.paper.snapshot(taken_at=self.at, memory=Memory(at_risk=self.memory), **quorum)
        if ends is not None and self.part.leader in ends:
            taken = replace(taken, visible={WHERE: {self.part.leader: ends[self.part.leader]}})
        if self.epoch_end is not None:
            taken = replace(taken, epoch_ends={WHERE: self.epoch_end})
        self.memory = at_risk(taken)
        return taken

    def stop_the_leader(self) -> None:
        self.paper.kill(1, age=0.0)

    def elect_uncleanly(self) -> None:
        self.part.write(leader=2, isr=(2,), age=0.0)

    def return_of_the_leader(self) -> None:
        self.paper.back(1, in_sync=True)


def found(snapshot: Snapshot) -> Finding | None:
    return next((f for f in diagnose(snapshot).walk() if f.code == "KFX809"), None)


@for_each("kraft", [False, True])
def test_after_an_unclean_election_the_holder_of_the_missing_records_is_named_and_nothing_is_healthy(
    kraft: bool,
) -> None:
    story = Story(kraft)
    story.stop_the_leader()
    assert found(story.snapshot()) is None, "nothing is lost while the partition waits for broker 1"
    story.elect_uncleanly()
    taken = story.snapshot()
    finding = found(taken)
    assert finding is not None
    assert (finding.severity, finding.facts["holders"], finding.partitions) == (Severity.CRITICAL, (1,), (WHERE,))
    assert "ledger-0 is led by broker 2" in finding.summary
    assert "how many is unknown" in finding.summary
    assert "Only the disk of broker 1 can still have them" in finding.summary
    assert finding.cause.confidence is Confidence.CERTAIN
    assert finding.remedies[0].text.startswith("Keep broker 1 down and copy its disk")
    diagnosis = diagnose(taken)
    assert exit_code(diagnosis) == 21
    starts = [r.text for f in diagnosis.walk() for r in f.remedies if "tart broker 1" in r.text or "Wait" in r.text]
    assert starts
    assert all(text.startswith("Copy the disk of broker 1 first") for text in starts), starts


def test_an_election_on_kraft_that_no_snapshot_saw_pending_is_no_loss_and_its_disk_is_copied_before_the_start() -> None:
    story = Story(kraft=True)
    story.snapshot()
    story.stop_the_leader()
    story.elect_uncleanly()
    taken = story.snapshot()
    assert found(taken) is None
    starts = [r.text for f in diagnose(taken).walk() for r in f.remedies if "tart broker 1" in r.text]
    assert starts
    said = "If an unclean election chose the leader of ledger-0, copy the disk of broker 1 first: it alone has what is"
    assert all(text.startswith(said) for text in starts), starts
    story.return_of_the_leader()
    assert in_doubt(story.snapshot()) == {}


@for_each("kraft", [False, True])
def test_the_number_of_lost_records_is_known_if_an_earlier_snapshot_has_the_log_end(kraft: bool) -> None:
    story = Story(kraft)
    story.snapshot(ends={1: 100, 2: 50})
    epoch = story.part.epoch
    story.stop_the_leader()
    story.snapshot(ends={2: 50})
    story.elect_uncleanly()
    story.epoch_end = EpochEnd(2, epoch, 50)
    finding = found(story.snapshot(ends={2: 80}))
    assert finding is not None
    assert "ledger-0 lost at least 50 records" in finding.summary
    assert "50 of which were committed" in finding.summary
    assert (finding.facts["lost"], finding.facts["holders"]) == (50, (1,))


@for_each("kraft", [False, True])
def test_a_loss_that_was_not_seen_while_the_holder_was_down_is_remembered_for_a_day(kraft: bool) -> None:
    story = Story(kraft)
    story.stop_the_leader()
    story.snapshot()
    story.elect_uncleanly()
    story.return_of_the_leader()
    finding = found(story.snapshot())
    assert finding is not None
    assert (finding.severity, finding.facts["holders"]) == (Severity.WARNING, ())
    assert not any("disk" in remedy.text for remedy in finding.remedies), "it has truncated them"
    assert found(story.snapshot(3600)) is not None
    assert found(story.snapshot(86_400)) is not None, "the snapshot a day later is the last one that knows"
    assert found(story.snapshot()) is None


@for_each("kraft", [False, True])
def test_a_loss_that_was_reported_while_the_holder_was_down_is_forgotten_once_it_is_back(kraft: bool) -> None:
    story = Story(kraft)
    story.stop_the_leader()
    story.snapshot()
    story.elect_uncleanly()
    assert found(story.snapshot()) is not None
    assert found(story.snapshot(10 * 86_400)) is not None, "as long as the disk has the records"
    story.return_of_the_leader()
    story.snapshot()
    assert found(story.snapshot()) is None


@for_each("kraft", [False, True])
def test_a_partition_that_its_former_leader_led_again_has_lost_nothing(kraft: bool) -> None:
    story = Story(kraft)
    story.stop_the_leader()
    story.snapshot()
    story.paper.back(1)
    story.part.write(leader=1, isr=(1,), age=0.0)
    story.part.isr = (1, 2)
    story.part.version += 1
    story.part.write(leader=2, isr=(1, 2), age=0.0)
    assert found(story.snapshot()) is None, "broker 2 joined the ISR, and a preferred election or a restart moved it"
    assert WHERE not in story.memory


@for_each("kraft", [False, True])
def test_a_rolling_restart_that_moves_the_leader_is_no_loss(kraft: bool) -> None:
    story = Story(kraft)
    story.snapshot(ends={1: 100, 2: 90})
    epoch = story.part.epoch
    story.part.isr = (1, 2)
    story.part.version += 1
    story.stop_the_leader()
    assert story.part.leader == 2
    story.epoch_end = EpochEnd(2, epoch, 130)
    assert found(story.snapshot(ends={2: 140})) is None


def test_a_topic_that_was_created_again_has_lost_nothing() -> None:
    story = Story()
    story.stop_the_leader()
    story.snapshot()
    story.part.leader, story.part.isr, story.part.epoch, story.part.version = 2, (2,), 9, 0
    assert found(story.snapshot()) is None


def test_eligible_replicas_that_were_not_read_are_no_evidence() -> None:
    before = kraft_clusters.eligible_dead()
    assert before.quorum is not None
    unread = replace(before, quorum=replace(before.quorum, eligible={}))
    assert TopicPartition("orders", 0) not in at_risk(unread)
    assert at_risk(before)[TopicPartition("orders", 0)].holders == (2, 1)


def test_an_authority_that_was_not_read_forgets_nothing() -> None:
    story = Story()
    story.stop_the_leader()
    taken = story.snapshot()
    assert at_risk(replace(taken, zookeeper=None, memory=Memory(at_risk=story.memory))) == story.memory


def test_the_store_remembers_it_for_the_next_snapshot_and_passes_over_a_damaged_row(tmp_path: Path) -> None:
    story = Story()
    story.stop_the_leader()
    taken = story.snapshot()
    store = SnapshotStore(tmp_path)
    store.note(taken)
    assert store.recall("paper").at_risk == story.memory
    later = replace(story.snapshot(), memory=Memory(at_risk=story.memory))
    path = tmp_path / "s.json"
    assert files.parse(json.dumps(encode(later)), path).memory.at_risk == story.memory
    kept = store.keep(later)
    assert kept is not None
    memory = kept.parent / "memory.json"
    for damage in damaged(json.loads(memory.read_text())["at_risk"]["ledger"]["0"]):
        memory.write_text(json.dumps(json.loads(memory.read_text()) | {"at_risk": damage}))
        assert store.recall("paper").at_risk == story.memory, damage


def damaged(row: list[object]) -> Iterator[object]:
    yield 7
    yield {"ledger": 0}
    yield {"ledger": {"x": row}}
    yield {"ledger": {"0": row[:4]}}
    for column, value in (
        (0, -1.0),
        (0, float("inf")),
        (1, 2**31),
        (4, 1),
        (4, ["1"]),
        (7, None),
        (9, ""),
    ):
        yield {"ledger": {"0": [*row[:column], value, *row[column + 1 :]]}}


# --- random histories: what the controller does, and who really had the records -----------------------------------


class Truth:
    """Plays Kafka's rules on ledger-0: the log ends of both replicas, and how many records an unclean election lost."""

    def __init__(self, story: Story, random: Random) -> None:
        self.story, self.random = story, random
        self.ends = {1: 100, 2: 50}
        self.unclean = False
        self.records = 0

    def step(self) -> None:
        self.random.choice((self.produce, self.stop, self.start, self.join, self.elect_uncleanly, self.move))()

    @property
    def up(self) -> set[int]:
        return {1, 2} & self.story.paper.answering

    def produce(self) -> None:
        part = self.story.part
        if part.leader > 0:
            self.ends |= dict.fromkeys(part.isr, self.ends[part.leader] + 10)

    def stop(self) -> None:
        if self.up:
            self.story.paper.kill(self.random.choice(sorted(self.up)), age=0.0)

    def start(self) -> None:
        part = self.story.part
        for broker in {1, 2} - self.up:
            self.story.paper.back(broker)
            if part.leader < 0 and broker in part.isr:
                part.write(leader=broker, isr=part.isr, age=0.0)

    def join(self) -> None:
        part = self.story.part
        if part.leader > 0:
            for broker in self.up - set(part.isr):
                self.ends[broker] = self.ends[part.leader]
                part.isr, part.version = (*part.isr, broker), part.version + 1

    def elect_uncleanly(self) -> None:
        part = self.story.part
        if part.leader < 0 and self.up:
            [winner] = self.up
            self.unclean = winner not in part.isr
            self.records = max(self.ends[b] for b in part.isr) - self.ends[winner]
            part.write(leader=winner, isr=(winner,), age=0.0)

    def move(self) -> None:
        part = self.story.part
        if part.leader > 0 and set(part.isr) == {1, 2}:
            part.write(leader=3 - part.leader, isr=part.isr, age=0.0)


@pytest.mark.parametrize("kraft", [False, True], ids=["zookeeper", "kraft"])
def test_no_random_history_without_an_unclean_election_is_called_a_loss_and_each_that_is_watched_is(
    kraft: bool,
) -> None:
    for seed in range(400):
        random = Random(seed)
        story = Story(kraft)
        truth = Truth(story, random)
        story.snapshot(ends={b: truth.ends[b] for b in truth.up})
        watched = seed % 2 == 0
        for _ in range(random.randrange(4, 16)):
            truth.step()
            if not watched and random.random() < 0.5:
                continue
            lost = lost_since(story.snapshot(ends={b: truth.ends[b] for b in truth.up}))
            assert truth.unclean or not lost, f"seed {seed}: {lost}"
            assert sum(each.records for each in lost) <= truth.records, f"seed {seed}: {lost}"
            if truth.unclean:
                assert lost or not watched, f"seed {seed}: a snapshot after each step shows every unclean election"
                break


def test_an_earlier_snapshot_that_is_given_shows_a_loss_that_this_host_has_not_seen() -> None:
    story = Story()
    story.stop_the_leader()
    before = at_risk(story.snapshot())
    story.elect_uncleanly()
    story.memory = {}
    assert found(story.snapshot()) is None
    taken = story.snapshot()
    assert WHERE in taken.memory.at_risk, "it lacks replicas"
    assert found(taken) is None
    assert found(compared_with(before, taken)) is not None
