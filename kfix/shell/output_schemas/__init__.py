"""The JSON Schemas (draft 2020-12) of JSON outputs, one file an output; docs/json.md has the same fields in words.

A schema allows further fields, since fields may be added within a version. The schemas of `diagnosis`, `group` and
`watch` refer to definitions in `finding`, which the published text includes.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final

from kfix.diagnose.report.group_story import SCHEMA as GROUP
from kfix.diagnose.report.json_findings import SCHEMA as DIAGNOSIS
from kfix.front.failure import SCHEMA as ERROR
from kfix.watch.report.json_turn import SCHEMA as WATCH

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
#: The name of each schema, and the value of `schema` in the documents that it describes.
OUTPUTS: Final = {"diagnosis": DIAGNOSIS, "group": GROUP, "error": ERROR, "watch": WATCH}


def output_schema(name: str) -> dict[str, Any]:
    """Returns the schema of one of `OUTPUTS`, complete in itself."""
    schema = _read(name)
    # An error has no finding.
    shared = {} if name == "error" else _read("finding")
    return {"$schema": _DIALECT, "$id": f"urn:{OUTPUTS[name].replace('/', ':')}", **schema, **shared}


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((files(__name__) / f"{name}.json").read_text(encoding="utf-8")))
