"""One cluster, opened for healing: plans are made, carried out, resumed, aborted, rolled back and verified.

With a person at the gates (`Human`) or without, every change goes through the door (`heal.safety.door`), with the
site's policy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions, OpenCluster
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.errors import UnreachableError
from kfix.core.ports import Human
from kfix.core.run import Aborted
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import DiagnosisTimes
from kfix.heal.execution.context import Context, RunResult
from kfix.heal.execution.run import abort, created_now, or_roll_back, prove_again, resume, run_or_roll_back
from kfix.heal.gate.countersign import signer
from kfix.heal.gate.gates import Given, parse_given
from kfix.heal.journal.journal import Listener
from kfix.heal.journal.runs import RunDir
from kfix.heal.model.plan import Plan
from kfix.heal.planning.origin import refuse_forged
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.rollback import make_rollback
from kfix.heal.safety.door import Diagnosed, Door
from kfix.heal.safety.proof import Asked, Proof
from kfix.heal.safety.refusals import refuse_other_cluster
from kfix.heal.session.request import HealRequest, Matched, Nothing, match, plan_for
from kfix.heal.session.site import Site


@dataclass(frozen=True, slots=True)
class Approval:
    """What was approved beforehand, for one plan.

    `approve` holds plan:ID8 or step:ID8, `ack` STEP=PHRASE of typed steps, `countersign` the file of a second person's
    signature. `step_by_step` gives every change its own gate.
    """

    approve: tuple[str, ...] = ()
    ack: tuple[str, ...] = ()
    countersign: Path | None = None
    step_by_step: bool = False

    @property
    def given(self) -> bool:
        return bool(self.approve or self.ack or self.countersign is not None)

    def to(self, plan: Plan) -> Given:
        """Returns what the approval covers in this plan.

        Raises UsageError if it names another plan or is malformed, ApprovalError for a wrong phrase or signature.
        """
        signed = "" if self.countersign is None else signer(self.countersign, plan, os.getuid())
        return parse_given(self.approve, self.ack, plan, signed)


@dataclass(frozen=True, slots=True)
class Attendance:
    """Who is asked while a plan is carried out, and the listener that gets each record of the journal."""

    human: Human
    listener: Listener = lambda _record: None


class Healing:
    """An open cluster on which plans are made and carried out."""

    def __init__(self, app: App, access: Access, cluster: OpenCluster) -> None:
        self._app = app
        self._access = access
        self._cluster = cluster

    def plan(self, asked: HealRequest, finding: Finding, snapshot: Snapshot) -> tuple[Plan | Nothing, tuple[str, ...]]:
        """As `request.plan_for`."""
        return plan_for(asked, finding, snapshot, self._cluster.reader, self._app.clock.now())

    def plan_rollback(self, run: RunDir, policy: Policy, *, everything: bool) -> Plan:
        """Returns the plan that rolls a run back, last change first, with the gates that the policy requires.

        Raises RefusedError if the run was on another cluster, the network is cut, or nothing can be reverted.
        """
        before = run.plan()
        refuse_other_cluster(before, self._cluster.reader.identity(), run.id)
        self._door(policy, None, before.judged).refuse_while_cut()
        created = created_now(self._app.clock.now())
        return policy.raised(make_rollback(run, self._cluster.reader, created, everything=everything))

    def carry_out(
        self,
        plan: Plan,
        approval: Approval,
        policy: Policy,
        attendance: Attendance,
        just_now: Diagnosed | None = None,
        runbooks: Path | None = None,
    ) -> RunResult:
        """Carries a plan out and returns the proven result.

        `just_now`, a diagnosis that was made for this run, saves another one before the first change. `runbooks` is the
        folder of the site in which the plan's runbook is found. Raises a KfixError whose exit code shows whether
        anything was changed (docs/exit-codes.md).
        """
        if not plan.undoes:  # a rollback plan is compared with its run
            refuse_forged(plan, Site(self._app.environ).load(plan.runbook.id, runbooks))
        context = self._context(approval.to(plan), approval, policy, attendance, just_now, plan.judged)
        return run_or_roll_back(plan, context)

    def resume(
        self, run: RunDir, did: tuple[str, ...], approval: Approval, policy: Policy, attendance: Attendance
    ) -> RunResult:
        """Continues a run that was killed or stopped. `did` names steps done by hand. Raises as `carry_out` does."""
        plan = run.plan()
        context = self._context(approval.to(plan), approval, policy, attendance, None, plan.judged)
        return or_roll_back(lambda: resume(run, context, did), context)

    def abort(self, run: RunDir, reason: str, attendance: Attendance) -> Aborted:
        """Ends a killed or stopped run, whatever the policy. Returns what it restored and which changes remain."""
        return abort(run, self._context(Given(), Approval(), NO_POLICY, attendance, None, run.plan().judged), reason)

    def verify(self, run: RunDir) -> tuple[Proof, Asked]:
        """Returns the proof of the run's goal as of now, and the follow-up checks that do not pass yet."""
        return prove_again(run.plan(), self._cluster.reader, self._app.clock)

    def _context(
        self,
        given: Given,
        approval: Approval,
        policy: Policy,
        attendance: Attendance,
        just_now: Diagnosed | None,
        judged: DiagnosisTimes,
    ) -> Context:
        return Context(
            reader=self._cluster.reader,
            door=self._door(policy, just_now, judged),
            lock=self._cluster.lock,
            clock=self._app.clock,
            store=Site(self._app.environ).store(),
            human=attendance.human,
            given=given,
            listener=attendance.listener,
            step_by_step=approval.step_by_step,
            at=self._access.at,
        )

    def _door(self, policy: Policy, just_now: Diagnosed | None, judged: DiagnosisTimes) -> Door:
        findings, access = self._app.clusters.findings_before_change, self._access
        return Door(
            self._cluster.changer, policy, lambda: findings(access, judged), self._app.clock, just_now, access.at
        )


def diagnosed_for(
    app: App, access: Access, asked: HealRequest, options: DiagnoseOptions
) -> tuple[Matched, Diagnosis, Snapshot]:
    """Diagnoses the cluster, and returns what the request applies to. Raises as `match` does."""
    # Findings about one group rest on a reading of it, which a diagnosis makes only for the groups that are named.
    group = str(asked.params.get("group", ""))
    groups = (*options.groups, group) if group else options.groups
    wanted = replace(options, groups=groups, zones=options.zones or access.criteria.zones)
    diagnosis, snapshot = app.clusters.diagnose(access, wanted)
    return match(asked, diagnosis, snapshot), diagnosis, snapshot


def for_plan(access: Access, plan: Plan) -> Access:
    """Returns the access with what the plan knows of its cluster where the caller left it out."""
    return replace(
        access,
        bootstrap_servers=access.bootstrap_servers or plan.cluster.bootstrap or None,
        zookeeper=access.zookeeper or plan.cluster.zookeeper or None,
        controllers=access.controllers or plan.cluster.controllers or None,
    )


def left_by(app: App, access: Access, plan: Plan) -> tuple[str, ...] | None:
    """Returns the keys of findings that the same runbook is for and this plan, of one finding, did not cover.

    None: the cluster could not be read again.
    """
    try:
        found = app.clusters.findings_before_change(access, plan.judged)
    except UnreachableError:
        return None
    covered = set(plan.finding.partitions)
    every = (each for head in found for each in head.walk() if not each.unsettled)
    same = (each for each in every if any(remedy.runbook == plan.runbook.id for remedy in each.remedies))
    return tuple(each.key for each in same if not covered.issuperset(each.partitions))


def just_diagnosed(app: App, diagnosis: Diagnosis) -> Diagnosed:
    """Returns the diagnosis with its time by the monotonic clock: it grows old even if the wall clock is set."""
    age = max(0.0, app.clock.now() - diagnosis.taken_at)
    return Diagnosed(diagnosis.findings, app.clock.monotonic() - age)


@contextmanager
def healing(app: App, access: Access, snapshot: Snapshot | None = None) -> Iterator[Healing]:
    """Opens a cluster for healing. A `snapshot` taken just now saves reading the brokers' addresses again."""
    with app.clusters.open(access, snapshot) as cluster:
        yield Healing(app, access, cluster)
