"""The shape of a file of receivers (`kfix watch --notify FILE`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kfix.core.documents.shapes import StrictModel

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
