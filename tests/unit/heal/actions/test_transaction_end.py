"""A hanging transaction is ended with the outcome of its coordinator, and never one that is alive."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import ONGOING
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.transactions import TransactionEnd
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.answer import Verdict
from kfix.heal.model.plan import Risk
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ask

TP = TopicPartition("orders", 0)
NAME = "ledger-writer"


def frozen(incident: str, outcome: str = "log") -> tuple[MemoryCluster, Args]:
    cluster = INCIDENTS[incident]().cluster
    return cluster, TransactionEnd().freeze(Args({"partition": str(TP), "outcome": outcome}), FactReader(cluster))


def sent(cluster: MemoryCluster) -> tuple[object, ...]:
    [call] = cluster.faults.calls
    assert call.method == "end_transaction"
    return call.args


@pytest.mark.parametrize(
    ("incident", "outcome", "commits"),
    [
        ("transaction-marker-lost", "log", True),
        # The log decides, whatever the operator says.
        ("transaction-marker-lost", "abort", True),
        ("transaction-late-record", "log", False),
        ("transaction-outcome-unknown", "commit", True),
        ("transaction-outcome-unknown", "abort", False),
    ],
)
def test_the_marker_has_the_outcome_of_the_log_or_else_that_of_the_operator(
    incident: str, outcome: str, commits: bool
) -> None:
    cluster, args = frozen(incident, outcome)
    assert all(ask(call, cluster).verdict is Verdict.PASS for call in TransactionEnd().guards(args))
    assert TransactionEnd().probe(args, {}, cluster) is ActionStatus.NOT_STARTED
    assert TransactionEnd().apply(args, cluster).accepted
    assert sent(cluster)[3] is commits
    assert TransactionEnd().probe(args, {}, cluster) is ActionStatus.DONE
    assert all(ask(call, cluster).verdict is Verdict.PASS for call in TransactionEnd().proves(args))


def test_what_may_hide_acknowledged_records_is_shown_as_such() -> None:
    _, lost = frozen("transaction-outcome-unknown", "abort")
    assert TransactionEnd().risk_for(lost) is Risk.DATA_LOSS
    assert "if it was committed after all" in TransactionEnd().preview(lost).estimate.max_loss
    for incident in ("transaction-marker-lost", "transaction-late-record"):
        _, args = frozen(incident)
        assert TransactionEnd().risk_for(args) is Risk.ONE_PARTITION
        assert TransactionEnd().preview(args).estimate.max_loss.startswith("none")


def test_where_the_log_does_not_show_the_outcome_the_operator_is_asked() -> None:
    with pytest.raises(RefusedError, match="does not show whether") as refused:
        frozen("transaction-outcome-unknown")
    assert "hides them for good" in (refused.value.hint or "")


def test_a_transaction_that_is_alive_is_not_ended() -> None:
    with pytest.raises(NotApplicable, match="no transaction hangs"):
        frozen("open-transaction")
    cluster, args = frozen("transaction-marker-lost")
    cluster.transactions[NAME] = cluster.transactions[NAME]._replace(status=ONGOING)
    assert [ask(call, cluster).verdict for call in TransactionEnd().guards(args)] == [Verdict.FAIL]


def test_another_transaction_at_the_same_offset_is_not_ended() -> None:
    cluster, args = frozen("transaction-marker-lost")
    cluster.open_batches[TP] = cluster.open_batches[TP]._replace(since_ms=0)
    assert [ask(call, cluster).verdict for call in TransactionEnd().guards(args)] == [Verdict.FAIL]


def test_without_an_answer_nothing_is_known() -> None:
    cluster, args = frozen("transaction-marker-lost")
    cluster.faults.unreadable["zookeeper"] = "down"
    assert TransactionEnd().probe(args, {}, cluster) is ActionStatus.UNKNOWN
