"""Healing: plans are made, carried out, resumed, aborted, rolled back and verified, for the command line and programs.

With a person at the gates (`Human`) or without, every change goes through the door (`heal.safety.door`), with the
site's policy.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions, OpenCluster
from kfix.core.diagnosis.finding import Finding
from kfix.core.errors import RefusedError, UnreachableError, UsageError
from kfix.core.harmless import lines
from kfix.core.ports import Human
from kfix.core.run import Aborted
from kfix.core.snapshot.snapshot import Snapshot
from kfix.core.timing import DiagnosisTimes
from kfix.front.text import utf8
from kfix.heal.execution.context import Context, RunResult
from kfix.heal.execution.rethrottle import request_throttle
from kfix.heal.execution.run import (
    abort,
    check_plan,
    created_now,
    or_roll_back,
    prove_again,
    resume,
    run_or_roll_back,
    whoami,
)
from kfix.heal.gate.countersign import signer
from kfix.heal.gate.gates import Given, Unattended, parse_given
from kfix.heal.journal.journal import Listener
from kfix.heal.journal.replay import replay
from kfix.heal.journal.runs import RunDir, process_here
from kfix.heal.model.plan import Gate, Plan
from kfix.heal.planning.origin import refuse_forged
from kfix.heal.policy import NO_POLICY, Policy
from kfix.heal.rollback import make_rollback
from kfix.heal.safety.door import Diagnosed, Door
from kfix.heal.safety.proof import Asked, Proof
from kfix.heal.safety.refusals import refuse_other_cluster
from kfix.heal.session.request import HealRequest, Nothing, Warn, match, plan_for, read_request
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


_USUAL = DiagnoseOptions()
_NOTHING_APPROVED = Approval()


class Healing:
    """An open cluster on which plans are made and carried out, with the policy of the site."""

    def __init__(self, app: App, access: Access, cluster: OpenCluster, policy: Policy) -> None:
        self._app = app
        self._access = access
        self._cluster = cluster
        self._policy = policy

    def plan(self, asked: HealRequest, finding: Finding, snapshot: Snapshot, warn: Warn) -> Plan | Nothing:
        """As `request.plan_for`."""
        return plan_for(asked, finding, snapshot, self._cluster.reader, self._app.clock.now(), warn)

    def plan_rollback(self, run: RunDir, *, everything: bool) -> Plan:
        """Returns the plan that rolls a run back, last change first, with the gates that the policy requires.

        Raises RefusedError if the run was on another cluster, the network is cut, or nothing can be reverted.
        """
        before = run.plan()
        refuse_other_cluster(before, self._cluster.reader.identity(), run.id)
        self._door(before.judged).refuse_while_cut()
        created = created_now(self._app.clock.now())
        return self._policy.raised(make_rollback(run, self._cluster.reader, created, everything=everything))

    def carry_out(
        self,
        plan: Plan,
        approval: Approval,
        attendance: Attendance,
        just_now: Diagnosed | None = None,
        runbooks: Path | None = None,
    ) -> RunResult:
        """Carries a plan out and returns the proven result.

        `just_now`, a diagnosis that was made for this run, saves another one before the first change. `runbooks` is the
        folder of the site in which the plan's runbook is found. Raises a KfixError whose exit code shows whether
        anything was changed (docs/exit-codes.md).
        """
        self._refuse_forged(plan, runbooks)
        return run_or_roll_back(plan, self._context(plan, approval, attendance, just_now))

    def check(self, plan: Plan, runbooks: Path | None = None) -> bool:
        """Returns whether the plan's goal is met already. Raises as `carry_out` would before its first change."""
        self._refuse_forged(plan, runbooks)
        return check_plan(plan, self._context(plan, _NOTHING_APPROVED, Attendance(Unattended())))

    def resume(self, run: RunDir, did: tuple[str, ...], approval: Approval, attendance: Attendance) -> RunResult:
        """Continues a run that was killed or stopped. `did` names steps done by hand. Raises as `carry_out` does."""
        context = self._context(run.plan(), approval, attendance)
        return or_roll_back(lambda: resume(run, context, did), context)

    def abort(self, run: RunDir, reason: str, attendance: Attendance) -> Aborted:
        """Ends a killed or stopped run, whatever the policy. Returns what it restored and which changes remain."""
        return abort(run, self._context(run.plan(), _NOTHING_APPROVED, attendance), reason)

    def verify(self, run: RunDir) -> tuple[Proof, Asked]:
        """Returns the proof of the run's goal as of now, and the follow-up checks that do not pass yet."""
        return prove_again(run.plan(), self._cluster.reader, self._app.clock)

    def _refuse_forged(self, plan: Plan, runbooks: Path | None) -> None:
        if not plan.undoes:  # a rollback plan is compared with its run
            refuse_forged(plan, Site(self._app.environ).load(plan.runbook.id, runbooks))

    def _context(
        self, plan: Plan, approval: Approval, attendance: Attendance, just_now: Diagnosed | None = None
    ) -> Context:
        return Context(
            reader=self._cluster.reader,
            door=self._door(plan.judged, just_now),
            lock=self._cluster.lock,
            clock=self._app.clock,
            store=Site(self._app.environ).store(),
            human=attendance.human,
            given=approval.to(plan),
            listener=attendance.listener,
            step_by_step=approval.step_by_step,
            at=self._access.at,
        )

    def _door(self, judged: DiagnosisTimes, just_now: Diagnosed | None = None) -> Door:
        findings = partial(self._app.clusters.findings_before_change, self._access, judged)
        return Door(self._cluster.changer, self._policy, findings, self._app.clock, just_now, self._access.at)


@contextmanager
def healing(
    app: App, access: Access, policy: Policy = NO_POLICY, snapshot: Snapshot | None = None
) -> Iterator[Healing]:
    """Opens a cluster for healing. A `snapshot` taken just now saves reading the brokers' addresses again."""
    with app.clusters.open(access, snapshot) as cluster:
        yield Healing(app, access, cluster, policy)


def plan(
    runbook: str,
    access: Access,
    *,
    finding: str | None = None,
    params: Mapping[str, str] | None = None,
    runbooks: Path | None = None,
    policy: Path | None = None,
    moves_file: Path | None = None,
    offsets_file: Path | None = None,
    options: DiagnoseOptions = _USUAL,
    warn: Warn = lambda _text: None,
    app: App | None = None,
) -> Plan | Nothing:
    """Diagnoses a cluster and returns the plan of a runbook for what is found; nothing is changed.

    `finding` is the key of one finding, such as `KFX101:__consumer_offsets-3`; without it the runbook must be for one
    finding only. `params` are the runbook's. `runbooks` is a folder of the site's own, `policy` the site's file,
    `moves_file` the reassignment JSON of a runbook whose moves a person makes, `offsets_file` a file of saved offsets.
    `warn` receives what a person should know before they approve: critical findings that the plan does not heal, unread
    sources, unwise moves.

    Returns `Nothing`, with lines that say why, where there is nothing to do.

    Raises UsageError for an unknown runbook, parameter or finding, and where the runbook is for several findings;
    RefusedError where a precondition, a limit or a cut network forbids it; UnreachableError where a source that the
    plan needs does not answer.
    """
    used = app or _live()
    files = {"moves_file": moves_file, "offsets_file": offsets_file, "policy": policy}
    site, judged = Site(used.environ), options.times
    asked = read_request(site, runbook, runbooks, finding=finding, params=params or {}, judged=judged, **files)
    found, snapshot, _ = diagnosed_for(used, access, asked, options, warn)
    if isinstance(found, Nothing):
        return found
    if len(found) > 1:
        keys = (f"  --finding {shlex.quote(each.key)}" for each in found)
        raise UsageError(lines(f"{runbook} matches {len(found)} findings, and a plan is for one. Choose one:", *keys))
    with healing(used, access, asked.policy, snapshot) as session:
        return session.plan(asked, found[0], snapshot, warn)


def carry_out(
    plan: Plan,
    access: Access,
    *,
    approval: Approval = _NOTHING_APPROVED,
    policy: Path | None = None,
    runbooks: Path | None = None,
    human: Human | None = None,
    listener: Listener = lambda _record: None,
    opened: Callable[[], None] = lambda: None,
    app: App | None = None,
) -> RunResult:
    """Carries out a plan behind its gates and returns the proof that it helped.

    `approval` is what was approved beforehand; `human` is asked for the rest (None: no person is present, and a gate
    that was not approved stays shut). `policy` is the site's file; the site's usual one holds where none is named.
    `runbooks` is a folder of the site's own runbooks, if the plan is of one of them.
    `listener` receives each record of the run's journal once it is on the disk; `opened` is called before that, when
    the cluster has been reached.

    Raises UsageError for an approval of another plan; RefusedError (nothing was changed) for a plan that was altered,
    is not what its runbook makes, is stale, expired, spent, of another cluster or below the policy, and while the
    network is cut; ApprovalError (nothing was changed) at a gate that stayed shut; NotProvedError, StoppedError,
    RolledBackError and RollbackFailedError where something was changed (docs/exit-codes.md); HeldError if another run
    holds the cluster's lock.
    """
    used = app or _live()
    rules = Site(used.environ).policy(policy)
    rules.refuse(plan)
    approval.to(plan)
    with healing(used, for_plan(access, plan), rules) as session:
        opened()
        return session.carry_out(plan, approval, Attendance(human or Unattended(), listener), runbooks=runbooks)


def _live() -> App:
    from kfix.heal.live.clusters import live  # noqa: PLC0415 - only a program without clusters of its own needs it

    return live()


def diagnosed_for(
    app: App, access: Access, asked: HealRequest, options: DiagnoseOptions, warn: Warn
) -> tuple[tuple[Finding, ...] | Nothing, Snapshot, Diagnosed]:
    """Diagnoses the cluster, and returns what the request applies to, and the diagnosis. Raises as `match` does."""
    # Findings about one group rest on a reading of it, which a diagnosis makes only for the groups that are named.
    group = str(asked.params.get("group", ""))
    groups = (*options.groups, group) if group else options.groups
    wanted = replace(options, groups=groups, zones=options.zones or access.criteria.zones)
    diagnosis, snapshot = app.clusters.diagnose(access, wanted)
    # By the monotonic clock it grows old even if the wall clock is set.
    age = max(0.0, app.clock.now() - diagnosis.taken_at)
    found = match(asked, diagnosis, snapshot, warn)
    return found, snapshot, Diagnosed(diagnosis.findings, app.clock.monotonic() - age)


def for_plan(access: Access, plan: Plan) -> Access:
    """Returns the access with what the plan knows of its cluster where the caller left it out."""
    return replace(
        access,
        bootstrap_servers=access.bootstrap_servers or plan.cluster.bootstrap or None,
        zookeeper=access.zookeeper or plan.cluster.zookeeper or None,
        controllers=access.controllers or plan.cluster.controllers or None,
    )


def left_by(app: App, access: Access, plan: Plan) -> Mapping[str, str] | None:
    """Returns the findings that the same runbook is for and whose partitions the proof of this plan, of one finding,
    does not name: the key and the command of each, which has the parameters that the runbook needs.

    A finding without partitions is covered by no plan: its key shows what it is about. None: the cluster could not be
    read again.
    """
    try:
        found = app.clusters.findings_before_change(access, plan.judged)
    except UnreachableError:
        return None
    named = {str(each) for check in plan.goal.checks for arg in check.args.values() for each in _each(arg)}
    covered = {tp for tp in plan.finding.partitions if str(tp) in named or tp.topic in named}
    return {
        each.key: remedy.command
        for head in found
        for each in head.walk()
        if not each.unsettled and (not each.partitions or not covered.issuperset(each.partitions))
        for remedy in each.remedies
        if remedy.runbook == plan.runbook.id
    }


def _each(arg: object) -> tuple[object, ...]:
    return arg if isinstance(arg, tuple) else (arg,)


@dataclass(frozen=True, slots=True)
class Throttled:
    """A requested throttle. `gone` means that the run's process has ended, so only `resume` will apply the rate.

    `resume` is the command for that, which names the cluster as the run did.
    """

    run: str
    bytes_per_second: int
    gone: bool
    resume: str


def rethrottle(site: Site, text: str, rate: str, policy: Path | None) -> Throttled:
    """Requests another throttle for a run. `rate` is in bytes per second for each broker, such as 50MB/s.

    Raises RefusedError if the run has ended or the site's policy requires approval for each throttle, UsageError if the
    run is unknown or sets no throttle.
    """
    found = site.store().find(text)
    plan, journal = found.plan(), found.journal()
    if site.policy(policy).gate("throttle.rate") > Gate.PLAN:
        raise RefusedError("the site's policy requires approval for each throttle: stop the run and make a new plan")
    before = replay(journal.records)
    if before.outcome:
        raise RefusedError(f"{found.id} has ended ({before.outcome}): its throttle can no longer be changed")
    bytes_per_second = request_throttle(found.path, plan, utf8("RATE", rate), str(whoami()["user"]))
    last = journal.records[-1] if journal.records else {}
    gone = process_here(last.get("who", {})) is False
    resume = f"kfix runbook resume {found.id}{f' {before.at}' if before.at else ''}"
    return Throttled(found.id, bytes_per_second, gone, resume)
