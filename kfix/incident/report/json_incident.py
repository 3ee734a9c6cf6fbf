"""The post-mortem as JSON, format `kfix.incident/1`: all fields of `IncidentReport`.

Times are seconds since the epoch, UTC. A partition is `[topic, number]`. Where `not_before` is null, the time `at` is
exact; otherwise the event happened after `not_before` and no later than `at`. In a span, `value` is a broker id, -1 for
none, or null for unknown.
"""

from __future__ import annotations

from dataclasses import asdict

from kfix.core.harmless import for_json
from kfix.incident.model import IncidentReport


def incident_json(report: IncidentReport) -> str:
    document = {"format": "kfix.incident", "version": 1, **asdict(report)}
    return for_json(document, indent=1, ascii_only=True)
