"""No change while the network is cut: named, with what helps; a mere possibility refuses nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.diagnosis.finding import Cause, Confidence
from kfix.core.errors import RefusedError
from kfix.core.kafka.security import Security
from kfix.core.saved.files import encode
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.snapshot import ClusterIdentity, Endpoint, Mode, Snapshot, TopicPartition
from kfix.core.target import Target
from kfix.core.tls.settings import Tls
from kfix.core.zookeeper.connect import parse_connect
from kfix.heal.execution.run import abort, resume
from kfix.heal.live.authority import ZooKeeperAuthority
from kfix.heal.live.kraft_authority import KraftAuthority
from kfix.heal.live.reader import LiveReader
from kfix.heal.model.facts import Fact, FactJson
from kfix.heal.plan import planfile
from kfix.heal.rollback import make_rollback
from kfix.heal.safety.refusals import Drift, PlannedFacts, cuts_in, refuse_while_cut
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics import cut_clusters
from tests.unit.diagnostics.clusters import base, isr_gone
from tests.unit.heal.stage import Stage, created

CUT = [
    cut_clusters.link_cut,
    cut_clusters.controller_link_cut,
    cut_clusters.zone_isolated,
    cut_clusters.two_controllers,
    cut_clusters.controller_alone,
]


@pytest.mark.parametrize("make", CUT)
def test_every_kind_of_cut_refuses(make):
    found = diagnose(make()).findings
    with pytest.raises(RefusedError, match="no election, no reassignment") as caught:
        refuse_while_cut(found)
    assert cuts_in(found)[0].key in str(caught.value)
    assert caught.value.hint.endswith("kfix diagnose")
    with pytest.raises(RefusedError, match="no election, no reassignment") as caught:
        refuse_while_cut(found, " -c shop")
    assert "repair the network" in caught.value.hint
    assert caught.value.hint.endswith("kfix diagnose -c shop")


@pytest.mark.parametrize(
    "make", [cut_clusters.one_sided_link_cut, cut_clusters.slow_broker, cut_clusters.node_cut, cut_clusters.quorum_lost]
)
def test_what_is_only_possible_or_no_cut_of_brokers_refuses_nothing(make):
    refuse_while_cut(diagnose(make()).findings)


def test_a_sick_cluster_that_is_not_cut_is_healed():
    refuse_while_cut(diagnose(isr_gone().snapshot()).findings)
    refuse_while_cut(diagnose(base().kill(1).snapshot()).findings)


def test_a_cut_that_is_folded_under_its_consequences_refuses_as_well():
    [cut] = diagnose(cut_clusters.link_cut()).findings
    folded = replace(cut, code="KFX101", folded=(replace(cut, code="KFX102", folded=(cut,)),))
    assert cuts_in([folded]) == (cut,)
    with pytest.raises(RefusedError, match="no election, no reassignment"):
        refuse_while_cut([folded])


def test_one_that_has_just_begun_refuses_until_the_next_snapshot():
    [head] = diagnose(cut_clusters.zone_isolated()).findings
    with pytest.raises(RefusedError, match="may be partitioned") as caught:
        refuse_while_cut([replace(head, unsettled=True)])
    assert "diagnose again" in caught.value.hint
    sure = replace(head, cause=Cause("x", Confidence.POSSIBLE))
    assert cuts_in([sure]) == ()


# A plan made over one security protocol is not carried out over another: refused below the command line, by name.

PLAINTEXT = ClientSecurity("PLAINTEXT")
SCRAM = ClientSecurity("SASL_SSL", "SCRAM-SHA-512", "anna")
OTHERS = {
    "PLAINTEXT": PLAINTEXT,
    "SASL_PLAINTEXT with SCRAM-SHA-512": replace(SCRAM, protocol="SASL_PLAINTEXT"),
    "SASL_SSL with PLAIN": replace(SCRAM, mechanism="PLAIN"),
    "SSL": ClientSecurity("SSL"),
}


def reach(stage: Stage, security: ClientSecurity) -> None:
    here = stage.cluster.identity()
    stage.cluster.identity = lambda: replace(here, security=security)  # type: ignore[method-assign]


@pytest.mark.parametrize("words", OTHERS)
def test_a_plan_made_over_sasl_is_refused_over_another_listener(stage: Stage, words: str) -> None:
    reach(stage, SCRAM)
    plan = stage.plan()
    reach(stage, OTHERS[words])
    with pytest.raises(RefusedError) as refused:
        stage.run(plan)
    made = f"plan {plan.short_id} was made over SASL_SSL with SCRAM-SHA-512"
    assert str(refused.value) == f"{made}, this connection uses {words}; nothing was changed"
    assert refused.value.exit_code == 3
    assert "--command-config FILE" in refused.value.hint
    assert stage.methods() == []
    assert list(stage.store.runs()) == []


def test_a_plan_made_without_sasl_is_refused_over_sasl(stage: Stage) -> None:
    plan = stage.plan()
    reach(stage, SCRAM)
    with pytest.raises(
        RefusedError, match="was made over PLAINTEXT, this connection uses SASL_SSL with SCRAM-SHA-512"
    ) as refused:
        stage.run(plan)
    assert "without --command-config" in refused.value.hint


def test_a_second_person_carries_a_plan_out_with_a_login_of_their_own(stage: Stage) -> None:
    reach(stage, SCRAM)
    plan = stage.plan()
    reach(stage, replace(SCRAM, user="boris"))
    assert stage.run(plan).changed


def test_a_run_over_sasl_is_resumed_aborted_and_taken_back_over_sasl_only(stage: Stage) -> None:
    reach(stage, SCRAM)
    stage.run(stage.plan())
    run, before = stage.last_run, stage.methods()
    reach(stage, PLAINTEXT)
    for go_on in (
        lambda: resume(run, stage.context()),
        lambda: abort(run, stage.context(), "a reason"),
        lambda: make_rollback(run, stage.cluster, created(stage.cluster.clock.now()), everything=True),
    ):
        with pytest.raises(
            RefusedError, match="was made over SASL_SSL with SCRAM-SHA-512, this connection uses PLAINTEXT"
        ):
            go_on()
    assert stage.methods() == before


def test_the_way_to_the_cluster_is_under_the_plans_hash(stage: Stage, tmp_path: Path) -> None:
    reach(stage, SCRAM)
    plan = stage.plan()
    path = tmp_path / "plan.json"
    planfile.write(plan, path)
    assert planfile.read(path).cluster.security == SCRAM
    path.write_text(path.read_text().replace("SASL_SSL", "PLAINTEXT"))
    with pytest.raises(Exception, match="the plan was edited after it was made"):
        planfile.read(path)


def test_a_live_reader_states_how_it_authenticated_and_no_secret(tmp_path: Path) -> None:
    security = Security("SASL_SSL", "PLAIN", "anna", "hunter2", Tls(key="hunter2", key_password="hunter2"))
    target = Target((), security=security)
    reader = LiveReader(
        target, ZooKeeperAuthority(target, parse_connect("z:1")), ClusterIdentity("c", Mode.ZOOKEEPER), {}
    )
    assert reader.identity().security == ClientSecurity("SASL_SSL", "PLAIN", "anna")
    assert "hunter2" not in repr(reader.identity())


def test_a_snapshot_does_not_contain_how_it_was_taken() -> None:
    cluster = ClusterIdentity("c", Mode.ZOOKEEPER, security=SCRAM)
    assert "security" not in encode(Snapshot(1.0, "0", cluster, (), {}))["cluster"]


def test_a_live_reader_states_the_controllers_that_the_caller_named_and_no_snapshot_file_does() -> None:
    target = Target((), controllers=(Endpoint("c1", 9093), Endpoint("c2", 9093)))
    identity = ClusterIdentity("c", Mode.KRAFT, "b:1")
    reader = LiveReader(target, KraftAuthority(target, "c", {}, target.controllers), identity, {})
    assert reader.identity().controllers == "c1:9093,c2:9093"
    assert "controllers" not in encode(Snapshot(1.0, "0", reader.identity(), (), {}))["cluster"]


# The facts of a plan: a value that was unknown counts like any other, and a resumed run expects what it changed.

KEY = "__consumer_offsets-26.leader_epoch"


def now(stage: Stage) -> FactJson:
    return stage.cluster.records.states[TopicPartition("__consumer_offsets", 26)].leader_epoch


@for_each("before", [None, 0, 99])
def test_a_fact_that_had_another_value_or_none_has_drifted(stage: Stage, before: FactJson) -> None:
    facts, found = PlannedFacts([Fact(KEY, before, "the plan")]).compare([KEY], stage.cluster)
    assert found == (Drift(KEY, before, now(stage)),)
    assert facts[KEY].value == now(stage)


def test_a_resumed_run_expects_the_values_of_its_own_changes_and_no_others(stage: Stage) -> None:
    planned = [Fact(KEY, -1, "the plan")]
    assert PlannedFacts(planned, {KEY: now(stage)}).compare([KEY], stage.cluster)[1] == ()
    moved_on = PlannedFacts(planned, {KEY: 99}).compare([KEY], stage.cluster)[1]
    assert moved_on == (Drift(KEY, 99, now(stage)),)
    assert PlannedFacts(planned, {"another": 1}).compare([KEY], stage.cluster)[1] != ()
