"""KFX116: what is advised where the transactional.id is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.model.cluster.snapshot import NEWEST_PROTOCOL
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics.group_readings import held, read, transaction_log


@pytest.mark.parametrize(
    ("version", "lists"),
    [
        ("3.0-IV1", True),
        ("3.9", True),
        ("2.8-IV1", False),
        ("4", False),
        ("", False),
        ("²", False),
        ("9" * 5000, False),
    ],
)
def test_transactions_are_listed_only_where_every_broker_is_known_to_do_so(version: str, lists: bool) -> None:
    snapshot = read(held(), held(), transaction_log=transaction_log("no record"))
    configs = {broker: {NEWEST_PROTOCOL: version} for broker in snapshot.views}
    found = diagnose(replace(snapshot, broker_configs=configs))
    commands = [remedy.command for finding in found.walk() for remedy in finding.remedies]
    assert any(command.startswith("kafka-transactions.sh") for command in commands) == lists


def test_one_broker_of_unknown_age_is_no_reason_for_a_command() -> None:
    snapshot = read(held(), held(), transaction_log=transaction_log("no record"))
    configs = {broker: {NEWEST_PROTOCOL: "3.9"} for broker in snapshot.views}
    first = min(configs)
    found = diagnose(replace(snapshot, broker_configs=configs | {first: {NEWEST_PROTOCOL: "odd"}}))
    assert not any("kafka-transactions.sh" in r.command for f in found.walk() for r in f.remedies)
