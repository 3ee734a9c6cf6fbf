"""Next commands, complete enough to be copied and run."""

from __future__ import annotations

import shlex

from kfix.core.diagnosis.finding import REQUEST
from kfix.diagnose.upgrading import RAISES
from kfix.heal.model.plan import Plan

_TOPIC = "topic"


def plan_again(plan: Plan, at: str = "") -> str:
    """Returns the command that makes this plan again. Only the topic is repeated; other parameters are mentioned.

    `at` are the options besides the addresses in the plan, as a shell reads them; a name (`-c`) replaces those.
    """
    if plan.undoes:
        return f"make a new plan: kfix runbook rollback {plan.undoes}{at}"
    words = _planning(plan, plan.runbook.id, at)
    words += [] if plan.finding.code == REQUEST else ["--finding", plan.finding.key, *plan.judged.options()]
    topic = plan.params.get(_TOPIC)
    words += ["-p", f"{_TOPIC}={topic}"] if isinstance(topic, str) and topic else []
    same = ", with the same parameters as before" if set(plan.params) - {_TOPIC} else ""
    return f"make a new plan{same}: {shlex.join(words)}"


def raise_features(plan: Plan, at: str = "") -> str:
    """Returns the command that plans the last step of an upgrade; "" after any other run."""
    version = plan.params.get("version")
    if plan.runbook.id != "rolling-upgrade" or plan.undoes or not isinstance(version, str):
        return ""
    return shlex.join([*_planning(plan, RAISES, at), "-p", f"version={version}"])


def _planning(plan: Plan, runbook: str, at: str) -> list[str]:
    given = shlex.split(at)
    where = given if given[:1] == ["-c"] else [*_addresses(plan), *given]
    return ["kfix", "runbook", "plan", runbook, *where]


def _addresses(plan: Plan) -> list[str]:
    named = {
        "--bootstrap-server": plan.cluster.bootstrap,
        "--zookeeper": plan.cluster.zookeeper,
        "--bootstrap-controller": plan.cluster.controllers,
    }
    return [word for option, value in named.items() if value for word in (option, value)]
