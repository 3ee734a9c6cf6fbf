"""Every message keeps the published schema of its receiver, whatever a cluster's names contain."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kfix.core.diagnosis.finding import Severity
from kfix.watch.model import Notice, TurnKind
from kfix.watch.notify.delivery import REPEAT, ReceiverQueue
from kfix.watch.notify.messages import ALERT_SECONDS, dedup_key, payloads
from kfix.watch.notify.settings import PAGERDUTY, Receiver
from tests.unit.watch.notify.published import SCHEMAS

NOW = 1_800_000_000.0
STUCK = Notice(
    cluster="Qx7",
    name="orders-prod (Qx7)",
    kind=TurnKind.NEW,
    key="KFX101:__consumer_offsets-3",
    code="KFX101",
    obj="__consumer_offsets-3",
    severity=Severity.CRITICAL,
    at=NOW,
    since=NOW,
    summary="__consumer_offsets-3 has had no leader for 5 min",
    blocked="2 groups: billing, payments",
    why="__consumer_offsets-3 has had no leader for 5 min.",
    next="kfix runbook plan coordinator-stuck -c orders-prod",
)

_TEXTS = st.text(max_size=3000) | st.sampled_from(["", "```", "<!here>", "a\nb", "\x1b[31m", "*_~[x](http://y)"])
_NOTICES = st.builds(
    Notice,
    cluster=st.text(min_size=1, max_size=40),
    name=st.text(min_size=1, max_size=300),
    kind=st.sampled_from(TurnKind),
    key=st.text(min_size=1, max_size=600),
    code=st.sampled_from(["", "KFX101"]),
    obj=_TEXTS,
    severity=st.sampled_from(Severity),
    at=st.floats(0, 4e9),
    since=st.floats(0, 4e9),
    summary=_TEXTS,
    blocked=_TEXTS,
    why=_TEXTS,
    next=_TEXTS,
)


@cache
def validator(kind: str) -> Any:
    known = jsonschema.validators.validator_for(SCHEMAS[kind])
    known.check_schema(SCHEMAS[kind])
    return known(SCHEMAS[kind], format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def checked(kind: str, payload: Any) -> None:
    # As it goes over the wire.
    validator(kind).validate(json.loads(json.dumps(payload)))


@pytest.mark.parametrize("kind", SCHEMAS)
@settings(max_examples=20)
@given(notices=st.lists(_NOTICES, min_size=1, max_size=14))
def test_any_message_keeps_the_published_schema(kind: str, notices: list[Notice]) -> None:
    for payload in payloads(Receiver(kind, kind, "http://x", "key"), notices, NOW):
        checked(kind, payload)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_refuses_what_is_no_message(kind: str) -> None:
    wrongs: list[Any] = [{}, [], [{}], {"text": 5}, {"routing_key": "k", "event_action": "trigger"}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            checked(kind, wrong)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_message_has_the_first_lines_of_the_diagnosis_and_the_next_command(kind: str) -> None:
    [payload] = payloads(Receiver(kind, kind, "http://x", "key"), [STUCK], NOW)
    text = json.dumps(payload).replace("\\\\", "")
    for part in (
        "billing, payments",
        "has had no leader for 5 min",
        "kfix runbook plan coordinator-stuck -c orders-prod",
    ):
        assert part in text


def test_alertmanager_ends_an_alert_that_is_gone_and_one_that_is_not_repeated() -> None:
    receiver = Receiver("alertmanager", "am", "http://x")
    gone = [*_fixed()]
    [[begun]] = payloads(receiver, [STUCK], NOW)
    [[ended]] = payloads(receiver, gone, NOW + 60)
    assert begun["labels"] == ended["labels"]
    assert begun["startsAt"] == ended["startsAt"]
    assert _seconds(begun["endsAt"]) == NOW + ALERT_SECONDS
    assert _seconds(ended["endsAt"]) == NOW + 30


def _fixed() -> Iterator[Notice]:
    yield Notice(
        "Qx7",
        STUCK.name,
        TurnKind.FIXED,
        STUCK.key,
        STUCK.code,
        STUCK.obj,
        STUCK.severity,
        NOW + 30,
        NOW,
        STUCK.summary,
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_pagerduty_joins_beginning_and_end_by_one_key() -> None:
    receiver = Receiver("pagerduty", "pd", PAGERDUTY, "routing")
    begun, ended = payloads(receiver, [STUCK, *_fixed()], NOW)
    assert (begun["event_action"], ended["event_action"]) == ("trigger", "resolve")
    assert begun["dedup_key"] == ended["dedup_key"] == dedup_key(STUCK)
    assert begun["payload"]["severity"] == "critical"


def test_slack_and_teams_show_names_as_they_are_and_mention_no_one() -> None:
    sly = Notice(
        "c", "c", TurnKind.NEW, "k", "KFX101", "<!channel> *x* `y` [a](http://b)", Severity.CRITICAL, NOW, NOW, "s"
    )
    [slack] = payloads(Receiver("slack", "s", "http://x"), [sly], NOW)
    [teams] = payloads(Receiver("teams", "t", "http://x"), [sly], NOW)
    assert "<!channel>" not in json.dumps(slack["blocks"][1])
    assert r"\[a\](http://b)" in teams["attachments"][0]["content"]["body"][1]["text"]


def test_a_long_round_names_ten_changes_and_counts_the_rest() -> None:
    [slack] = payloads(Receiver("slack", "s", "http://x"), [STUCK] * 25, NOW)
    assert len(slack["blocks"]) == 12
    assert "and 15 more changes" in json.dumps(slack)


class _Local(BaseHTTPRequestHandler):
    """A receiver that accepts only what its schema accepts, as the real one answers 400."""

    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            checked(self.path.strip("/").partition("/")[0], body)
            status = 202
            server.accepted.append((self.path, body, dict(self.headers)))
        except jsonschema.ValidationError:
            status = 400
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def local() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), _Local)
    server.accepted = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", SCHEMAS)
def test_each_kind_is_delivered_to_a_local_receiver_that_checks_its_schema(kind: str, local: Any) -> None:
    url = f"http://127.0.0.1:{local.server_address[1]}/{kind}/v2"
    delivery = ReceiverQueue(Receiver(kind, kind, url, "key", {"Authorization": "Bearer t"}), pauses=())
    delivery.send([STUCK])
    delivery.send([*_fixed()])
    delivery.close(time.monotonic() + 10)
    assert (delivery.state.delivered, delivery.state.failed) == (2, 0)
    assert len(local.accepted) == 2
    assert {headers["Authorization"] for _, _, headers in local.accepted} == {"Bearer t"}


def test_only_alertmanager_is_reminded_of_what_lasts(local: Any) -> None:
    now = [NOW]
    url = f"http://127.0.0.1:{local.server_address[1]}"
    kinds = ("alertmanager", "slack")
    deliveries = [ReceiverQueue(Receiver(k, k, f"{url}/{k}"), pauses=(), clock=lambda: now[0]) for k in kinds]
    for _ in range(20):
        now[0] += REPEAT / 4
        for delivery in deliveries:
            delivery.repeat([STUCK])
            delivery.close(time.monotonic() + 5)
    assert [path for path, _, _ in local.accepted] == ["/alertmanager"] * 5
    ends = [_seconds(body[0]["endsAt"]) for _, body, _ in local.accepted]
    assert ends == sorted(set(ends))
