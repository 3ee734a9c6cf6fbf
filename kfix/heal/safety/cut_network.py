"""Refuses every change during a network partition: the fault is not in Kafka, which recovers with the network.

Why: docs/adr/011, docs/facts/network-partitions.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from kfix.core.diagnosis.finding import Confidence, Finding
from kfix.core.errors import RefusedError
from kfix.core.harmless import lines

#: The checks that report a cut network, one per kind of cut.
CODES = frozenset({"KFX801", "KFX802", "KFX803", "KFX804", "KFX807", "KFX813"})
_SURE = frozenset({Confidence.CERTAIN, Confidence.LIKELY})


def cuts_in(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings, folded ones included, that report a cut with a confidence above "possible"."""
    return tuple(f for each in findings for f in each.walk() if f.code in CODES and f.cause.confidence in _SURE)


def refuse_while_cut(findings: Iterable[Finding], at: str = "") -> None:
    """Raises RefusedError, which names the cut and the remedy, if the findings report one; `at` ends its command."""
    for finding in cuts_in(findings):
        if finding.unsettled:
            raise RefusedError(
                lines(finding.summary, "kfix changes nothing while the network may be partitioned"),
                hint=f"diagnose again in a few seconds: kfix diagnose{at}",
            )
        raise RefusedError(
            lines(
                f"{finding.key}: {finding.summary}",
                "no election, no reassignment and no other change while the network is cut: "
                "each could lose records or make recovery harder",
            ),
            hint=f"repair the network; Kafka recovers by itself within seconds. Then check: kfix diagnose{at}",
        )
