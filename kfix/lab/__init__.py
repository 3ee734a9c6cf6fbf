"""Real throw-away Kafka clusters with incidents on demand. Importing this loads no client library."""

from __future__ import annotations

from kfix.lab.cluster import Lab, down_all
from kfix.lab.incidents import INCIDENTS, Incident
from kfix.lab.report import Broken, LabStatus, ProcessStatus
from kfix.lab.spec import LabSpec

__all__ = ["INCIDENTS", "Broken", "Incident", "Lab", "LabSpec", "LabStatus", "ProcessStatus", "down_all"]
