"""Probes of single voters of a quorum that may change, and what each must see."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kfix.core.args import ArgValue
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.memory.quorum import MemoryQuorum

Case = tuple[str, Callable[[], MemoryCluster], Mapping[str, ArgValue], str, str]

OLD: Mapping[str, ArgValue] = {"node": 102, "directory": "disk-102", "by": "new-disk"}
NEW: Mapping[str, ArgValue] = {"node": 102, "by": "new-disk"}


def quorum(
    name: str = "voter-wrong-directory", change: Callable[[MemoryQuorum], object] = lambda _: None
) -> Callable[[], MemoryCluster]:
    def made() -> MemoryCluster:
        cluster = INCIDENTS[name]().cluster
        change(cluster.quorum)
        return cluster

    return made


def of_five(*dead: int) -> Callable[[], MemoryCluster]:
    """Voters 103 and 104 as well; those that are dead do not run. Controller 102 runs with another disk."""

    def change(quorum: MemoryQuorum) -> None:
        quorum.voters |= {103: "disk-103", 104: "disk-104"}
        quorum.running |= {each: f"disk-{each}" for each in (103, 104) if each not in dead}

    return quorum(change=change)


def _lags_too(quorum: MemoryQuorum) -> None:
    quorum.lagging.add(103)
    quorum.voters[103] = quorum.running[103] = "disk-103"


CASES: tuple[Case, ...] = (
    ("voter_may_be_removed", quorum(), OLD, "pass", "2 of 3 voters [100, 101, 102] follow; controller 102 follows"),
    ("voter_may_be_removed", quorum(), {**OLD, "node": 101}, "fail", "voter 101 has directory id disk-101"),
    ("voter_may_be_removed", quorum(), {**OLD, "node": 109}, "fail", "controller 109 is no voter"),
    (
        "voter_may_be_removed",
        quorum(),
        {"node": 101, "directory": "disk-101", "by": ""},
        "fail",
        "voter 101 has fetched within the last 5 s: it runs with the disk of its voter",
    ),
    (
        "voter_may_be_removed",
        quorum(),
        {"node": 100, "directory": "disk-100", "by": ""},
        "fail",
        "controller 100 is the active one",
    ),
    ("voter_may_be_removed", quorum("controller-disk-lost"), {**OLD, "by": ""}, "fail", "does not follow as an"),
    ("voter_may_be_removed", quorum("controller-disk-lost"), OLD, "fail", "has not caught up as an observer"),
    ("voter_may_be_removed", quorum("voter-wrong-directory-behind"), OLD, "fail", "has not caught up as an observer"),
    (
        "voter_may_be_removed",
        quorum("voter-wrong-directory-other-lags"),
        OLD,
        "fail",
        "2 of 2 voters have to follow without voter 102, and only 1 does; not following: [101]",
    ),
    ("voter_may_be_removed", quorum("voter-wrong-directory-static"), OLD, "fail", "are static (kraft.version 0)"),
    ("voter_may_be_removed", of_five(), OLD, "pass", "4 of 5 voters"),
    # Of two dead voters each can be replaced, one after the other; a third one that lags costs the majority.
    ("voter_may_be_removed", of_five(104), OLD, "pass", "3 of 5 voters"),
    (
        "voter_may_be_removed",
        of_five(103, 104),
        OLD,
        "fail",
        "3 of 4 voters have to follow without voter 102, and only",
    ),
    ("voter_may_be_added", quorum("voter-wrong-directory-removed"), NEW, "pass", "2 of 2 voters [100, 101] follow"),
    ("voter_may_be_added", quorum(), NEW, "fail", "quorum-replace-voter removes it first"),
    ("voter_may_be_added", quorum(), {"node": 101, "by": ""}, "fail", "controller 101 is a voter"),
    ("voter_may_be_added", quorum(), {"node": 109, "by": ""}, "fail", "no controller 109 has registered"),
    (
        "voter_may_be_added",
        quorum("voter-wrong-directory-removed-other-lags"),
        NEW,
        "fail",
        "only 1 of 2 voters [100, 101] follow, and 2 of 3 have to if controller 102 fails as a voter",
    ),
    (
        "voter_may_be_added",
        quorum("voter-wrong-directory-removed", lambda q: q.lagging.add(102)),
        NEW,
        "fail",
        "has not caught up",
    ),
    # With three voters of which one lags, a fourth one that failed would leave 2 of 4.
    ("voter_may_be_added", quorum("voter-wrong-directory-removed", _lags_too), NEW, "fail", "3 of 4 have to"),
    ("voter_may_be_added", quorum("healthy-one-voter"), {"node": 101, "by": "disk-101"}, "pass", "1 of 1 voter [100]"),
    ("voter_may_be_added", quorum("voter-wrong-directory-static"), NEW, "fail", "are static (kraft.version 0)"),
    ("voter_removed", quorum(), {"node": 102, "directory": "disk-102"}, "fail", "voter 102: disk-102"),
    ("voter_removed", quorum(), {"node": 102, "directory": "new-disk"}, "pass", "voter 102: disk-102"),
    ("voter_removed", quorum(), {"node": 109, "directory": "disk-109"}, "pass", "voter 109: none"),
    ("voter_added", quorum(), {"node": 102, "directory": "new-disk"}, "fail", "voter 102: disk-102"),
    ("voter_added", quorum(), {"node": 101, "directory": "disk-101"}, "pass", "voter 101: disk-101"),
    ("voter_added", quorum(), {"node": 109, "directory": "disk-109"}, "fail", "voter 109: none"),
    ("voter_follows", quorum(), {"node": 102}, "fail", "controller 102 is a voter that lags; 2 of 3 voters"),
    ("voter_follows", quorum(), {"node": 101}, "pass", "controller 101 is a voter that follows; 2 of 3 voters"),
    ("voter_follows", quorum(), {"node": 100}, "pass", "controller 100 is a voter that follows"),
    ("voter_follows", quorum("healthy-one-voter"), {"node": 101}, "fail", "controller 101 is no voter"),
)
