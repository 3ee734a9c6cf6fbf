"""A plan made over one security protocol is not carried out over another: refused below the command line, by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import RefusedError
from kfix.core.kafka.security import Security
from kfix.core.saved.format import encode
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.snapshot import ClusterIdentity, Endpoint, Mode, Snapshot
from kfix.core.target import Target
from kfix.core.tls.settings import Tls
from kfix.core.zookeeper.connect import parse_connect
from kfix.heal.execution.run import abort, resume
from kfix.heal.live.authority import ZooKeeperAuthority
from kfix.heal.live.kraft_authority import KraftAuthority
from kfix.heal.live.reader import LiveReader
from kfix.heal.plan import planfile
from kfix.heal.rollback import make_rollback
from tests.unit.heal.stage import Stage, created

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
