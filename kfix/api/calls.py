"""Everything that `import kfix.api` offers. The command line calls the same functions."""

from collections.abc import Sequence
from pathlib import Path

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.clusters import Clusters, DiagnoseOptions, OpenCluster, SnapshotOptions
from kfix.core.contexts.profiles import named as access_by_name
from kfix.core.criteria import CRITERIA, Criteria
from kfix.core.diagnosis.finding import Diagnosis, Finding
from kfix.core.diagnosis.forecast import Forecast
from kfix.core.errors import KfixError
from kfix.core.ports import Human
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.verdict import exit_code
from kfix.diagnose.snapshots import load_merged, save_snapshot
from kfix.heal.execution.context import RunResult
from kfix.heal.live.clusters import live
from kfix.heal.model.plan import Plan
from kfix.heal.session.request import Nothing
from kfix.heal.session.session import Approval, carry_out, plan
from kfix.preflight.model import Preflight
from kfix.preflight.preflight import preflight_live
from kfix.preflight.words import act_of
from kfix.whatif.forecast import forecast_live

__all__ = [
    "Access",
    "App",
    "Approval",
    "Clusters",
    "Criteria",
    "DiagnoseOptions",
    "Diagnosis",
    "Finding",
    "Forecast",
    "Human",
    "KfixError",
    "Nothing",
    "OpenCluster",
    "Plan",
    "Preflight",
    "RunResult",
    "Snapshot",
    "carry_out",
    "diagnose",
    "exit_code",
    "findings_json",
    "judge",
    "load_snapshot",
    "named",
    "plan",
    "preflight",
    "save_snapshot",
    "snapshot",
    "whatif",
]

_USUAL = DiagnoseOptions()


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
