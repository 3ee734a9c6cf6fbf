"""The JSON Schema of `fleet.yaml`, for editors and CI, from the model that validates the file.

It covers what a single place shows. Only `kfix fleet check` reports mistakes that involve several places or other
files: a `min_isr` above `rf`, a server that is not HOST:PORT, a properties file that does not exist.
"""

from __future__ import annotations

from typing import Any

from kfix.core.inventory.schema import FleetModel

Json = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = "urn:kfix:fleet:v1"
#: One of these has the address of a cluster; client properties may contain `bootstrap.servers`.
_ADDRESSES = ("bootstrap", "zookeeper", "command_config")
_WINDOWS = (("start", "end"), ("weekdays", "at", "for"))


def json_schema() -> Json:
    schema: Json = _untitled(FleetModel.model_json_schema(by_alias=True, mode="validation"))
    defs: Json = schema["$defs"]
    defs["ClusterModel"]["anyOf"] = [{"required": [field]} for field in _ADDRESSES]
    defs["WindowModel"]["oneOf"] = [{"required": [*fields]} for fields in _WINDOWS]
    schema["properties"]["clusters"]["minProperties"] = 1
    return {"$schema": _DIALECT, "$id": _ID, "title": "An inventory of kfix", **schema}


def _untitled(value: Any) -> Any:
    """Removes the titles, which repeat the names of fields."""
    if isinstance(value, list):
        return [_untitled(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _untitled(each) for key, each in value.items() if not (key == "title" and isinstance(each, str))}
