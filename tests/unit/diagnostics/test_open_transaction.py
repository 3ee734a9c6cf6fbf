"""KFX116: what is advised where the transactional.id is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kfix.core.criteria import Criteria
from kfix.core.derive.casefile import open_case
from kfix.core.diagnosis.finding import Severity
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL
from kfix.core.snapshot.transactions import TransactionLog, TransactionState
from kfix.core.wording import ago
from kfix_diagnostics._transactions import holder
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics.build import NOW
from tests.unit.diagnostics.group_readings import held, position, read, transaction_log


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


def began(seconds_ago: float) -> TransactionState:
    return transaction_log(started_ms=int((NOW - seconds_ago) * 1000)).found[0]


@pytest.mark.parametrize("now_open_for", [1, 70])
def test_a_transaction_that_its_producer_has_left_behind_is_not_aborted_by_fencing_the_producer(
    now_open_for: float,
) -> None:
    """The batch stands still while the producer works: for the coordinator it has ended."""
    log = TransactionLog((began(now_open_for),), earlier=(began(now_open_for + 5),))
    [finding] = diagnose(read(held(since=7200), held(since=7200), transaction_log=log)).findings
    assert finding.code == "KFX116"
    assert "2 h" in finding.summary
    assert "a hanging transaction" in finding.cause.text
    assert not any(remedy.runbook for remedy in finding.remedies)


def test_the_same_transaction_in_two_snapshots_is_aborted_by_its_producer() -> None:
    log = TransactionLog((began(95),), earlier=(began(95),))
    [finding] = diagnose(read(held(), held(), transaction_log=log)).findings
    assert [remedy.runbook for remedy in finding.remedies if remedy.runbook] == ["abort-transaction"]


def test_one_transaction_is_one_finding_that_names_each_group_behind_it() -> None:
    """One group has read up to it; another one is not there yet."""
    far = held(partitions=position(committed=3, stable=18))
    readings = [replace(far, group="g1"), held()] * 2
    [finding] = diagnose(read(*readings, transaction_log=transaction_log())).findings
    assert finding.severity is Severity.CRITICAL
    assert finding.blocked.groups == ("g2", "g1")
    words = "consumers of group g2 with isolation.level=read_committed get no records beyond it; those of group g1 once"
    assert words in finding.summary
    readings = [replace(far, group="g1"), replace(far, group="g2")] * 2
    [finding] = diagnose(read(*readings, transaction_log=transaction_log())).findings
    assert finding.severity is Severity.WARNING
    assert "consumers of groups g1, g2 with isolation.level=read_committed" in finding.summary
    assert finding.summary.endswith("get no records beyond it once they get there")


@pytest.mark.parametrize(("grace", "found"), [(60, ["KFX116"]), (300, [])])
def test_a_raised_grace_counts_also_beyond_half_of_the_timeout(grace: float, found: list[str]) -> None:
    log = transaction_log(timeout_ms=60_000, started_ms=int((NOW - 40) * 1000))
    snapshot = read(held(since=40), held(since=40), transaction_log=log)
    codes = [f.code for f in diagnose(snapshot, criteria=Criteria(transaction_grace=grace)).findings]
    assert codes == found


@pytest.mark.parametrize(
    ("grace", "option"), [(60, ""), (0, " --transaction-grace 0"), (7.5, " --transaction-grace 7.5")]
)
def test_commands_to_paste_repeat_the_grace_that_found_the_transaction(grace: float, option: str) -> None:
    found = diagnose(
        read(held(), held(), transaction_log=transaction_log()), criteria=Criteria(transaction_grace=grace)
    )
    [finding] = found.findings
    commands = [remedy.command for remedy in finding.remedies if remedy.command]
    assert [command.split()[1] for command in commands] == ["diagnose", "runbook"]
    assert all(command.endswith(option) for command in commands)
    assert all(("--transaction-grace" in command) == bool(option) for command in commands)


@pytest.mark.parametrize("own", [False, True], ids=["zookeeper", "kraft"])
@pytest.mark.parametrize("ahead", [3600, -3600, 20])
def test_by_the_clock_of_the_cluster_a_transaction_is_as_old_as_it_is(ahead: int, own: bool) -> None:
    """This host's clock is off by that much, and the clocks of the brokers are right."""
    began = NOW - 95 - ahead
    log = transaction_log(started_ms=int(began * 1000))
    snapshot = read(held(since=95 + ahead), held(since=95 + ahead), transaction_log=log)
    view = snapshot.zookeeper
    assert view is not None
    if own:
        snapshot = replace(snapshot, quorum=QuorumView(leader=100, clock_ahead=ahead))
    else:
        snapshot = replace(snapshot, zookeeper=replace(view, clock_ahead=ahead))
    case = open_case(snapshot)
    found = holder(case, 4000, 3, int(began * 1000))
    assert found.since == pytest.approx(95, abs=0.01)
    assert not found.overdue
    assert found.ends_by == pytest.approx(NOW - 95 + 900, abs=0.01)


@for_each(
    ("began", "ahead", "since", "overdue"),
    [
        (NOW + 3600, None, None, False),  # its coordinator is ahead of all others: no clock dates it
        (NOW + 3600, 0, None, False),
        (NOW + 1, 0, 0.0, False),
        (NOW - 3700, None, 3700.0, True),
        (NOW - 3700, 3600, 100.0, False),
        (NOW - 100, 3600, 100.0, False),  # only the authority is an hour behind
        (NOW - 100, -3600, 100.0, False),  # only the authority is an hour ahead
        (NOW - 9000, 3600, 5400.0, True),
    ],
)
def test_an_age_that_no_open_transaction_has_is_read_by_the_other_clock(
    began: float, ahead: int | None, since: float | None, overdue: bool
) -> None:
    snapshot = read(held(), held(), transaction_log=transaction_log(started_ms=int(began * 1000)))
    view = snapshot.zookeeper
    assert view is not None
    snapshot = replace(snapshot, zookeeper=replace(view, clock_ahead=ahead))
    found = holder(open_case(snapshot), 4000, 3, int(began * 1000))
    assert found.since == (None if since is None else pytest.approx(since, abs=0.01))
    assert found.overdue is overdue
    assert found.age == ("an unknown time" if since is None else ago(since))
    codes = {f.code for f in diagnose(snapshot).findings}
    assert ("KFX116" in codes) is (since is not None and since > 60)
