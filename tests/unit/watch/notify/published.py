"""The parts of the receivers' published interfaces that a message has to keep, as JSON Schemas.

Sources: Alertmanager `api/v2/openapi.yaml` (postableAlerts), Slack "Incoming webhooks" and "Block Kit: blocks" (limits
of header, section and context), Microsoft "Adaptive Cards in an incoming webhook" with the Adaptive Card schema 1.4,
PagerDuty "Events API v2: Send an alert event".
"""

from __future__ import annotations

from typing import Any

_TEXT: dict[str, Any] = {"type": "string"}
_SOME: dict[str, Any] = {"type": "string", "minLength": 1}
_TIME: dict[str, Any] = {"type": "string", "format": "date-time"}
_STRINGS: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT}
_NAMES: dict[str, Any] = {"propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"}}


def _object(required: str, properties: dict[str, Any]) -> dict[str, Any]:
    """An object with these properties and no others."""
    needed = {"required": required.split()} if required else {}
    return {"type": "object", **needed, "additionalProperties": False, "properties": properties}


def _list(items: dict[str, Any], **bounds: int) -> dict[str, Any]:
    return {"type": "array", **bounds, "items": items}


def _up_to(length: int) -> dict[str, Any]:
    return {**_SOME, "maxLength": length}


ALERTMANAGER = _list(
    _object(
        "labels",
        {
            "labels": {**_STRINGS, "required": ["alertname"], **_NAMES},
            "annotations": {**_STRINGS, **_NAMES},
            "startsAt": _TIME,
            "endsAt": _TIME,
            "generatorURL": {"type": "string", "format": "uri"},
        },
    ),
    minItems=1,
)

_PLAIN = _object("type text", {"type": {"const": "plain_text"}, "text": _up_to(150), "emoji": {"type": "boolean"}})
_MARKDOWN = _object("type text", {"type": {"const": "mrkdwn"}, "text": _up_to(3000)})
_BLOCKS = (
    _object("type text", {"type": {"const": "header"}, "text": _PLAIN}),
    _object("type text", {"type": {"const": "section"}, "text": _MARKDOWN}),
    _object("type elements", {"type": {"const": "context"}, "elements": _list(_PLAIN, minItems=1, maxItems=10)}),
)
SLACK = _object("text", {"text": _up_to(4000), "blocks": _list({"oneOf": [*_BLOCKS]}, maxItems=50)})

_TEXT_BLOCK = _object(
    "type text",
    {
        "type": {"const": "TextBlock"},
        "text": _SOME,
        "wrap": {"type": "boolean"},
        "weight": {"enum": ["Lighter", "Default", "Bolder"]},
        "size": {"enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]},
        "color": {"enum": ["Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"]},
        "fontType": {"enum": ["Default", "Monospace"]},
        "isSubtle": {"type": "boolean"},
        "separator": {"type": "boolean"},
        "spacing": {"enum": ["None", "Small", "Default", "Medium", "Large", "ExtraLarge", "Padding"]},
    },
)
_CARD = _object(
    "type version body",
    {
        "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
        "type": {"const": "AdaptiveCard"},
        "version": {"pattern": r"^1\.[0-5]$"},
        "msteams": _object("", {"width": {"const": "Full"}}),
        "body": _list(_TEXT_BLOCK, minItems=1),
    },
)
_ATTACHMENT = _object(
    "contentType content",
    {
        "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
        "contentUrl": {"type": "null"},
        "content": _CARD,
    },
)
TEAMS = _object(
    "type attachments",
    {"type": {"const": "message"}, "attachments": _list(_ATTACHMENT, minItems=1, maxItems=1)},
)

_EVENT = _object(
    "summary source severity",
    {
        "summary": _up_to(1024),
        "source": _SOME,
        "severity": {"enum": ["critical", "error", "warning", "info"]},
        "timestamp": _TIME,
        **dict.fromkeys(("component", "group", "class"), _TEXT),
        "custom_details": {"type": "object"},
    },
)
_ONE_OF_THEM: dict[str, Any] = {
    "if": {"properties": {"event_action": {"const": "trigger"}}},
    "then": {"required": ["payload"]},
    "else": {"required": ["dedup_key"]},
}
PAGERDUTY = _object(
    "routing_key event_action",
    {
        "routing_key": _SOME,
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "dedup_key": _up_to(255),
        **dict.fromkeys(("client", "client_url"), _TEXT),
        "payload": _EVENT,
    },
) | {"allOf": [_ONE_OF_THEM]}

_NOTICE: dict[str, Any] = {
    "type": "object",
    "required": ["cluster", "kind", "key", "severity", "at", "since", "summary", "next"],
    "properties": {
        "kind": {"enum": ["new", "worse", "better", "explained", "fixed", "lost", "back"]},
        "severity": {"enum": ["info", "warning", "critical"]},
        "over": {"type": "boolean"},
        **dict.fromkeys(("at", "since"), _TIME),
    },
}
WEBHOOK = _object("schema notices", {"schema": {"const": "kfix.notices/v1"}, "notices": _list(_NOTICE, minItems=1)})

SCHEMAS = {
    "alertmanager": ALERTMANAGER,
    "slack": SLACK,
    "teams": TEAMS,
    "pagerduty": PAGERDUTY,
    "webhook": WEBHOOK,
}
