"""A plan of a runbook: whether `kfix runbook apply --plan` would begin now. It locks and writes nothing."""

from pathlib import Path

from kfix.core.access import Access
from kfix.core.application import App
from kfix.core.derive.casefile import CaseFile
from kfix.core.errors import HeldError, RefusedError
from kfix.diagnose.stopping import Assessment, Obstacle, ObstacleKind
from kfix.heal.model.plan import Plan
from kfix.heal.policy import Policy
from kfix.heal.session.session import healing
from kfix.preflight.model import Act


def carry_out(app: App, access: Access, plan: Plan, file: Path, policy: Policy, runbooks: Path | None) -> Act:
    """Carrying a plan out, that `file` holds; `runbooks` is a folder of the site's own runbooks."""

    def judge(case: CaseFile) -> Assessment:
        with healing(app, access, policy, case.snapshot) as session:
            try:
                met = session.check(plan, runbooks)
            except RefusedError as error:
                return Assessment((Obstacle(ObstacleKind.PLAN, _said(error), next=error.hint),))
            except HeldError as error:
                return Assessment((Obstacle(ObstacleKind.PLAN, _said(error), until="its cooldown has passed"),))
        return Assessment(cautions=("its goal is met already: nothing would be changed",) if met else ())

    return Act(f"plan {file}", judge)


def _said(error: RefusedError | HeldError) -> str:
    return str(error).removesuffix("; nothing was changed")
