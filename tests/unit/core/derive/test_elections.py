"""Which setting decides over unclean elections on KRaft, and when it is unknown."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.derive.background import background_of
from kfix.core.derive.casefile import open_case
from kfix.core.derive.elections import UNCLEAN, controller_settings, unclean_by_default, unclean_of
from kfix.core.derive.partition_facts import derive
from kfix.core.derive.predicate import parse
from kfix.core.snapshot.snapshot import Snapshot
from tests.each import for_each
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.kraft_clusters import kraft, quorum


def cluster(
    controllers: dict[int, str],
    own: str | None = None,
    brokers: str = "false",
    shown: str = "",
    roles: str = "broker",
) -> Snapshot:
    """Controller 100 is active; topic t has the value `own`, none with "", and a broker reports `shown` to be in force.

    With None it was not read what topics have of their own.
    """
    paper = kraft(Paper((1, 2, 3)).topic("t", 1).topic("u", 1))
    paper.broker_settings = {b: {UNCLEAN: brokers, "process.roles": roles} for b in (1, 2, 3)}
    own_settings = None if own is None else {"t": {UNCLEAN: own}} if own else {}
    view = quorum(controller_settings={n: {UNCLEAN: v} for n, v in controllers.items()}, topic_settings=own_settings)
    return paper.snapshot(quorum=view, topic_configs={"t": {UNCLEAN: shown}} if shown else {})


@for_each(
    ("snapshot", "found"),
    [
        (cluster({100: "true"}, ""), True),
        (cluster({100: "false"}, "", brokers="true"), False),
        (cluster({100: "false", 101: "true"}, ""), False),
        (cluster({101: "true"}, ""), None),
        (cluster({}, ""), None),
        (cluster({100: "true"}, "false"), False),
        (cluster({}, "false"), False),
        (cluster({}, "true"), True),
        # What the topic has of its own was not read apart: a broker's answer may be its own default.
        (cluster({100: "true"}, shown="false"), None),
        (cluster({100: "false"}, shown="false"), False),
        (cluster({100: "false"}, shown="true"), True),
        (cluster({}, shown="false"), None),
    ],
)
def test_the_topic_decides_and_else_the_active_controller(snapshot: Snapshot, found: bool | None) -> None:
    assert unclean_of("t", unclean_by_default(snapshot), snapshot) is found
    [row] = [row for row in derive(snapshot, background_of(snapshot)) if row.topic == "t"]
    assert (row.unclean, row.unclean_known) == (bool(found), found is not None)


def test_a_node_that_is_broker_and_controller_in_one_has_the_same_settings_as_both() -> None:
    snapshot = cluster({}, "", brokers="true", roles="broker,controller")
    assert snapshot.quorum is not None
    combined = replace(snapshot, quorum=replace(snapshot.quorum, leader=2))
    assert controller_settings(combined)[2][UNCLEAN] == "true"
    assert unclean_by_default(combined) is True
    assert unclean_by_default(snapshot) is None


def test_a_quorum_without_an_active_controller_decides_nothing() -> None:
    snapshot = cluster({100: "true"}, "")
    assert snapshot.quorum is not None
    assert unclean_by_default(replace(snapshot, quorum=replace(snapshot.quorum, leader=-1))) is None


def test_topics_with_and_without_a_value_of_their_own_are_judged_apart() -> None:
    snapshot = cluster({100: "true"}, "false")
    assert [row.topic for row in open_case(snapshot).partitions.where(parse("unclean", "a test"))] == ["u"]
