"""The Python interface of kfix: what `import kfix.api` offers. The command line is made of the same use cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import DiagnoseOptions, SnapshotOptions
from kfix.core.contexts.profiles import named as access_by_name
from kfix.core.criteria import CRITERIA, Criteria
from kfix.core.diagnosis.finding import Diagnosis
from kfix.core.diagnosis.forecast import Forecast
from kfix.core.errors import UsageError
from kfix.core.ports import Human
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.snapshots import load_merged
from kfix.heal.execution.context import RunResult
from kfix.heal.gate.gates import Unattended
from kfix.heal.journal.journal import Listener
from kfix.heal.live.clusters import live
from kfix.heal.model.plan import Plan
from kfix.heal.session.request import Nothing, read_request
from kfix.heal.session.session import Approval, Attendance, diagnosed_for, for_plan, healing
from kfix.heal.session.site import Site
from kfix.preflight.model import Preflight
from kfix.preflight.preflight import preflight_live
from kfix.preflight.words import act_of
from kfix.whatif.forecast import forecast_live

_USUAL = DiagnoseOptions()
_NOTHING_APPROVED = Approval()


def diagnose(access: Access, options: DiagnoseOptions = _USUAL, *, app: App | None = None) -> Diagnosis:
    """Returns the findings of a live cluster, worst first, and what could not be read.

    The cluster is only read. Where one snapshot leaves a doubt a second is taken `options.debounce` seconds later.

    Raises UsageError for an access that is none, and UnreachableError where no source answers.
    """
    return (app or live()).clusters.diagnose(access, options)[0]


def named(name: str, *, timeout: float = 5.0, app: App | None = None) -> Access:
    """Returns the access to a cluster of the inventory, as `-c NAME` does.

    Raises UsageError if there is no inventory or it has no such cluster, InvalidFileError if it is not valid.
    """
    return access_by_name(name, Access(timeout=timeout), (app or live()).environ)


def snapshot(access: Access, *, groups: Sequence[str] = (), app: App | None = None) -> Snapshot:
    """Returns the state of a live cluster, every source read once; `groups` are probed, too.

    Raises UnreachableError where no source answers; a source that failed is in `failed_sources`.
    """
    return (app or live()).clusters.snapshot(access, SnapshotOptions(tuple(groups), every_log_end=True))


def load_snapshot(*files: Path) -> Snapshot:
    """Returns a saved snapshot, or what pasted text or logs show; several files are merged, as `--from` does.

    Raises UsageError for a file that is not there, InvalidFileError for one that is not valid.
    """
    return load_merged(files)


def judge(snapshot: Snapshot, criteria: Criteria = CRITERIA) -> Diagnosis:
    """Returns the findings of a snapshot, worst first; no cluster is read."""
    from kfix_diagnostics.engine import diagnose as judged  # noqa: PLC0415 - loads every check

    return judged(snapshot, criteria=criteria)


def whatif(
    access: Access, down: str | None = None, options: DiagnoseOptions = _USUAL, *, app: App | None = None
) -> Forecast:
    """Returns what would stop if brokers of a live cluster went down, worst first; the cluster is only read.

    `down` is one failure, `broker=3`, `broker=3,4` or `rack=b`, whose partitions are listed; None: every broker, every
    rack, and every pair of brokers in a cluster of at most 30.

    Raises UsageError for an unknown broker or rack, and UnreachableError where no source answers.
    """
    return forecast_live(app or live(), access, down, options)


def preflight(act: str, access: Access, options: DiagnoseOptions = _USUAL, *, app: App | None = None) -> Preflight:
    """Returns whether an act is safe now, and the obstacles if not; the cluster is only read.

    `act` is in the words of the command line: `restart broker=3`, `stop rack=b`, `remove controller=2`,
    `reassign moves.json`, `config topic orders min.insync.replicas=2`, `upgrade 4.3.1`.

    Raises UsageError for another act, node or topic, and UnreachableError where no source answers.
    """
    return preflight_live(app or live(), access, act_of(act), options)


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
    warn: Callable[[str], None] = lambda _text: None,
    app: App | None = None,
) -> Plan | Nothing:
    """Diagnoses a cluster and returns the plan of a runbook for what is found; nothing is changed.

    `finding` is the key of one finding, such as `KFX101:__consumer_offsets-3`; without it the runbook must be for one
    finding only. `params` are the runbook's. `runbooks` is a folder of the site's own, `policy` the site's file,
    `moves_file` the reassignment JSON of a runbook whose moves a person makes, `offsets_file` a file of saved offsets.
    `warn` receives what a person should know
    before they approve: critical findings that the plan does not heal, unread sources, unwise moves.

    Returns `Nothing`, with lines that say why, where there is nothing to do.

    Raises UsageError for an unknown runbook, parameter or finding, and where the runbook is for several findings;
    RefusedError where a precondition, a limit or a cut network forbids it; UnreachableError where a source that the
    plan needs does not answer.
    """
    used = app or live()
    given = [f"{name}={value}" for name, value in (params or {}).items()]
    asked = read_request(
        Site(used.environ),
        runbook,
        runbooks,
        finding=finding,
        params=given,
        moves_file=moves_file,
        offsets_file=offsets_file,
        policy=policy,
        judged=options.times,
    )
    found, _, snapshot = diagnosed_for(used, access, asked, options)
    for text in found.warnings:
        warn(text)
    if not found.findings:
        return Nothing((found.nothing,))
    if len(found.findings) > 1:
        keys = ", ".join(f.key for f in found.findings)
        raise UsageError(f"{runbook} is for {len(found.findings)} findings here; a plan is for one: {keys}")
    with healing(used, access, snapshot) as session:
        made, warnings = session.plan(asked, found.findings[0], snapshot)
    for text in warnings:
        warn(text)
    return made


def carry_out(
    plan: Plan,
    access: Access,
    *,
    approval: Approval = _NOTHING_APPROVED,
    policy: Path | None = None,
    runbooks: Path | None = None,
    human: Human | None = None,
    listener: Listener = lambda _record: None,
    app: App | None = None,
) -> RunResult:
    """Carries out a plan behind its gates and returns the proof that it helped.

    `approval` is what was approved beforehand; `human` is asked for the rest (None: no person is present, and a gate
    that was not approved stays shut). `policy` is the site's file; the site's usual one holds where none is named.
    `runbooks` is a folder of the site's own runbooks, if the plan is of one of them.
    `listener` receives each record of the run's journal once it is on the disk.

    Raises UsageError for an approval of another plan; RefusedError (nothing was changed) for a plan that was altered,
    is not what its runbook makes, is stale, expired, spent, of another cluster or below the policy, and while the
    network is cut; ApprovalError (nothing was
    changed) at a gate that stayed shut; NotProvedError, StoppedError, RolledBackError and RollbackFailedError where
    something was changed (docs/exit-codes.md); HeldError if another run holds the cluster's lock.
    """
    used = app or live()
    approval.to(plan)
    rules = Site(used.environ).policy(policy)
    rules.refuse(plan)
    with healing(used, for_plan(access, plan)) as session:
        return session.carry_out(plan, approval, rules, Attendance(human or Unattended(), listener), runbooks=runbooks)
