"""The gate of a step within a run: the screen is kept by its hash, the answer is journaled, and a no ends the run."""

from kfix.core.harmless import lines
from kfix.heal.actions.registry import ALL as ACTIONS
from kfix.heal.execution import guards
from kfix.heal.execution.context import OpenRun
from kfix.heal.gate.gates import Screen, sure_phrases
from kfix.heal.gate.prompt import screen
from kfix.heal.model.plan import Gate, OnFailure, PlannedStep
from kfix.heal.safety.outcomes import Outcome, StalePlan, Stop

_SHOWN = 5


def refuse_unapproved(run: OpenRun) -> None:
    """Raises `Stop` if there is no terminal and a gate that the run will surely reach was not approved."""
    if run.gatekeeper.human.interactive:
        return
    keeper, done = run.gatekeeper, run.progress.done
    sure = [s for s in keeper.sure(done) if ACTIONS[s.action].changes]
    open_ = [s for s in sure if not keeper.covered(s)]
    if open_:
        names = ", ".join(s.id for s in open_[:5]) + (" ..." if len(open_) > _SHOWN else "")
        text = f"there is no terminal to ask at, and these steps were not approved: {names}"
        raise Stop(Outcome.DECLINED, text, _command(run, *sure))


def phrases_first(run: OpenRun) -> bool:
    """Asks for the typed phrases before the first change, so that declining one leaves the cluster unchanged.

    Returns whether a question was asked.
    """
    asked = False
    for number, step in () if run.progress.changed else sure_phrases(run.plan):
        if step.id not in run.progress.done and not run.gatekeeper.open_without_asking(step):
            gate(run, number, step)
            asked = True
    return asked


def gate(run: OpenRun, number: int, step: PlannedStep) -> bool:
    """Returns False if the operator skipped this step. Raises `Stop` if it was not approved."""
    level = run.gatekeeper.level(step)
    if level >= Gate.TYPED and run.run_time.now() > run.plan.expires_at:
        text = f"step {step.id} needs a typed phrase, which is accepted only while the plan is under 5 minutes old"
        raise StalePlan(text)

    def fresh() -> Screen:
        now = guards.recheck(run, step)
        return screen(run.plan, number, (step, level), now, run.progress.descriptions)

    shown = fresh()
    digest = run.folder.keep_screen(f"gate-{number}", shown.text)
    run.journal.write("gate.asked", step=step.id, level=level.word, shown_sha256=digest)
    asked_at = run.clock.monotonic()
    reply = run.gatekeeper.ask(step, shown, fresh)
    run.journal.write(
        "gate.answered",
        step=step.id,
        answer=reply.answer,
        passed=reply.passed,
        phrase_ok=reply.phrase_ok,
        latency_s=round(run.clock.monotonic() - asked_at, 3),
    )
    if reply.skip:
        run.journal.write("step.skipped", step=step.id, why="left_out")
        return False
    if not reply.passed:
        raise Stop(Outcome.DECLINED, _not_approved(step, reply.answer), _how_to_approve(run, step))
    if not run.progress.changed:
        run.progress.approved_at = run.clock.monotonic()
    return True


def confirm_continue(run: OpenRun, step: PlannedStep, text: str) -> bool:
    """Asks whether to continue after a step that failed. Without a terminal, or without a yes, the answer is no."""
    assert step.on_failure is OnFailure.ASK
    yes = run.gatekeeper.confirm_continue(lines(text, "", "Continue with the remaining steps anyway?"))
    run.journal.write("gate.answered", step=step.id, answer="continue" if yes else "stop", passed=yes)
    return yes


def _not_approved(step: PlannedStep, answer: str) -> str:
    if ACTIONS[step.action].changes:
        return f"step {step.id} was not approved ({answer})"
    return f"step {step.id} needs to be done by hand ({answer}): {step.what}"


def _how_to_approve(run: OpenRun, step: PlannedStep) -> str:
    if run.gatekeeper.human.interactive:
        return ""
    sure = [s for s in run.gatekeeper.sure(run.progress.done) if ACTIONS[s.action].changes and s != step]
    if not ACTIONS[step.action].changes:
        resume = f"kfix runbook resume {run.folder.id}{run.context.at}"
        did = f"{resume} --did {step.id} {run.gatekeeper.needed(*sure)}".strip()
        return f"when it is done:  {did}   (or approve it beforehand with {run.gatekeeper.needed(step)})"
    return _command(run, step, *sure)


def _command(run: OpenRun, *steps: PlannedStep) -> str:
    """Returns the command with every flag that the run needs, so that it has to be repeated only once."""
    needed = run.gatekeeper.needed(*steps)
    later = [s for s in run.gatekeeper.later(run.progress.done) if s not in steps]
    more = run.gatekeeper.needed(*steps, *later)
    rest = f"   (to approve the later steps as well: {more})" if more != needed else ""
    # A plan whose first change was begun is spent; its run is resumed instead.
    begun = f"resume {run.folder.id}" if run.progress.begun else f"apply --plan {run.folder.plan_path}"
    begun += run.context.at
    signing = (
        f"kfix runbook countersign {run.folder.plan_path} --output-file FILE --reason TEXT   "
        "(by a second person), then  "
    )
    return f"{signing if '--countersign' in needed else ''}kfix runbook {begun} {needed}{rest}"
