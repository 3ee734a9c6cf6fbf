"""Notices in the form that each kind of receiver accepts; the tests compare them with the published schemas.

- Alertmanager: `postableAlerts` of API v2, one alert per finding; a finding that is gone has an end in the past.
- PagerDuty: Events API v2, one event per finding, with its key, so that PagerDuty joins related events.
- Slack: an incoming webhook with Block Kit; Teams: a workflow webhook with an Adaptive Card; one message per round.
- Webhook: `kfix.notices/v1`, all fields (docs/watch.md).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kfix.core.diagnosis.finding import Severity
from kfix.core.harmless import one_line
from kfix.core.wording import ago, several, utc_iso, utc_text
from kfix.watch.model import Notice, TurnKind
from kfix.watch.notify.settings import Receiver

#: An alert that is not repeated for this many seconds ends by itself: the watch is gone.
ALERT_SECONDS: Final = 300.0
#: Changes that one message names; it counts the others.
_NAMED: Final = 10
_SLACK_TEXT, _SLACK_HEADER = 2900, 150
_PAGERDUTY_SUMMARY, _PAGERDUTY_KEY = 1000, 255
_CARD_TEXT: Final = 2000
_PAGERDUTY = {Severity.CRITICAL: "critical", Severity.WARNING: "warning", Severity.INFO: "info"}

Payload = Any


def payloads(receiver: Receiver, notices: Sequence[Notice], now: float) -> Iterator[Payload]:
    """Yields the bodies to post for the changes of one round, one JSON value per request."""
    if receiver.type == "alertmanager":
        yield [alert(notice, now) for notice in notices]
    elif receiver.type == "pagerduty":
        yield from (event(notice, receiver.routing_key) for notice in notices)
    else:
        yield _CHATS[receiver.type](notices)


def headline(notice: Notice) -> str:
    """Returns one line: what changed, how severe it is, and where."""
    lasted = ago(notice.at - notice.since)
    match notice.kind:
        case TurnKind.LOST:
            return f"{notice.name}: the cluster does not answer"
        case TurnKind.BACK:
            return f"{notice.name}: the cluster answers again, after {lasted}"
        case TurnKind.FIXED:
            return f"{notice.name}: fixed {notice.code} {notice.obj}, after {lasted}"
        case TurnKind.EXPLAINED:
            return f"{notice.name}: {notice.code} {notice.obj} is explained by another finding"
        case _:
            return f"{notice.name}: {notice.kind.value} {notice.severity.word} {notice.code} {notice.obj}"


def alert(notice: Notice, now: float) -> Mapping[str, Any]:
    labels = {
        "alertname": f"kfix_{notice.code}" if notice.code else "kfix_unreachable",
        "cluster": notice.cluster,
        "finding": notice.key,
    }
    texts = {"summary": notice.summary, "blocked": notice.blocked, "next": notice.next}
    severity = {"severity": notice.severity.word}
    return {
        "labels": {name: one_line(value) for name, value in labels.items() if value},
        # The severity may change while the alert lasts, and other labels would make another alert.
        "annotations": {name: one_line(value) for name, value in (texts | severity).items() if value},
        "startsAt": utc_iso(notice.since),
        "endsAt": utc_iso(notice.at if notice.kind.over else now + ALERT_SECONDS),
    }


def event(notice: Notice, routing_key: str) -> Mapping[str, Any]:
    made: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve" if notice.kind.over else "trigger",
        "dedup_key": dedup_key(notice),
    }
    if notice.kind.over:
        return made
    details = {"finding": notice.key, "blocked": notice.blocked, "why": notice.why, "next": notice.next}
    made["payload"] = {
        "summary": one_line(f"{headline(notice)}: {notice.summary}")[:_PAGERDUTY_SUMMARY],
        "source": one_line(notice.cluster),
        "severity": _PAGERDUTY[notice.severity],
        "timestamp": utc_iso(notice.at),
        "component": one_line(notice.obj),
        "class": notice.code or notice.key,
        "custom_details": {name: one_line(text) for name, text in details.items() if text},
    }
    made["client"] = "kfix watch"
    return made


def dedup_key(notice: Notice) -> str:
    """Returns the key by which PagerDuty joins events: the finding's key, within 255 characters."""
    key = one_line(f"kfix/{notice.cluster}/{notice.key}")
    if len(key) <= _PAGERDUTY_KEY:
        return key
    return f"{key[:180]}/{hashlib.sha256(key.encode()).hexdigest()}"


def _slack(notices: Sequence[Notice]) -> Mapping[str, Any]:
    title = _title(notices)
    blocks: list[Mapping[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": title[:_SLACK_HEADER], "emoji": False}}
    ]
    for notice in notices[:_NAMED]:
        text = f"*{_mrkdwn(headline(notice))}*"
        text += "".join(f"\n{name}: {_mrkdwn(words)}" for name, words in _words(notice))
        if notice.next:
            text += f"\nnext:\n```{_mrkdwn(notice.next).replace('```', '` ` `')}```"
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, _SLACK_TEXT)}})
    at = [{"type": "plain_text", "text": f"{utc_text(notices[0].at)}{_more(notices)}", "emoji": False}]
    return {"text": title[:_SLACK_TEXT], "blocks": [*blocks, {"type": "context", "elements": at}]}


def _mrkdwn(text: str) -> str:
    """Escapes Slack's own characters: no mention, no link, no formatting."""
    line = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return line.replace("*", "\u2217").replace("~", "\u223c")


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    # A code block that is cut has to be closed.
    cut = text[: most - 8]
    return f"{cut} ...{'```' if cut.count('```') % 2 else ''}"


def _teams(notices: Sequence[Notice]) -> Mapping[str, Any]:
    body: list[Mapping[str, Any]] = [_text(_title(notices), weight="Bolder", size="Medium")]
    for notice in notices[:_NAMED]:
        colour = "Good" if notice.kind.over else "Attention" if notice.severity is Severity.CRITICAL else "Warning"
        body.append(_text(headline(notice), weight="Bolder", color=colour, separator=True))
        body += [_text(f"{name}: {words}", spacing="Small") for name, words in _words(notice)]
        if notice.next:
            body.append(_text(f"next: {notice.next}", fontType="Monospace", spacing="Small"))
    body.append(_text(f"{utc_text(notices[0].at)}{_more(notices)}", isSubtle=True, size="Small", separator=True))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": body,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, **more: Any) -> Mapping[str, Any]:
    # Adaptive Cards render some Markdown, so its characters in names are escaped.
    plain = "".join(f"\\{c}" if c in "*_[]`" else c for c in one_line(text))
    return {"type": "TextBlock", "text": _cut(plain, _CARD_TEXT), "wrap": True, **more}


def _webhook(notices: Sequence[Notice]) -> Mapping[str, Any]:
    return {"schema": "kfix.notices/v1", "notices": [_fields(notice) for notice in notices]}


def _fields(notice: Notice) -> Mapping[str, Any]:
    return {
        "cluster": notice.cluster,
        "name": notice.name,
        "kind": notice.kind.value,
        "over": notice.kind.over,
        "key": notice.key,
        "code": notice.code,
        "object": notice.obj,
        "severity": notice.severity.word,
        "at": utc_iso(notice.at),
        "since": utc_iso(notice.since),
        "summary": notice.summary,
        "blocked": notice.blocked,
        "why": notice.why,
        "next": notice.next,
    }


def _title(notices: Sequence[Notice]) -> str:
    if len(notices) == 1:
        return one_line(headline(notices[0]))
    begun = sum(not notice.kind.over for notice in notices)
    return one_line(f"{notices[0].name}: {several(begun, 'finding')} changed, {len(notices) - begun} gone")


def _words(notice: Notice) -> Iterator[tuple[str, str]]:
    if not notice.kind.over:
        yield from ((name, text) for name, text in (("why", notice.why), ("blocked", notice.blocked)) if text)


def _more(notices: Sequence[Notice]) -> str:
    left = len(notices) - _NAMED
    return f", and {several(left, 'more change')}" if left > 0 else ""


_CHATS: Final[Mapping[str, Callable[[Sequence[Notice]], Payload]]] = {
    "slack": _slack,
    "teams": _teams,
    "webhook": _webhook,
}
