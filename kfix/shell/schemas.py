"""The JSON Schemas that kfix publishes: of its JSON outputs, and of files that it reads."""

from collections.abc import Mapping
from typing import Any, Final

from kfix.core.documents.outputs import schema_of as declared_schema
from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError
from kfix.diagnose.report.group_story import GroupJson
from kfix.diagnose.report.json_findings import DiagnosisJson
from kfix.front.failure import FailureJson
from kfix.watch.report.json_turn import TurnJson

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
#: The declarations of the outputs.
OUTPUTS: Final[Mapping[str, type]] = {
    "diagnosis": DiagnosisJson,
    "group": GroupJson,
    "watch": TurnJson,
    "error": FailureJson,
}
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
        schema = declared_schema(OUTPUTS[name])
        version = schema["properties"]["schema"]["const"].replace("/", ":")
        return {"$schema": _DIALECT, "$id": f"urn:{version}", **schema}
    # pydantic takes 0.1 s to load, and the outputs do not need it.
    if name == "runbook":
        from kfix.heal.session.runbooks import runbook_schema  # noqa: PLC0415

        return runbook_schema()
    if name == "inventory":
        from kfix.core.inventory.schema import json_schema  # noqa: PLC0415

        return json_schema()
    if name == "snapshot":
        from kfix.core.saved.files import file_schema  # noqa: PLC0415

        return file_schema()
    raise UsageError(f"there is no schema {name!r}{did_you_mean(name, SCHEMAS)}", hint="kfix schema lists all")
