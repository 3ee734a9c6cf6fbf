"""A check as formats for other programs describe it."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.core.diagnosis.finding import Severity


@dataclass(frozen=True, slots=True)
class JudgedRule:
    """One check that a diagnosis judged: its worst severity, its subject, such as "leadership", and its page."""

    code: str
    slug: str
    title: str
    severity: Severity
    prevention: bool
    subject: str
    page: str
