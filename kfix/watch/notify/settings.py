"""Reads a file of receivers; reports all mistakes at once as `file:line:col: text`, without any secret.

The file never contains a secret: `${env:NAME}` stands for the value of an environment variable.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from kfix.core.diagnosis.finding import Severity
from kfix.core.documents.problems import Path as Keys
from kfix.core.documents.problems import Problem
from kfix.core.documents.reading import StrictModel, read_model, read_text

# The shape of a file of receivers (`kfix watch --notify FILE`).

_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$")]


class ReceiverModel(StrictModel):
    """`name` is the receiver's name in the outputs; it is required if two receivers have one type."""

    type: Literal["alertmanager", "webhook", "slack", "teams", "pagerduty"]
    name: _Name | None = None
    url: Annotated[str, Field(min_length=1)] | None = None
    routing_key: Annotated[str, Field(min_length=1)] | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    ca_file: str | None = None
    min_severity: Literal["warning", "critical"] = "warning"


class NotificationsModel(StrictModel):
    api_version: Annotated[Literal["kfix/v1"], Field(alias="apiVersion")]
    kind: Literal["Notifications"]
    receivers: Annotated[list[ReceiverModel], Field(min_length=1, max_length=20)]


PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"
_REFERENCE: Final = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
#: A URL of these services is itself the permission to post.
_SECRET_URLS: Final = frozenset({"slack", "teams"})
_SECRET_HEADERS: Final = re.compile(r"auth|token|key|secret|cookie|password", re.IGNORECASE)
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,60}")


@dataclass(frozen=True, slots=True)
class Receiver:
    """A destination of notifications. `url`, `routing_key` and the values of `headers` may be secrets."""

    type: str
    name: str
    url: str = field(repr=False)
    routing_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str = ""
    least: Severity = Severity.WARNING


def load_receivers(path: Path, environ: Mapping[str, str]) -> tuple[Receiver, ...]:
    """Returns the receivers. Raises InvalidFileError with all mistakes, UsageError if the file cannot be read."""
    return parse_receivers(read_text(path, "file of receivers"), str(path), environ)


def parse_receivers(text: str, origin: str, environ: Mapping[str, str]) -> tuple[Receiver, ...]:
    model = read_model(
        text, NotificationsModel, origin=origin, what="receivers", more=lambda data: _problems(data, environ)
    )
    return tuple(_receiver(each, environ) for each in model.receivers)


def _receiver(model: ReceiverModel, environ: Mapping[str, str]) -> Receiver:
    def filled(text: str | None) -> str:
        return _REFERENCE.sub(lambda found: environ[found[1]], text or "")

    url = filled(model.url) or PAGERDUTY
    if model.type == "alertmanager":
        url = url.rstrip("/").removesuffix("/api/v2/alerts") + "/api/v2/alerts"
    return Receiver(
        model.type,
        model.name or model.type,
        url,
        filled(model.routing_key),
        {name: filled(value) for name, value in model.headers.items()},
        model.ca_file or "",
        Severity[model.min_severity.upper()],
    )


def _problems(data: Any, environ: Mapping[str, str]) -> Iterator[Problem]:
    listed = data.get("receivers") if isinstance(data, dict) else None
    names: set[str] = set()
    for position, each in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(each, dict):
            continue
        at: Keys = ("receivers", position)
        kind = each.get("type")
        name = each.get("name") or kind
        if isinstance(name, str):
            if name in names:
                yield Problem(at, f"a second receiver is called {name!r}: give each a name: of its own")
            names.add(name)
        for key in ("url", "routing_key"):
            if isinstance(value := each.get(key), str):
                yield from _of_value((*at, key), value, environ)
        yield from _of_kind(at, str(kind), each)
        yield from _of_url((*at, "url"), str(kind), each.get("url"), environ)
        yield from _of_headers((*at, "headers"), each.get("headers"), environ)
        ca_file = each.get("ca_file")
        if isinstance(ca_file, str) and not Path(ca_file).is_file():
            yield Problem((*at, "ca_file"), f"{ca_file}: no such file")


def _of_kind(at: Keys, kind: str, each: dict[str, Any]) -> Iterator[Problem]:
    key, url = each.get("routing_key"), each.get("url")
    if kind == "pagerduty" and not key:
        yield Problem(at, "a receiver of type pagerduty needs routing_key: ${env:NAME}")
    if kind == "pagerduty" and isinstance(key, str) and not _REFERENCE.fullmatch(key):
        yield Problem((*at, "routing_key"), "routing_key is a secret: write ${env:NAME}, and set the variable")
    if kind != "pagerduty" and key:
        yield Problem((*at, "routing_key"), "routing_key is for receivers of type pagerduty", at_key=True)
    if kind != "pagerduty" and not url:
        yield Problem(at, f"a receiver of type {kind} needs url")


def _of_url(at: Keys, kind: str, url: Any, environ: Mapping[str, str]) -> Iterator[Problem]:
    if not isinstance(url, str) or not url:
        return
    if kind in _SECRET_URLS and not _REFERENCE.fullmatch(url):
        yield Problem(at, f"the url of {kind} is a secret: write ${{env:NAME}}, and set the variable")
        return
    filled = _REFERENCE.sub(lambda found: environ.get(found[1]) or "unset", url)
    if _REFERENCE.fullmatch(url) and filled == "unset":
        return
    try:
        parts = urlsplit(filled)
        wrong = parts.scheme not in {"http", "https"} or not parts.hostname or (parts.port or 1) < 1
    except ValueError:
        wrong = True
    if wrong or any(c.isspace() or not c.isprintable() for c in filled):
        yield Problem(at, "url is not of the form http://HOST[:PORT]/PATH or https://...")
    elif parts.scheme == "http" and parts.hostname not in _HERE and (_REFERENCE.search(url) or _is_secret(parts.query)):
        yield Problem(at, "url holds a secret, and http sends it in plain text: use https")
    elif _is_secret(urlsplit(_REFERENCE.sub("", url)).query.replace("=&", "&")):
        yield Problem(at, "url holds a secret: write ${env:NAME}, and set the variable")
    elif parts.username or parts.password:
        yield Problem(at, "url contains a user or a password: use headers: Authorization: ${env:NAME}")


def _is_secret(query: str) -> bool:
    return any(value and _SECRET_HEADERS.search(name) for name, value in parse_qsl(query))


def _of_headers(at: Keys, headers: Any, environ: Mapping[str, str]) -> Iterator[Problem]:
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if not _HEADER.fullmatch(str(name)):
            yield Problem((*at, name), "is not the name of an HTTP header", at_key=True)
        if not isinstance(value, str):
            continue
        if _SECRET_HEADERS.search(str(name)) and not _REFERENCE.search(value):
            yield Problem((*at, name), f"the header {name} is a secret: write ${{env:NAME}}, and set the variable")
        if any(not c.isprintable() for c in _REFERENCE.sub(lambda found: environ.get(found[1], ""), value)):
            yield Problem((*at, name), f"the header {name} contains a character that no header may have")
        yield from _of_value((*at, name), value, environ)


def _of_value(at: Keys, value: str, environ: Mapping[str, str]) -> Iterator[Problem]:
    for name in dict.fromkeys(_REFERENCE.findall(value)):
        if not environ.get(name):
            yield Problem(at, f"the environment variable {name} is not set")
    if "${" in _REFERENCE.sub("", value):
        yield Problem(at, "${...} is not of the form ${env:NAME}")
