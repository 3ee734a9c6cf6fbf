"""The one door: whoever carries out a plan, below the command line too, is refused as the command line would be."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.api import Access, App, Approval, DiagnoseOptions, Nothing, Plan, carry_out, diagnose, plan
from kfix.core.errors import ApprovalError, KfixError, ReadOnlyViolationError, RefusedError, StoppedError, UsageError
from kfix.core.snapshot.client_security import ClientSecurity
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.core.timing import DiagnosisTimes
from kfix.heal.memory.incidents import ALL
from kfix.heal.model.plan import Gate
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.safety.door import DIAGNOSIS_SECONDS, Diagnosed, Door, Passage
from kfix_diagnostics.engine import diagnose as judge
from tests.places import ROOT
from tests.unit.diagnostics import cut_clusters
from tests.unit.heal.fake_wiring import FakeWiring
from tests.unit.heal.stage import Answers, Stage

SOMEWHERE = Access("broker1:9092")
CUT = judge(cut_clusters.zone_isolated()).findings
POLICY = "apiVersion: kfix/v1\nkind: Policy\ngates: {reassign.noop: typed}\n"


class Site:
    """A stuck cluster, a plan for it, and an application that a program other than the command line uses."""

    def __init__(self, folder: Path) -> None:
        made = ALL["coordinator-stuck"]()
        self.folder = folder
        self.wiring = FakeWiring(made.cluster, made.finding)
        self.app: App = self.wiring.app(folder / "state", made.cluster.clock)
        found = plan("coordinator-stuck", SOMEWHERE, app=self.app)
        assert isinstance(found, Plan)
        self.plan = found
        self.approval = Approval((f"step:{found.short_id}",))

    def carry_out(self) -> object:
        return carry_out(self.plan, SOMEWHERE, approval=self.approval, app=self.app)

    @property
    def sent(self) -> list[str]:
        return [call.method for call in self.wiring.cluster.faults.calls]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def below_the_policy(site: Site) -> None:
    folder = site.folder / "state" / "config" / "kfix"
    folder.mkdir(parents=True)
    (folder / "policy.yaml").write_text(POLICY)


def while_the_network_is_cut(site: Site) -> None:
    site.wiring.cut = CUT


def after_it_expired(site: Site) -> None:
    site.wiring.cluster.clock.at = site.plan.expires_at + 1


def on_another_cluster(site: Site) -> None:
    site.wiring.cluster.cluster_id = "another-one"


def over_another_listener(site: Site) -> None:
    here = replace(site.wiring.cluster.identity(), security=ClientSecurity("SASL_SSL", "SCRAM-SHA-512", "anna"))
    site.wiring.cluster.identity = lambda: here  # type: ignore[method-assign]


def with_more_partitions(site: Site) -> None:
    topic = next(s.args.tp().topic for s in site.plan.steps if "partition" in s.args)
    site.wiring.cluster.records.assignments[TopicPartition(topic, 999)] = Assignment((1,))


def with_changed_facts(site: Site) -> None:
    site.wiring.cluster.records.epoch += 1


REFUSED: list[tuple[Callable[[Site], None], str]] = [
    (below_the_policy, "violates the policy"),
    (while_the_network_is_cut, "while the network is cut"),
    (after_it_expired, "expired at"),
    (on_another_cluster, "is for cluster memory-cluster, this is another-one"),
    (over_another_listener, "this connection uses SASL_SSL with SCRAM-SHA-512"),
    (with_more_partitions, "partition_count"),
    (with_changed_facts, "the cluster has changed since plan"),
]


@pytest.mark.parametrize(("happens", "said"), REFUSED, ids=lambda v: getattr(v, "__name__", ""))
def test_a_program_is_refused_as_the_command_line_is(site: Site, happens: Callable[[Site], None], said: str) -> None:
    happens(site)
    with pytest.raises(RefusedError, match=said):
        site.carry_out()
    assert site.sent == []


def test_a_program_that_was_not_approved_changes_nothing(site: Site) -> None:
    site.approval = Approval()
    with pytest.raises(ApprovalError):
        site.carry_out()
    site.approval = Approval(("plan:00000000",))
    with pytest.raises(UsageError, match="names another plan"):
        site.carry_out()
    assert site.sent == []


def test_a_program_diagnoses_plans_and_heals(site: Site) -> None:
    assert [f.code for f in diagnose(SOMEWHERE, app=site.app).findings] == ["KFX101"]
    site.carry_out()
    assert site.sent == ["reassign"]
    with pytest.raises(RefusedError, match="was already run as"):
        site.carry_out()


def test_the_plan_of_a_program_has_the_times_of_its_diagnosis_and_reads_the_group_it_names(tmp_path: Path) -> None:
    site, options = Site(tmp_path), DiagnoseOptions(debounce=2.0, groups=("mine",))
    again = plan("coordinator-stuck", SOMEWHERE, app=site.app, options=options)
    assert isinstance(again, Plan)
    assert (site.plan.judged, again.judged) == (DiagnosisTimes(), options.times)
    nothing = plan("abort-transaction", SOMEWHERE, params={"group": "billing"}, app=site.app, options=options)
    assert isinstance(nothing, Nothing)
    assert site.wiring.looks[-1].groups == ("mine", "billing")


# -- the door itself


def door_of(stage: Stage, looks: list[int], *, policy: Policy = NO_POLICY, just_now: Diagnosed | None = None) -> Door:
    def look() -> tuple[()]:
        looks.append(1)
        return ()

    return Door(stage.cluster, policy, look, stage.cluster.clock, just_now)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage("coordinator-stuck", tmp_path)


def test_a_diagnosis_of_just_now_saves_another_and_an_old_one_does_not(stage: Stage) -> None:
    looks: list[int] = []
    now = stage.cluster.clock.monotonic()
    door_of(stage, looks, just_now=Diagnosed((), now)).admit(stage.plan())
    assert looks == []
    door_of(stage, looks, just_now=Diagnosed((), now - DIAGNOSIS_SECONDS - 1)).admit(stage.plan())
    assert looks == [1]
    with pytest.raises(RefusedError, match="while the network is cut"):
        door_of(stage, looks, just_now=Diagnosed(CUT, now))
    with pytest.raises(RefusedError) as caught:
        Door(stage.cluster, NO_POLICY, lambda: CUT, stage.cluster.clock, at=" -c shop").admit(stage.plan())
    assert caught.value.hint.endswith("kfix diagnose -c shop")


def test_the_network_is_checked_again_after_a_person_thought_for_long(stage: Stage) -> None:
    cut: list[object] = []

    def think() -> None:
        stage.cluster.clock.sleep(DIAGNOSIS_SECONDS + 1)
        cut.extend(CUT)

    stage.human = Answers(["y"], then=think)
    door = Door(stage.cluster, NO_POLICY, lambda: cut, stage.cluster.clock)  # type: ignore[arg-type, return-value]
    with pytest.raises(RefusedError, match="while the network is cut"):
        stage.run(door=door)
    assert stage.methods() == []
    assert "network_is_whole" in [r.get("check") for r in stage.journal()]


def test_a_passage_sends_nothing_that_its_plan_does_not_have(stage: Stage) -> None:
    passage = door_of(stage, []).admit(stage.plan())
    step = stage.plan().steps[0]
    with pytest.raises(ReadOnlyViolationError, match="elect_unclean is not an action"):
        passage.send("leader.elect_unclean", step.args)
    ending = door_of(stage, []).admit_endings(stage.plan())
    with pytest.raises(ReadOnlyViolationError):
        ending.send(step.action, step.args)
    assert stage.methods() == []


def test_a_resumed_run_comes_through_the_same_door(tmp_path: Path) -> None:
    from kfix.heal.execution.run import resume

    stage = Stage("coordinator-stuck", tmp_path)
    stage.human = Answers([], interactive=False)
    with pytest.raises(ApprovalError):
        stage.run()
    context = stage.context(door=Door(stage.cluster, NO_POLICY, lambda: CUT, stage.cluster.clock))
    with pytest.raises(RefusedError, match="while the network is cut"):
        resume(stage.last_run, context)
    strict = Policy({"reassign.noop": Gate.TYPED})
    with pytest.raises(RefusedError, match="violates"):
        resume(stage.last_run, stage.context(door=Door(stage.cluster, strict, tuple, stage.cluster.clock)))
    assert stage.methods() == []


def test_the_order_put_back_after_a_cancel_is_a_move_to_the_policy(stage: Stage) -> None:
    def passage(policy: Policy) -> Passage:
        return Door(stage.cluster, policy, tuple, stage.cluster.clock).admit(stage.plan())

    assert passage(NO_POLICY).may_cancel
    assert not passage(Policy({"reassign.move": Gate.TYPED})).may_cancel
    assert not passage(Policy({"reassign.cancel": Gate.TWO_PERSON})).may_cancel
    assert passage(NO_POLICY).may_rethrottle
    assert not passage(Policy({"throttle.rate": Gate.STEP})).may_rethrottle


def test_errors_of_the_door_are_of_kfix_and_show_whether_anything_changed() -> None:
    assert issubclass(RefusedError, KfixError)
    assert (RefusedError.exit_code, StoppedError.exit_code) == (3, 6)


# -- no way around it


#: Who may name a changer: the ports and adapters that are one, and the door that keeps it.
KEEPERS = {
    "kfix/core/ports.py",
    "kfix/core/clusters.py",
    "kfix/heal/session/session.py",
    "kfix/heal/safety/door.py",
    "kfix/heal/testing.py",
}


def _names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    words = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    return words | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def test_nothing_but_the_door_holds_a_changer() -> None:
    forbidden = {"changer", "LiveChanger", "ClusterChanger"}
    files = [p for folder in ("kfix", "spark", "diagnostics") for p in (ROOT / folder).rglob("*.py")]
    files = [p for p in files if any(word in p.read_text(encoding="utf-8") for word in forbidden)]
    inside = ("kfix/heal/live/", "kfix/heal/memory/", "kfix/heal/actions/")
    found = {name for p in files if not (name := str(p.relative_to(ROOT))).startswith(inside) and forbidden & _names(p)}
    assert found <= KEEPERS


def test_only_the_session_opens_the_door() -> None:
    doors = {"Door", "Passage", "Scene"}
    texts = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in (ROOT / "kfix").rglob("*.py")}
    makers = {
        name
        for name, text in texts.items()
        if any(door in text for door in doors)
        and any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in doors
            for n in ast.walk(ast.parse(text))
        )
    }
    assert makers == {"kfix/heal/session/session.py", "kfix/heal/safety/door.py", "kfix/heal/testing.py"}
