"""Diagnoses a cluster, plans the repair of a stuck coordinator, and applies the plan after a person approves it.

    python examples/python/heal_with_approval.py broker1:9092

`ask_on_call` stands for your pager, chat or ticket system: it shows the plan and returns True or False. The exit codes
are those of kfix (docs/exit-codes.md).
"""

from __future__ import annotations

import sys

from kfix.api import Access, Approval, Plan, carry_out, diagnose, plan
from kfix.core.errors import KfixError


def ask_on_call(made: Plan) -> bool:
    print(f"plan {made.short_id}: {made.title}")
    for number, step in enumerate(made.steps, 1):
        print(f"  {number}. {step.what} (gate: {step.gate.word}; worst case: {step.estimate.max_loss})")
    return input("apply the plan? [y/n] ").strip().lower() == "y"


def main(bootstrap_servers: str) -> int:
    access = Access(bootstrap_servers)
    for finding in diagnose(access).findings:
        print(f"{finding.severity.word}: {finding.key}: {finding.summary}")
    made = plan("coordinator-stuck", access)
    if not isinstance(made, Plan):
        print(*made.lines, sep="\n")
        return 0
    if not ask_on_call(made):
        print("nothing was changed")
        return 4
    # An approval names one plan. A step with a typed gate needs its phrase as well and is refused here.
    healed = carry_out(made, access, approval=Approval(approve=(f"plan:{made.short_id}",)))
    print(f"verified after {healed.seconds:.1f} s, run {healed.run}: {'; '.join(healed.changed)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except KfixError as error:
        print(f"{error}\n{error.hint}".strip(), file=sys.stderr)
        sys.exit(error.exit_code)
