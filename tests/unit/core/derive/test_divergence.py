"""The point at which replicas part: Kafka's rule, and the truth of logs that were made by Kafka's replication."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kfix.core.derive.divergence import Divergence, compare, kept_offset
from kfix.core.disk.model import Epoch, LogDir, Replica
from kfix.core.snapshot.snapshot import TopicPartition
from tests.each import for_each

ORDERS = TopicPartition("orders", 0)


def replica(broker, end, *epochs, noted=(), start=0, **more):
    written = tuple(Epoch(*e) for e in epochs)
    checkpoint = (*written, *(Epoch(*e) for e in noted))
    folder = f"d{broker}/orders-0"
    more |= {"log_start": start, "log_end": end, "written": written, "checkpoint": checkpoint}
    return Replica(ORDERS, broker, f"d{broker}", folder, **more)


def compared(*replicas):
    dirs = [LogDir(r.directory, r.broker, "c", clean=True, replicas=(r,), oddities=()) for r in replicas]
    [found] = compare(dirs)
    return found


@for_each(
    ("follower", "leader", "kept"),
    [
        # KIP-101, scenario 1: the follower that restarted has more of the same epoch.
        (replica(1, 300, (0, 0)), replica(2, 200, (0, 0)), 200),
        (replica(1, 200, (0, 0)), replica(2, 300, (0, 0)), 200),
        # KIP-101, scenario 2: the other led since, from offset 200 on.
        (replica(1, 300, (0, 0)), replica(2, 250, (0, 0), (2, 200)), 200),
        # ... without having written yet: its checkpoint tells.
        (replica(1, 300, (0, 0)), replica(2, 200, (0, 0), noted=[(2, 200)]), 200),
        # KIP-279: the leader never had the follower's last epoch; one step back, and it matters where that ended here.
        (replica(1, 120, (0, 0), (1, 80), (3, 100)), replica(2, 130, (0, 0), (2, 90), (4, 110)), 80),
        (replica(1, 120, (0, 0), (2, 80)), replica(2, 130, (0, 0), (1, 60), (3, 70)), 60),
        # Nothing in common any more: the leader's log begins where the follower's ends.
        (replica(1, 100, (3, 50), start=50), replica(2, 200, (5, 100), start=100), 100),
        (replica(1, 50, (1, 0)), replica(2, 60, (2, 0)), 0),
        # Formats without epochs: ends alone.
        (replica(1, 100), replica(2, 90), 90),
        (replica(1, 0), replica(2, 90, (1, 0)), 0),
    ],
)
def test_the_rule_of_kip_101_and_279(follower, leader, kept):
    assert kept_offset(follower, leader) == kept


def test_the_winner_has_the_largest_last_epoch_and_then_the_largest_end():
    old, short, long = replica(1, 900, (0, 0)), replica(2, 300, (0, 0), (2, 200)), replica(3, 310, (0, 0), (2, 200))
    found = compared(old, short, long)
    assert [r.broker for r in found.replicas] == [3, 2, 1]
    assert found.verdict is Divergence.DIVERGENT
    assert [(x.replica.broker, x.kept) for x in found.lost_if_led_by(long)] == [(1, 200)]
    assert [(x.replica.broker, x.kept) for x in found.lost_if_led_by(short)] == [(3, 300), (1, 200)]
    assert [(x.replica.broker, x.kept) for x in found.lost_if_led_by(old)] == [(3, 200), (2, 200)]


def test_verdicts():
    whole = replica(1, 100, (0, 0))
    assert compared(whole).verdict is Divergence.ALONE
    assert compared(whole, replica(2, 100, (0, 0))).verdict is Divergence.SAME
    assert compared(whole, replica(2, 90, (0, 0))).verdict is Divergence.BEHIND
    assert compared(whole, replica(2, 95, (0, 0), (1, 90))).verdict is Divergence.DIVERGENT
    twice = compared(whole, replace(whole, folder="e1/orders-0"))
    assert (twice.verdict, twice.winner) == (Divergence.APART, None)
    assert "broker 1 has it twice" in twice.why
    other = compared(replace(whole, topic_id="a"), replica(2, 90, (0, 0), topic_id="b"))
    assert other.verdict is Divergence.APART
    assert "created again" in other.why


def test_folders_aside_are_shown_and_not_compared():
    found = compared(replica(1, 100, (0, 0)), replace(replica(2, 90, (0, 0), (1, 90)), state="stray"))
    assert found.verdict is Divergence.ALONE
    assert [r.broker for r in found.aside] == [2]


class Log:
    """One broker's: the leader's serial number and epoch of each record, and the epochs it noted when it led."""

    def __init__(self):
        self.records, self.noted = [], []

    def replica(self, broker):
        written, last = [], -1
        for offset, (epoch, _) in enumerate(self.records):
            if epoch > last:
                written.append((epoch, offset))
                last = epoch
        newer = [(e, s) for e, s in self.noted if e > last and s == len(self.records)]
        return replica(broker, len(self.records), *written, noted=newer)

    def follow(self, leader, upto):
        """As fetching does after it has truncated to what both have, found by looking at every record."""
        kept = shared(self, leader)
        self.records = leader.records[: max(kept, upto)] if upto > kept else leader.records[:kept]
        self.noted = [n for n in self.noted if n[1] < len(self.records)]


def shared(one, other):
    return next(
        (i for i, (a, b) in enumerate(zip(one.records, other.records, strict=False)) if a != b),
        min(len(one.records), len(other.records)),
    )


#: An election: who leads, how much it appends, how far each of the three follows it.
elections = st.tuples(st.integers(0, 2), st.integers(0, 3), st.tuples(*[st.one_of(st.none(), st.integers(0, 12))] * 3))


@given(st.lists(elections, min_size=1, max_size=12))
def test_after_any_history_of_elections_the_point_is_where_the_logs_part(history):
    logs, serial = [Log(), Log(), Log()], 0
    for epoch, (leading, appended, followed) in enumerate(history):
        leader = logs[leading]
        leader.noted.append((epoch, len(leader.records)))
        for _ in range(appended):
            leader.records.append((epoch, serial := serial + 1))
        for number, upto in enumerate(followed):
            if number != leading and upto is not None:
                logs[number].follow(leader, min(upto, len(leader.records)))
    for one in logs:
        for other in logs:
            assert kept_offset(one.replica(1), other.replica(2)) == shared(one, other)
