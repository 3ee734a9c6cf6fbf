"""The parts of the receivers' published interfaces that a message has to keep, as JSON Schemas.

Sources: Alertmanager `api/v2/openapi.yaml` (postableAlerts), Slack "Incoming webhooks" and "Block Kit: blocks" (limits
of header, section and context), Microsoft "Adaptive Cards in an incoming webhook" with the Adaptive Card schema 1.4,
PagerDuty "Events API v2: Send an alert event".
"""

from __future__ import annotations

from typing import Any

_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}

ALERTMANAGER: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["labels"],
        "additionalProperties": False,
        "properties": {
            "labels": {
                **_STRINGS,
                "required": ["alertname"],
                "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
            },
            "annotations": {**_STRINGS, "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"}},
            "startsAt": {"type": "string", "format": "date-time"},
            "endsAt": {"type": "string", "format": "date-time"},
            "generatorURL": {"type": "string", "format": "uri"},
        },
    },
}

_PLAIN = {
    "type": "object",
    "required": ["type", "text"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "plain_text"},
        "text": {"type": "string", "minLength": 1, "maxLength": 150},
        "emoji": {"type": "boolean"},
    },
}
SLACK: dict[str, Any] = {
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": 4000},
        "blocks": {
            "type": "array",
            "maxItems": 50,
            "items": {
                "oneOf": [
                    {
                        "type": "object",
                        "required": ["type", "text"],
                        "additionalProperties": False,
                        "properties": {"type": {"const": "header"}, "text": _PLAIN},
                    },
                    {
                        "type": "object",
                        "required": ["type", "text"],
                        "additionalProperties": False,
                        "properties": {
                            "type": {"const": "section"},
                            "text": {
                                "type": "object",
                                "required": ["type", "text"],
                                "additionalProperties": False,
                                "properties": {
                                    "type": {"const": "mrkdwn"},
                                    "text": {"type": "string", "minLength": 1, "maxLength": 3000},
                                },
                            },
                        },
                    },
                    {
                        "type": "object",
                        "required": ["type", "elements"],
                        "additionalProperties": False,
                        "properties": {
                            "type": {"const": "context"},
                            "elements": {"type": "array", "minItems": 1, "maxItems": 10, "items": _PLAIN},
                        },
                    },
                ]
            },
        },
    },
}

_TEXT_BLOCK = {
    "type": "object",
    "required": ["type", "text"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "TextBlock"},
        "text": {"type": "string", "minLength": 1},
        "wrap": {"type": "boolean"},
        "weight": {"enum": ["Lighter", "Default", "Bolder"]},
        "size": {"enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]},
        "color": {"enum": ["Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"]},
        "fontType": {"enum": ["Default", "Monospace"]},
        "isSubtle": {"type": "boolean"},
        "separator": {"type": "boolean"},
        "spacing": {"enum": ["None", "Small", "Default", "Medium", "Large", "ExtraLarge", "Padding"]},
    },
}
TEAMS: dict[str, Any] = {
    "type": "object",
    "required": ["type", "attachments"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "message"},
        "attachments": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "type": "object",
                "required": ["contentType", "content"],
                "additionalProperties": False,
                "properties": {
                    "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                    "contentUrl": {"type": "null"},
                    "content": {
                        "type": "object",
                        "required": ["type", "version", "body"],
                        "additionalProperties": False,
                        "properties": {
                            "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
                            "type": {"const": "AdaptiveCard"},
                            "version": {"pattern": r"^1\.[0-5]$"},
                            "msteams": {
                                "type": "object",
                                "additionalProperties": False,
                                "properties": {"width": {"const": "Full"}},
                            },
                            "body": {"type": "array", "minItems": 1, "items": _TEXT_BLOCK},
                        },
                    },
                },
            },
        },
    },
}

PAGERDUTY: dict[str, Any] = {
    "type": "object",
    "required": ["routing_key", "event_action"],
    "additionalProperties": False,
    "properties": {
        "routing_key": {"type": "string", "minLength": 1},
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "dedup_key": {"type": "string", "minLength": 1, "maxLength": 255},
        "client": {"type": "string"},
        "client_url": {"type": "string"},
        "payload": {
            "type": "object",
            "required": ["summary", "source", "severity"],
            "additionalProperties": False,
            "properties": {
                "summary": {"type": "string", "minLength": 1, "maxLength": 1024},
                "source": {"type": "string", "minLength": 1},
                "severity": {"enum": ["critical", "error", "warning", "info"]},
                "timestamp": {"type": "string", "format": "date-time"},
                "component": {"type": "string"},
                "group": {"type": "string"},
                "class": {"type": "string"},
                "custom_details": {"type": "object"},
            },
        },
    },
    "allOf": [
        {
            "if": {"properties": {"event_action": {"const": "trigger"}}},
            "then": {"required": ["payload"]},
            "else": {"required": ["dedup_key"]},
        }
    ],
}

WEBHOOK: dict[str, Any] = {
    "type": "object",
    "required": ["schema", "notices"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": "kfix.notices/v1"},
        "notices": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["cluster", "kind", "key", "severity", "at", "since", "summary", "next"],
                "properties": {
                    "kind": {"enum": ["new", "worse", "better", "explained", "fixed", "lost", "back"]},
                    "severity": {"enum": ["info", "warning", "critical"]},
                    "over": {"type": "boolean"},
                    "at": {"type": "number"},
                    "since": {"type": "number"},
                },
            },
        },
    },
}

SCHEMAS = {
    "alertmanager": ALERTMANAGER,
    "slack": SLACK,
    "teams": TEAMS,
    "pagerduty": PAGERDUTY,
    "webhook": WEBHOOK,
}
