"""While the network is cut every change is refused: the fault is not in Kafka, which heals once the network does."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.errors import RefusedError
from kfix.harmless import lines
from kfix.model.diagnosis.finding import Confidence, Finding

#: The checks that report a cut network, one per kind of cut.
CODES = frozenset({"KFX801", "KFX802", "KFX803", "KFX804", "KFX807"})
_SURE = frozenset({Confidence.CERTAIN, Confidence.LIKELY})


def cuts_in(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """What a diagnosis tells of a cut that is more than possible, folded findings among them."""
    return tuple(f for each in findings for f in each.walk() if f.code in CODES and f.cause.confidence in _SURE)


def refuse_while_cut(findings: Iterable[Finding]) -> None:
    """Raises `RefusedError` that names the cut and says what helps."""
    for finding in cuts_in(findings):
        if finding.unsettled:
            raise RefusedError(
                lines(finding.summary, "no change while the network may be about to be cut"),
                hint="look again in some seconds: kfix diagnose",
            )
        raise RefusedError(
            lines(
                f"{finding.key}: {finding.summary}",
                "no election, no reassignment and no other change while the network is cut: "
                "each makes the split deeper, or loses records",
            ),
            hint="mend the network; Kafka heals by itself within seconds. Then look again: kfix diagnose",
        )
