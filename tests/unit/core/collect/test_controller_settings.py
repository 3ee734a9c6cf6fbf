"""Unclean elections are the active controller's to decide: it is asked at its own listener, over real sockets."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.collect.quorum import QuorumQuestion
from kfix.core.collect.rights import with_rights
from kfix.core.collect.source import read_all
from kfix.core.collect.sources import quorum
from kfix.core.diagnosis.finding import Finding
from kfix.core.kafka.kraft_messages import API_VERSIONS
from kfix.core.kafka.requests import DESCRIBE_CONFIGS, METADATA
from kfix.core.ledger import Ledger
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.target import make_target
from kfix.core.timing import Deadline
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.sources._unread import leaves_open
from tests.unit.core.collect.known import known
from tests.unit.core.collect.test_quorum import Talk, described, features, question, seen, server, world
from tests.unit.diagnostics.kraft_clusters import eligible_dead
from tests.unit.diagnostics.test_incidents import find
from tests.wire import Writer

UNCLEAN, MIN_ISR = "unclean.leader.election.enable", "min.insync.replicas"


def settings(unclean: str, error: int = 0) -> bytes:
    """A response to DescribeConfigs v1 about one controller."""

    def row(w: Writer, item: tuple[str, str]) -> None:
        w.string(item[0]).string(item[1]).i8(0).i8(4).i8(0).array((), lambda w, _: w)

    def resource(w: Writer, rows: list[tuple[str, str]]) -> None:
        w.i16(error).string("").i8(4).string("100").array(rows, row)

    rows = [] if error else [(UNCLEAN, unclean), (MIN_ISR, "1")]
    return Writer().i32(0).array([rows], resource).done()


def controller(error: int, answer: bytes | None) -> Talk:
    """One that does not answer DescribeConfigs, with None."""
    return server({55: described(error), **({} if answer is None else {32: answer})}, DESCRIBE_CONFIGS)


def judged(view: QuorumView) -> Finding:
    """KFX119 of a cluster whose brokers all have false."""
    snapshot = eligible_dead()
    assert snapshot.quorum is not None
    brokers = {b: {**configs, UNCLEAN: "false"} for b, configs in snapshot.broker_configs.items()}
    shown = replace(snapshot.quorum, controller_settings=view.controller_settings)
    return find(diagnose(replace(snapshot, broker_configs=brokers, quorum=shown)), "KFX119")


def test_the_controllers_report_their_settings_and_that_of_the_active_one_counts() -> None:
    with world(controller(6, settings("false")), controller(0, settings("true"))) as (other, active):
        view = seen(question({101: other, 100: active}))
    assert view.controller_settings[100] == {UNCLEAN: "true", MIN_ISR: "1"}
    assert view.controller_settings[101][UNCLEAN] == "false"
    finding = judged(view)
    assert f"{UNCLEAN} is true: once it starts, broker 1 may be elected first" in finding.summary
    assert finding.obj.endswith(", unclean elections on")
    assert not any("no record is lost" in remedy.text for remedy in finding.remedies)


def test_a_controller_that_refuses_or_does_not_answer_leaves_the_setting_unknown() -> None:
    for answer, why in ((settings("", error=31), "CLUSTER_AUTHORIZATION_FAILED"), (None, "no answer in time")):
        with world(controller(0, answer)) as [active]:
            asked = question({100: active}, seconds=2.0)
            view = seen(asked)
        assert view.leader == 100
        assert view.controller_settings == {}
        assert why in asked.settings_unread(100)
        finding = judged(view)
        assert f"{UNCLEAN} may be true, since the active controller did not report its settings" in finding.summary
        assert finding.obj.endswith(", unclean elections unknown")
        texts = [finding.summary, *(remedy.text for remedy in finding.remedies)]
        assert not any("no record is lost" in text or "without a loss" in text for text in texts)


def test_a_controller_without_the_request_is_no_failed_source() -> None:
    with world(server({55: described(0)})) as [active]:
        asked = question({100: active})
        view = seen(asked)
    assert (view.controller_settings, asked.settings_unread(100)) == ({}, "")


def test_an_active_controller_that_only_its_own_answer_names_is_asked_too() -> None:
    with world(controller(0, settings("true"))) as [active]:
        asked: QuorumQuestion = question({}, controllers=str(active))
        view = seen(asked)
    assert view.controller_settings[100][UNCLEAN] == "true"


def test_where_a_broker_forwarded_the_question_no_setting_is_known() -> None:
    broker = server({API_VERSIONS: features(49), 55: described(0), METADATA: b""}, METADATA, DESCRIBE_CONFIGS)
    with world(broker) as [there]:
        view = seen(question({}), {7: there})
    assert (view.through, view.controller_settings) == (7, {})
    assert "may be true" in judged(view).summary


def test_a_refused_setting_is_a_source_that_was_not_read_and_names_the_right() -> None:
    with world(controller(0, settings("", error=31))) as [active]:
        configs = {"process.roles": "broker", "controller.quorum.voters": f"100@{active}"}
        asked = QuorumQuestion(make_target("b:1", None), configs, Deadline.after(2.0), Ledger())
        asked.ask_again({}, {})
        given = known({}, quorum=asked)
        fields = read_all([quorum], given)
    assert fields["quorum"].read
    sources = with_rights(given.brokers.questions.sources(), "User:kfix")
    [source] = [each for each in sources if not each.ok and "settings" in each.name]
    assert source.name == "settings of controller 100"
    assert source.error.startswith("CLUSTER_AUTHORIZATION_FAILED")
    assert "DescribeConfigs" in source.error
    assert "unclean elections" in leaves_open(source.name)
