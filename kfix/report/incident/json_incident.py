"""The post-mortem as JSON, format `kfix.incident/1`: `IncidentReport` field by field, nothing left out.

Times are seconds since the epoch, UTC. A partition is `[topic, number]`. `not_before` null: the time is exact, else it
happened after that and no later than `at`. In a span `value` is a broker id, -1 for none, null where nobody knows.
"""

from __future__ import annotations

from dataclasses import asdict

from kfix.harmless import for_json
from kfix.model.incident.report import IncidentReport


def incident_json(report: IncidentReport) -> str:
    told = {"format": "kfix.incident", "version": 1, **asdict(report)}
    return for_json(told, indent=1, ascii_only=True)
