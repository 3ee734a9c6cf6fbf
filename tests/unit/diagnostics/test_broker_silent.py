"""KFX402 states what the error shows: a broker whose host name does not resolve may work, a frozen one does not."""

from __future__ import annotations

from kfix.core.diagnosis.finding import Finding, Severity
from kfix_diagnostics._explained import REFUSED, UNRESOLVED
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics.clusters import base, on_broker


def silent(why: str) -> Finding:
    snapshot = on_broker(2, base(), f"h:9092: {why}").snapshot()
    return next(f for f in diagnose(snapshot).walk() if f.code == "KFX402")


@for_each(
    ("why", "summary", "remedy"),
    [
        (UNRESOLVED, "cannot be reached at the address that it advertises", "Correct DNS or advertised.listeners"),
        (REFUSED, "is registered but does not respond", "Check on its host whether the process"),
        ("timed out", "is registered but does not respond", "Check from another host"),
    ],
)
def test_summary_and_first_remedy_are_of_the_error(why: str, summary: str, remedy: str) -> None:
    found = silent(why)
    assert found.severity is Severity.CRITICAL
    assert summary in found.summary
    assert found.remedies[0].text.startswith(remedy)


def test_nothing_hangs_and_nothing_is_killed_where_a_host_name_does_not_resolve() -> None:
    found = silent(UNRESOLVED)
    words = " ".join((found.summary, found.cause.text, *(each.text for each in found.remedies)))
    assert "hangs" not in words
    assert "kill" not in words
    assert "does not resolve either" in found.blocked.who
