"""The JSON Schemas that kfix publishes: of its JSON outputs, and of files that it reads."""

from __future__ import annotations

from typing import Any, Final

from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.shell.output_schemas import OUTPUTS, output_schema

#: Each schema and what it describes.
SCHEMAS: Final = {
    "diagnosis": "kfix diagnose --format json",
    "group": "kfix diagnose --group GROUP --format json",
    "watch": "kfix watch --json, one line",
    "error": "an error of a command with --json",
    "runbook": "a runbook file",
    "inventory": "an inventory: fleet.yaml",
    "snapshot": "a snapshot file",
}


def schema_of(name: str) -> dict[str, Any]:
    """Returns the schema of this name. Raises UsageError if there is none."""
    if name in OUTPUTS:
        return output_schema(name)
    # pydantic takes 0.1 s to load, and the outputs do not need it.
    if name == "runbook":
        from kfix.heal.session.runbooks import runbook_schema  # noqa: PLC0415

        return runbook_schema()
    if name == "inventory":
        from kfix.core.inventory.published import json_schema  # noqa: PLC0415

        return json_schema()
    if name == "snapshot":
        from kfix.core.saved.format import file_schema  # noqa: PLC0415

        return file_schema()
    raise UsageError(f"there is no schema {name!r}{did_you_mean(name, SCHEMAS)}", hint="kfix schema lists all")
