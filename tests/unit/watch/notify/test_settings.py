"""The file of receivers: every mistake with its place, secrets from the environment only, and in no message."""

from __future__ import annotations

import pytest

from kfix.core.diagnosis.finding import Severity
from kfix.core.errors import InvalidFileError
from kfix.watch.notify.settings import PAGERDUTY, parse_receivers
from tests.each import for_each
from tests.places import ROOT

HOOK = "  - type: webhook\n    url: http://x\n"
HEAD = "apiVersion: kfix/v1\nkind: Notifications\nreceivers:\n"
ENVIRON = {"SLACK": "https://hooks.example/hunter2", "KEY": "hunter2", "BAD": "no url", "NL": "a\nb"}


def refused(text: str) -> str:
    with pytest.raises(InvalidFileError) as caught:
        parse_receivers(HEAD + text, "notify.yaml", ENVIRON)
    assert "hunter2" not in str(caught.value)
    return str(caught.value)


def test_receivers_are_read_with_their_secrets_filled_in_and_not_shown() -> None:
    text = """  - type: slack
    url: ${env:SLACK}
    min_severity: critical
  - type: pagerduty
    routing_key: ${env:KEY}
  - type: alertmanager
    url: http://am:9093/
  - type: webhook
    name: tickets
    url: https://tickets.example:8443/kfix
    headers:
      Authorization: Bearer ${env:KEY}
      X-Source: kfix
"""
    slack, pagerduty, alertmanager, webhook = parse_receivers(HEAD + text, "notify.yaml", ENVIRON)
    assert (slack.url, slack.least) == (ENVIRON["SLACK"], Severity.CRITICAL)
    assert (pagerduty.url, pagerduty.routing_key) == (PAGERDUTY, "hunter2")
    assert alertmanager.url == "http://am:9093/api/v2/alerts"
    assert (webhook.name, webhook.headers["Authorization"]) == ("tickets", "Bearer hunter2")
    assert "hunter2" not in repr((slack, pagerduty, alertmanager, webhook))


@for_each(
    ("text", "wanted"),
    [
        ("  - type: slak\n    url: ${env:SLACK}\n", "notify.yaml:4:11: type is 'slak', wanted"),
        ("  - type: slack\n    url: https://hooks.slack.com/x\n", "notify.yaml:5:10: the url of slack is a secret"),
        ("  - type: slack\n    url: ${env:UNSET}\n", "5:10: the environment variable UNSET is not set"),
        ("  - type: slack\n    url: ${SLACK}\n", "5:10: ${...} is not of the form ${env:NAME}"),
        ("  - type: slack\n    url: ${env:BAD}\n", "5:10: url is not of the form"),
        ("  - type: webhook\n    url: ftp://x/y\n", "5:10: url is not of the form"),
        ("  - type: webhook\n    url: http://user:secret@x/\n", "5:10: url contains a user or a password"),
        ("  - type: webhook\n", "4:5: a receiver of type webhook needs url"),
        ("  - type: pagerduty\n", "4:5: a receiver of type pagerduty needs routing_key"),
        ("  - type: pagerduty\n    routing_key: abc\n", "5:18: routing_key is a secret"),
        (HOOK + "    routing_key: ${env:KEY}\n", "6:5: routing_key is for receivers"),
        (
            "  - type: webhook\n    url: http://x\n    headers:\n      X-Token: abc\n",
            "7:16: the header X-Token is a secret",
        ),
        (
            "  - type: webhook\n    url: http://x\n    headers:\n      A b: c\n",
            "7:7: is not the name of an HTTP header",
        ),
        (
            "  - type: webhook\n    url: http://x\n    headers:\n      X: ${env:NL}\n",
            "a character that no header may have",
        ),
        (HOOK + "    ca_file: /nowhere.pem\n", "6:14: /nowhere.pem: no such file"),
        (
            "  - type: webhook\n    url: http://x\n  - type: webhook\n    url: http://y\n",
            "6:5: a second receiver is called",
        ),
        ("  []\n", "notify.yaml:4:3:"),
        ("  - type: webhook\n    ulr: http://x\n", "unknown field 'ulr', did you mean 'url'?"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text: str, wanted: str) -> None:
    assert wanted in refused(text)


def test_the_example_has_a_valid_receiver_of_every_type() -> None:
    text = (ROOT / "examples" / "watch" / "notify.yaml").read_text()
    names = ("KFIX_SLACK_URL", "KFIX_TEAMS_URL", "KFIX_PAGERDUTY_KEY", "KFIX_TICKETS_TOKEN")
    found = parse_receivers(text, "notify.yaml", dict.fromkeys(names, "https://x.example/y"))
    assert sorted(receiver.type for receiver in found) == ["alertmanager", "pagerduty", "slack", "teams", "webhook"]
