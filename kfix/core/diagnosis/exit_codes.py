"""The exit codes of every diagnosis, audit and inspection (docs/exit-codes.md)."""

from __future__ import annotations

HEALTHY = 0
WARNINGS = 20
CRITICAL = 21
CANNOT_TELL = 22
