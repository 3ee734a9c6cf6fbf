"""The door: the only way to change a cluster.

Every caller that carries out a plan needs a `Passage`, and only `Door.admit` makes one. So the site's policy and the
refusal during a network partition (docs/adr/011) hold for every caller, and nothing else in kfix reaches a
`ClusterChanger` (docs/adr/013).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from kfix.core.args import Args
from kfix.core.diagnosis.finding import Finding
from kfix.core.errors import ReadOnlyViolationError, RefusedError
from kfix.core.ports import Clock, ClusterChanger
from kfix.core.snapshot.reading import ChangeResult
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.model.plan import Gate, Phase, Plan, PlannedStep
from kfix.heal.plan.planfile import seal
from kfix.heal.policy import Policy
from kfix.heal.safety.refusals import refuse_while_cut

#: A diagnosis older than this (seconds) is repeated before a change.
DIAGNOSIS_SECONDS = 30.0

# Cancelling reverts a move in progress; it need not be a step of the plan.
_MOVE, _CANCEL = "reassign.move", "reassign.cancel"
_RATE = "throttle.rate"

#: Diagnoses the cluster now and returns its findings. It writes nothing.
Diagnose = Callable[[], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """The findings of the last diagnosis, and its time (`Clock.monotonic`, seconds)."""

    findings: tuple[Finding, ...]
    at: float


class Door:
    """Holds the changer of one cluster.

    `policy` is the site's. `diagnose` is called before the first change, and again if the last diagnosis is older than
    `DIAGNOSIS_SECONDS`. `just_now` is a diagnosis that the caller made for this run and replaces the first call. A
    refusal names a command that ends with `at`.
    """

    def __init__(
        self,
        changer: ClusterChanger,
        policy: Policy,
        diagnose: Diagnose,
        clock: Clock,
        just_now: Diagnosed | None = None,
        at: str = "",
    ) -> None:
        self.policy = policy
        self._refuse = partial(refuse_while_cut, at=at)
        self._changer = changer
        self._diagnose = diagnose
        self._clock = clock
        self._at = float("-inf")
        if just_now is not None:
            self._refuse(just_now.findings)
            self._at = just_now.at

    def admit(self, plan: Plan) -> Passage:
        """Returns the passage for a plan.

        Raises RefusedError if its id is not its content's hash, it violates the policy, or the network is cut.
        """
        _refuse_altered(plan)
        self.policy.refuse(plan)
        self.refuse_while_cut()
        return Passage(self, self._changer, plan, endings_only=False)

    def admit_endings(self, plan: Plan) -> Passage:
        """Returns a passage for aborting a run. It admits only the restoring steps, such as removing throttles.

        Neither the policy nor a network partition prevents that. Raises RefusedError if the plan was altered.
        """
        _refuse_altered(plan)
        return Passage(self, self._changer, plan, endings_only=True)

    def refuse_while_cut(self) -> None:
        """Raises RefusedError, which names the cut, or UnreachableError if the cluster cannot be diagnosed."""
        now = self._clock.monotonic()
        if now - self._at <= DIAGNOSIS_SECONDS:
            return
        self._refuse(self._diagnose())
        self._at = self._clock.monotonic()


def _refuse_altered(plan: Plan) -> None:
    """Raises RefusedError if the plan's id is not the hash of its content: approvals name a plan by its id."""
    if seal(plan).plan_id != plan.plan_id:
        raise RefusedError(
            f"plan {plan.short_id} was altered: its id is not that of its content; nothing was changed",
            hint=f"make a new plan: kfix runbook plan {plan.runbook.id}",
        )


class Passage:
    """The permission to carry out one plan. Only `Door` makes one."""

    def __init__(self, door: Door, changer: ClusterChanger, plan: Plan, *, endings_only: bool) -> None:
        self._door = door
        self._changer = changer
        self._endings_only = endings_only
        steps = plan.restoring if endings_only else plan.steps
        inverses = {s.inverse.action for s in steps if s.inverse is not None}
        actions = {s.action for s in steps} | inverses
        self._actions = frozenset(actions | {_CANCEL} if _MOVE in actions and not endings_only else actions)

    @property
    def may_cancel(self) -> bool:
        """Returns whether the operator who interrupts a run may cancel its moves.

        False if the policy puts a gate above `step` on a cancel, or on the move that restores the order of replicas.
        """
        return max(self._door.policy.gate(_CANCEL), self._door.policy.gate(_MOVE)) <= Gate.STEP

    @property
    def may_rethrottle(self) -> bool:
        """Returns whether the throttle may be changed during a run, without another approval."""
        return self._door.policy.gate(_RATE) <= Gate.PLAN

    def refuse_while_cut(self) -> None:
        """Acts as `Door.refuse_while_cut`, before a change that is not a step of the plan, such as a cancel."""
        self._door.refuse_while_cut()

    def before_change(self, step: PlannedStep) -> None:
        """Diagnoses the cluster again if the last diagnosis is too old, for example after a long wait for an answer.

        A restoring step is admitted without a diagnosis. Raises as `refuse_while_cut` does.
        """
        if step.phase is not Phase.ALWAYS and not self._endings_only:
            self._door.refuse_while_cut()

    def send(self, action: str, args: Args) -> ChangeResult:
        """Sends one change and returns Kafka's answer.

        Raises ReadOnlyViolationError for an action that the admitted plan does not have.
        """
        if action not in self._actions:
            raise ReadOnlyViolationError(f"{action} is not an action of the admitted plan; nothing was sent")
        return ACTIONS[action].apply(args, self._changer)
