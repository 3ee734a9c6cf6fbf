"""Which broker replaces an id that no longer exists: one replacement for each, or none that is certain."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.derive.background import background_of, session_seconds
from kfix.core.derive.record import record_of
from kfix.core.snapshot.snapshot import Endpoint, Snapshot
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.build import Paper


def recreated(new: dict[int, float], *, remembered: dict[int, str] | None = None) -> Snapshot:
    """Brokers 4 and 5 left 600 s ago; `new` brokers without replicas registered so many seconds ago."""
    paper = Paper((1, 2, 3, 4, 5)).offsets(50).topic("pair", 4, replicas=[[4, 1], [5, 2], [1, 4], [2, 5]])
    for broker in (4, 5):
        paper.kill(broker)
    paper.registered |= new
    paper.answering |= set(new)
    paper.remembered_brokers = remembered or {}
    return paper.snapshot()


def moved(snapshot: Snapshot, hosts: dict[int, str]) -> Snapshot:
    zookeeper = snapshot.zookeeper
    assert zookeeper is not None
    registrations = {
        b: replace(r, endpoint=Endpoint(hosts.get(b, "elsewhere"), 9092)) for b, r in zookeeper.registrations.items()
    }
    return replace(snapshot, zookeeper=replace(zookeeper, registrations=registrations))


@for_each(
    ("snapshot", "lost"),
    [
        (recreated({7: 590.0, 8: 580.0}), {4: (7, False), 5: (8, False)}),
        (recreated({7: 590.0, 8: 580.0}, remembered={5: "localhost:9097"}), {4: (8, False), 5: (7, True)}),
        (
            moved(recreated({7: 590.0, 8: 580.0}, remembered={4: "b:9092", 5: "a:9092"}), {7: "a", 8: "b"}),
            {4: (8, True), 5: (7, True)},
        ),
        (
            moved(recreated({7: 590.0, 8: 580.0}, remembered={4: "b:9099", 5: "a:9099"}), {7: "a", 8: "b"}),
            {4: (8, False), 5: (7, False)},
        ),
        (recreated({7: 590.0}), {4: (None, False), 5: (None, False)}),
        (recreated({7: 590.0, 8: 580.0, 9: 570.0}), {4: (None, False), 5: (None, False)}),
        (recreated({7: 86_400.0, 8: 86_400.0}), {}),
        (recreated({}, remembered={4: "localhost:9091", 5: "localhost:9091"}), {}),
        (
            recreated({7: 590.0}, remembered={4: "localhost:9097", 5: "localhost:9097"}),
            {4: (None, False), 5: (None, False)},
        ),
    ],
    ids=[
        "by order",
        "one by address",
        "both by address",
        "by host",
        "too few",
        "too many",
        "older than the loss",
        "one address, a broker at work",
        "one address, a new broker",
    ],
)
def test_each_lost_id_has_a_replacement_of_its_own(
    snapshot: Snapshot, lost: dict[int, tuple[int | None, bool]]
) -> None:
    assert dict(background_of(snapshot).lost) == lost
    heirs = [heir for heir, _ in lost.values() if heir is not None]
    assert len(heirs) == len(set(heirs))


def test_the_command_maps_each_lost_id_to_its_own_successor() -> None:
    found = next(f for f in diagnose(recreated({7: 590.0, 8: 580.0})).walk() if f.code == "KFX105")
    [remedy] = [r for r in found.remedies if r.runbook == "replace-broker"]
    assert "-p 'renamed=4=7 5=8'" in remedy.command


def test_where_it_is_open_which_is_which_the_operator_is_asked() -> None:
    found = next(f for f in diagnose(recreated({7: 590.0})).walk() if f.code == "KFX105")
    [remedy] = [r for r in found.remedies if r.runbook == "replace-broker"]
    assert remedy.command == ""
    assert "whether broker 7 replaces broker 4 or 5" in remedy.text


@for_each(
    ("settings", "seconds"),
    [
        ({}, 9.0),
        ({1: "9000"}, 9.0),
        ({1: "9000", 2: "30000", 3: "18000"}, 30.0),
        ({1: "no number"}, 9.0),
    ],
)
def test_a_session_lasts_as_long_as_the_longest_that_a_broker_reports(settings: dict[int, str], seconds: float) -> None:
    snapshot = kraft_clusters.healthy()
    configs = {broker: {"broker.session.timeout.ms": value} for broker, value in settings.items()}
    assert session_seconds(replace(snapshot, broker_configs=configs)) == seconds


@for_each(("silent", "gone"), [(8.0, {}), (9.0, {1: 0}), (69.5, {1: 60})])
def test_a_dead_broker_of_kraft_is_absent_since_its_session_ended(silent: float, gone: dict[int, int]) -> None:
    assert background_of(kraft_clusters.broker_dead_for(silent)).absent == gone


@for_each(("fetched", "lost"), [(0.2, {}), (500.0, {1: (2, True)})])
def test_a_broker_that_fetches_metadata_exists_although_another_one_has_its_address(
    fetched: float, lost: dict[int, tuple[int, bool]]
) -> None:
    """It is fenced, and answers nobody."""
    snapshot = kraft_clusters.broker_dead_for(fetched)
    record = record_of(snapshot)
    assert record is not None
    address = record.registrations[2].endpoint
    assert address is not None
    assert dict(background_of(replace(snapshot, addresses={1: address})).lost) == lost
