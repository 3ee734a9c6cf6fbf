"""The post-mortem as JSON, format `kfix.incident/1`: all fields of `IncidentReport`."""

from __future__ import annotations

from typing import Literal

from kfix.core.documents.outputs import written
from kfix.core.harmless import for_json
from kfix.incident.model import IncidentReport


class _Incident:
    format: Literal["kfix.incident"]
    version: Literal[1]


class IncidentJson(IncidentReport, _Incident):
    """The report of an incident: kfix report incident --json

    Times are seconds since the epoch, UTC. Where `not_before` is null, the time `at` is exact; otherwise the event
    happened after `not_before` and no later than `at`.
    """


def incident_json(report: IncidentReport) -> str:
    return for_json(written(IncidentJson, report), indent=1, ascii_only=True)
