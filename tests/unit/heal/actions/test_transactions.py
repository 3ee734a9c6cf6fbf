"""An open transaction is aborted once, and neither one that has ended nor the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.snapshot.transactions import ONGOING
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.transactions import TransactionAbort, TransactionEnd
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.answer import Verdict
from kfix.heal.model.plan import Risk
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ask

TP = TopicPartition("orders", 0)
NAME = "ledger-writer"


def broken() -> tuple[MemoryCluster, Args]:
    cluster = INCIDENTS["open-transaction"]().cluster
    state = cluster.transactions[NAME]
    seen = {"producer": state.producer, "producer_epoch": state.epoch, "since_ms": state.started_ms}
    return cluster, Args({"transactional_id": NAME, **seen, "timeout_ms": state.timeout_ms})


def changed(cluster: MemoryCluster, **to: Any) -> None:
    cluster.transactions[NAME] = cluster.transactions[NAME]._replace(**to)


def committed(cluster: MemoryCluster) -> None:
    changed(cluster, status="CompleteCommit")


def next_one(cluster: MemoryCluster) -> None:
    changed(cluster, started_ms=cluster.transactions[NAME].started_ms + 1)


def restarted(cluster: MemoryCluster) -> None:
    changed(cluster, epoch=cluster.transactions[NAME].epoch + 1)


def test_the_transaction_is_aborted_and_the_last_stable_offset_is_free() -> None:
    cluster, args = broken()
    frozen = TransactionAbort().freeze(args, FactReader(cluster))
    assert all(ask(call, cluster).verdict is Verdict.PASS for call in TransactionAbort().guards(frozen))
    assert TransactionAbort().probe(frozen, {}, cluster) is ActionStatus.NOT_STARTED
    assert TransactionAbort().apply(frozen, cluster).accepted
    assert all(ask(call, cluster).verdict is Verdict.PASS for call in TransactionAbort().proves(frozen))
    assert TransactionAbort().probe(frozen, {}, cluster) is ActionStatus.DONE
    assert cluster.stable_end(TP).stable == cluster.stable_end(TP).high_watermark
    # A second request with the same producer id and epoch changes nothing.
    assert not TransactionAbort().apply(frozen, cluster).accepted


@pytest.mark.parametrize("since", [committed, next_one, restarted])
def test_what_is_another_transaction_now_is_not_touched(since: Callable[[MemoryCluster], None]) -> None:
    cluster, args = broken()
    frozen = TransactionAbort().freeze(args, FactReader(cluster))
    since(cluster)
    with pytest.raises(NotApplicable, match="is not open any more"):
        TransactionAbort().freeze(args, FactReader(cluster))
    assert [ask(call, cluster).verdict for call in TransactionAbort().guards(frozen)] == [Verdict.FAIL]


def test_while_the_coordinator_writes_the_markers_the_change_is_in_progress() -> None:
    cluster, args = broken()
    changed(cluster, status="PrepareAbort", epoch=args.number("producer_epoch") + 1)
    assert TransactionAbort().probe(args, {}, cluster) is ActionStatus.IN_PROGRESS


def test_without_a_record_or_an_answer_nothing_is_known() -> None:
    cluster, args = broken()
    cluster.faults.unreadable["zookeeper"] = "down"
    assert TransactionAbort().probe(args, {}, cluster) is ActionStatus.UNKNOWN
    del cluster.faults.unreadable["zookeeper"], cluster.transactions[NAME]
    assert TransactionAbort().probe(args, {}, cluster) is ActionStatus.UNKNOWN


def test_a_producer_without_a_name_is_refused() -> None:
    cluster, args = broken()
    with pytest.raises(RefusedError, match="is unknown"):
        TransactionAbort().freeze(args.with_(transactional_id=""), FactReader(cluster))


# A hanging transaction is ended with the outcome of its coordinator, and never one that is alive.


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
