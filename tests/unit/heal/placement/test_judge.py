"""What is wrong with a placement."""

from kfix.heal.placement.judge import PlacementSeverity, judge
from tests.unit.heal.placement.clusters import tp, world


def said(wanted, w) -> list[str]:
    return [f"{p.severity} {p.tp}: {p.text}" for p in judge(wanted, w)]


def test_a_good_placement() -> None:
    w = world("abc", {"t-0": (1, 2), "t-1": (2, 3)})
    assert judge([(tp("t-0"), (1, 2, 3)), (tp("t-1"), (3, 2))], w) == ()
    assert judge([], w) == ()


def test_every_mistake_is_reported_in_order() -> None:
    w = world("abcc", {"t-0": (1, 2), "t-1": (2, 3), "t-2": (1, 2, 3), "t-3": (1, 9), "t-4": (1, 2)})
    wanted = [
        (tp("x-0"), (1,)),
        (tp("t-3"), (9, 1)),
        (tp("t-2"), (1, 2)),
        (tp("t-1"), (7, 8, 2)),
        (tp("t-4"), ()),
        (tp("t-0"), (2, 1)),
        (tp("t-0"), (3, 3, 4)),
    ]
    assert said(wanted, w) == [
        "error t-0: given 2 times: [2, 1] and [3, 3, 4]",
        "error t-0: [3, 3, 4] names broker 3 more than once",
        "warning t-0: [3, 3, 4] is in 1 rack where 2 are possible",
        "error t-1: brokers 7, 8 cannot take a replica: 4 brokers are alive (1, 2, 3, 4)",
        "warning t-2: 3 replicas become 2: [1, 2, 3] becomes [1, 2]",
        "warning t-3: broker 9 stays and is not alive: the move does not complete before a return",
        "error t-4: no replica at all",
        "error x-0: the cluster has no such partition",
    ]
    assert said(reversed(wanted), w) == said(wanted, w)


def test_a_broker_preferred_for_more_than_twice_its_share() -> None:
    w = world("---", {f"t-{p}": (1, 2, 3) for p in range(6)})
    one = [(t, r) for t, r in w.assignments.items()]
    [skew] = judge(one, w)
    assert (skew.tp, skew.severity) == (None, PlacementSeverity.WARNING)
    assert skew.text == (
        "broker 1 would be the preferred leader of 6 of 6 partitions; an even share of 3 live brokers is 2.0"
    )
    assert judge(one[:5], w) == ()
    assert judge([*one[:4], *((t, (2, 1, 3)) for t, _ in one[4:])], w) == ()


def test_where_nothing_is_alive() -> None:
    w = world("a", {f"t-{p}": (1,) for p in range(6)}, dead=[1])
    assert {p.severity for p in judge(w.assignments.items(), w)} == {PlacementSeverity.WARNING}
    [refused] = judge([(tp("t-0"), (2,))], w)
    assert refused.text == "broker 2 cannot take a replica: no broker is alive"
