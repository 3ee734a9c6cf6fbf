"""The checks that a diagnosis judged, for formats that list checks with and without findings."""

from __future__ import annotations

from kfix.core.diagnosis.finding import JudgedRule
from kfix.diagnose.diagnosis import EVERYTHING, Choice
from kfix_diagnostics import ALL
from kfix_diagnostics.catalogue import find_page, page, pages, subject

# The documentation pages of findings, for `kfix explain`.


def judged_rules(choice: Choice = EVERYTHING) -> tuple[JudgedRule, ...]:
    """Returns the checks of one cluster that this choice judges, by code; latent risks only with `prevention`."""
    checks = (
        check
        for check in ALL
        if (choice.prevention or not check.prevention) and (not choice.codes or check.code in choice.codes)
    )
    return tuple(
        JudgedRule(check.code, check.slug, check.title, check.severity, check.prevention, subject(check), page(check))
        for check in sorted(checks, key=lambda check: check.code)
    )


__all__ = ["find_page", "page", "pages"]
