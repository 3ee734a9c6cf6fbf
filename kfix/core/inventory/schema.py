"""The schema of `fleet.yaml`. Pydantic reports all wrong fields at once; `meaning` checks them against each other."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from kfix.core.args import parse_duration
from kfix.core.documents.reading import StrictModel
from kfix.core.site_command import command_words

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
#: The longest timeout in seconds that `kfix.core.target` accepts.
LONGEST_TIMEOUT = 3600.0
_DAY = 86400.0
_LONGEST_ZONE = 60


def plain(text: str) -> str:
    """Returns the text. Raises ValueError if it is blank or cannot be printed on one line."""
    if not text.isprintable() or not text.strip():
        raise ValueError(f"{text!r} is not plain text on one line")
    return text


def _joined(value: object) -> object:
    """Joins a list of servers with commas."""
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        return ",".join(value)
    return value


def _none_is_empty(value: object) -> object:
    return {} if value is None else value


def _one_is_a_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _one_or_several(**text: int) -> dict[str, Any]:
    """Returns the JSON Schema of a text, or of a list of such texts."""
    one = {"type": "string", **text}
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


def _bounded(value: float, low: float, high: float, words: str) -> float:
    if not low < value <= high:
        raise ValueError(f"{value:g} s is not {words}")
    return value


def _command(text: str) -> str:
    """Returns the template. Raises ValueError if it is no command for a node."""
    command_words(text, "broker", 1)
    return text


def _short(text: str) -> str:
    if len(text) > _LONGEST_ZONE:
        raise ValueError(f"the name is longer than {_LONGEST_ZONE} characters")
    return text


Text = Annotated[str, AfterValidator(plain), WithJsonSchema({"type": "string", "minLength": 1})]
Zone = Annotated[
    Text, AfterValidator(_short), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": _LONGEST_ZONE})
]
Command = Annotated[Text, AfterValidator(_command)]
Servers = Annotated[str, BeforeValidator(_joined), WithJsonSchema(_one_or_several())]
Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?(ms|s|m|h)$"}),
]
Timeout = Annotated[
    Duration, AfterValidator(lambda v: _bounded(v, 0, LONGEST_TIMEOUT, "more than 0 s and at most 1 h"))
]
Grace = Annotated[Duration, AfterValidator(lambda v: _bounded(v, -1, _DAY, "between 0 s and 24 h"))]
Patterns = Annotated[
    list[Text], BeforeValidator(_one_is_a_list), Field(min_length=1), WithJsonSchema(_one_or_several(minLength=1))
]


#: `meaning` reports an empty field in plainer words.
_NoneIsEmpty = BeforeValidator(_none_is_empty)


class ExpectedModel(StrictModel):
    rf: Annotated[int, Field(ge=1, le=1000)] | None = None
    min_isr: Annotated[int, Field(ge=1, le=1000)] | None = None


class WindowModel(StrictModel):
    """A single window (`start`, `end`, with a time zone) or a weekly one (`weekdays`, `at`, `for`, in UTC)."""

    why: str = ""
    start: str | None = None
    end: str | None = None
    weekdays: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] | None = None
    at: str | None = None
    for_: Annotated[Duration | None, Field(alias="for")] = None


class DefaultsModel(StrictModel):
    """Values for every cluster that does not set its own. Tags and windows are added to the cluster's own."""

    command_config: Text | None = None
    owner: Text | None = None
    tags: list[Text] = Field(default_factory=list)
    criticality: Literal["low", "normal", "high", "critical"] | None = None
    expected: ExpectedModel = ExpectedModel()
    restart_grace: Grace | None = None
    restart_command: Command | None = None
    upgrade_command: Command | None = None
    timeout: Timeout | None = None
    windows: list[WindowModel] = Field(default_factory=list)


class ClusterModel(DefaultsModel):
    bootstrap: Servers = ""
    zookeeper: Servers = ""
    bootstrap_controller: Servers = ""
    id: Text | None = None
    zones: dict[str, Zone] = Field(default_factory=dict)


class MuteModel(StrictModel):
    clusters: Patterns
    findings: Patterns
    reason: Text
    until: str
    by: str = ""


class FleetModel(StrictModel):
    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion")]
    kind: Literal["Fleet"]
    defaults: DefaultsModel = DefaultsModel()
    clusters: Annotated[dict[str, Annotated[ClusterModel, _NoneIsEmpty]], _NoneIsEmpty]
    mutes: list[MuteModel] = Field(default_factory=list)


Json = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = "urn:kfix:fleet:v1"
#: One of these has the address of a cluster; client properties may contain `bootstrap.servers`.
_ADDRESSES = ("bootstrap", "zookeeper", "command_config")
_WINDOWS = (("start", "end"), ("weekdays", "at", "for"))


def json_schema() -> Json:
    """The JSON Schema of `fleet.yaml`, for editors and CI, from the model that validates the file.

    It covers what a single place shows. Only `kfix fleet check` reports mistakes that involve several places or
    other files: a `min_isr` above `rf`, a server that is not HOST:PORT, a properties file that does not exist.
    """
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
