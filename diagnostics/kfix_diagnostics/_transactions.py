"""A transaction that does not end: who has it open, until when, and how it ends. For KFX108, KFX116 and KFX122."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import TRANSACTIONS_TOPIC
from kfix.core.derive.hanging import Hanging, hanging
from kfix.core.diagnosis.finding import Cause, Confidence, Evidence, FactValue, Remedy
from kfix.core.numbers import whole_number
from kfix.core.snapshot.snapshot import NEWEST_PROTOCOL, TopicPartition
from kfix.core.snapshot.transactions import ENDING, ONGOING, WITHOUT_LEADER, TransactionState
from kfix.core.timing import CLOCKS_AGREE, TIMING
from kfix.core.wording import ago, utc_text
from kfix_diagnostics._advice import cluster_options, diagnose_group, runbook, servers

#: Coordinators search for expired transactions every 10 s, and then write the markers.
_OVERDUE_SECONDS = 30.0
#: The first version whose brokers list transactions.
_LISTS_TRANSACTIONS = (3, 0)


@dataclass(frozen=True, slots=True)
class TransactionHolder:
    """The producer of an open transaction. `since` is its age in seconds, None if no clock gives one.

    `state` is what its coordinator has logged, None with the reason in `why`. `epoch` is that of the producer id in the
    log of the partition, -1 if it was not read. `outlived`: the producer has begun another transaction since, so the
    open one is a remainder that no coordinator knows.
    """

    producer: int
    epoch: int
    since: float | None
    state: TransactionState | None
    why: str
    outlived: bool = False
    taken_at: float = 0.0

    @property
    def called(self) -> str:
        return self.state.transactional_id if self.state is not None else f"producer id {self.producer}"

    @property
    def age(self) -> str:
        """How long it has been open, in words; without the coordinator's time, by that which its producer set."""
        state = None if self.outlived else self.state
        known = state is not None and state.status == ONGOING and state.started_ms >= 0
        return ago(self.since) + ("" if known else " by the timestamp of its first record")

    @property
    def abortable(self) -> bool:
        """Whether a new producer with the transactional.id aborts it: the coordinator knows it, and it is open."""
        if self.state is None or self.outlived:
            return False
        return self.state.status == ONGOING and self.epoch in (-1, self.state.epoch)

    @property
    def unfinished(self) -> bool:
        return self.state is not None and not self.outlived and self.state.status in ENDING

    @property
    def hanging(self) -> bool:
        """Whether the coordinator has ended it, although it is open in a partition."""
        return self.state is not None and not self.abortable and not self.unfinished

    @property
    def timeout(self) -> float | None:
        return None if self.state is None or not self.abortable else self.state.timeout_ms / 1000

    @property
    def overdue(self) -> bool:
        ends = self.ends_by
        return ends is not None and self.taken_at > ends + _OVERDUE_SECONDS

    @property
    def ends_by(self) -> float | None:
        """The time by this host's clock at which its transaction.timeout.ms has passed; None if that is unknown."""
        known = self.state is not None and self.abortable and self.state.ends_by_ms is not None
        if not known or self.timeout is None or self.since is None:
            return None
        return self.taken_at - self.since + self.timeout

    @property
    def facts(self) -> dict[str, FactValue]:
        """The facts that the runbook refers to; without a transactional.id, it refuses."""
        s = self.state if self.abortable else None
        return {
            "transactional_id": "" if s is None else s.transactional_id,
            "producer": self.producer,
            "producer_epoch": self.epoch if s is None else s.epoch,
            "since_ms": 0 if s is None else s.started_ms,
            "timeout_ms": 0 if s is None else s.timeout_ms,
        }


def holder(case: CaseFile, producer: int, epoch: int, since_ms: int) -> TransactionHolder:
    log = case.snapshot.transaction_log
    state = None if log is None else log.of(producer)
    outlived = log is not None and log.began_another(producer)
    current = state is not None and not outlived and state.status == ONGOING and state.started_ms >= 0
    began = state.started_ms if state is not None and current else since_ms
    why = "" if state is not None else "this snapshot was taken without it" if log is None else log.error
    limit = state.timeout_ms / 1000 + _OVERDUE_SECONDS if state is not None and current else None
    return TransactionHolder(producer, epoch, age_of(case, began, limit), state, why, outlived, case.taken_at)


def age_of(case: CaseFile, at_ms: int, limit: float | None = None) -> float | None:
    """Returns the seconds since a time by the clock of a broker or a producer; None if every known clock is behind it.

    That clock is taken to agree with the clock of ZooKeeper or of the active controller, otherwise with this host's. An
    age above `limit` (seconds) counts only if neither clock gives a lower one (docs/adr/040-an-age-by-two-clocks.md).
    """
    here = case.taken_at - at_ms / 1000
    ages = [age for age in (here - (case.clock_ahead or 0), here) if age >= -CLOCKS_AGREE]
    found = next((age for age in ages if limit is None or age <= limit), next(iter(ages), None))
    return None if found is None else max(0.0, found)


def hanging_in(case: CaseFile) -> dict[TopicPartition, Hanging]:
    """Returns the transactions that hang at last stable offsets: no coordinator has them open."""
    log = case.snapshot.transaction_log
    if log is None:
        return {}
    judged = {tp: hanging(tp, batch, log) for tp, batch in log.held.items()}
    return {tp: found for tp, found in judged.items() if found is not None}


def cause_of(found: TransactionHolder) -> Cause:
    if found.unfinished:
        return Cause("its coordinator has decided the outcome, but has not yet written it to every partition")
    if found.hanging:
        return Cause(
            f"a hanging transaction: for the coordinator of {found.called} it has ended, but the partition has no end "
            "marker for it"
        )
    if found.overdue:
        return Cause("its coordinator has not aborted it, although its timeout has passed")
    early = found.timeout is not None and found.since is not None and found.since < found.timeout / 2
    more = "; or it commits only at long intervals, as some stream processors do (at checkpoints)" if early else ""
    if found.state is None:
        more = f"; its transactional.id is unknown: {found.why}"
    return Cause(
        f"a transactional producer has died or hangs, and has neither committed nor aborted since{more}",
        Confidence.POSSIBLE if early else Confidence.LIKELY,
    )


def state_rows(found: TransactionHolder) -> Iterator[Evidence]:
    state, what = found.state, f"producer id {found.producer}"
    if state is None:
        yield Evidence(f"log of {TRANSACTIONS_TOPIC}", what, "transactional.id unknown")
        return
    yield Evidence(
        f"log of {TRANSACTIONS_TOPIC}",
        what,
        f"transactional.id {state.transactional_id}, {state.status}, epoch {state.epoch}, "
        f"transaction.timeout.ms {state.timeout_ms}",
        found.since,
    )


def ending(found: TransactionHolder, group: str, case: CaseFile, *params: str) -> Iterator[Remedy]:
    """Yields how the transaction ends, safest first. `params` are those of the runbook as `NAME=VALUE`.

    With another `--transaction-grace` than the default, a command may find nothing: it repeats the one of this case.
    """
    if found.unfinished or found.overdue:
        yield Remedy(
            f"Find the coordinator of {found.called}, the leader of its partition of {TRANSACTIONS_TOPIC}, and read "
            "its log: it is waiting for a partition without a leader, hangs, or its clock is wrong",
            f"kfix diagnose {cluster_options(case)}",
        )
        return
    if found.hanging:
        yield Remedy(
            "Waiting does not end it, and a restart only with the next transaction of its producer over the same "
            "partition. kafka-transactions.sh of Kafka 3.0 or newer aborts a hanging "
            "transaction by its producer id and epoch (KIP-664)"
        )
        return
    if found.state is None and WITHOUT_LEADER in found.why:
        yield Remedy(
            f"First restore the leaders of {TRANSACTIONS_TOPIC}: without its coordinator, no transaction ends",
            f"kfix diagnose {cluster_options(case)} --topic {TRANSACTIONS_TOPIC}",
        )
    if found.state is None and lists_transactions(case):
        yield Remedy(
            f"Find the transactional.id of producer id {found.producer}", f"kafka-transactions.sh {servers(case)} list"
        )
    yield Remedy(_start(found))
    yield diagnose_group(case, group, _wait(found), _grace(case))
    if found.abortable:
        abort = runbook(
            case,
            "abort-transaction",
            f"If {found.called} cannot be started again: abort its transaction with a gated runbook. This discards "
            "its uncommitted records, and fences the old producer if it is still alive",
            *params,
        )
        yield replace(abort, command=f"{abort.command}{_grace(case)}")


def _grace(case: CaseFile) -> str:
    grace = case.criteria.transaction_grace
    return "" if grace == TIMING.transaction_grace else f" --transaction-grace {grace:g}"


def _start(found: TransactionHolder) -> str:
    who = (
        "the producer's application again with the same transactional.id"
        if found.state is None
        else f"the application with transactional.id {found.called} again"
    )
    return f"Start {who}: this aborts the transaction within a second, and fences the old producer if it is still alive"


def _wait(found: TransactionHolder) -> str:
    if found.ends_by is None:
        return (
            "Or wait until the brokers abort the transaction after its transaction.timeout.ms (at most 15 minutes, "
            "unless transaction.max.timeout.ms was raised), and diagnose again"
        )
    return (
        f"Or wait: the brokers abort the transaction within 10 s after {utc_text(found.ends_by)} "
        f"(transaction.timeout.ms {ago(found.timeout)}); then diagnose again"
    )


def lists_transactions(case: CaseFile) -> bool:
    """Returns whether every broker is known to have the requests of kafka-transactions.sh."""
    return case.kraft or _oldest_brokers(case) >= _LISTS_TRANSACTIONS


def _oldest_brokers(case: CaseFile) -> tuple[int, int]:
    """Returns the version of the brokers with the oldest software; (0, 0) if that of one is not known."""
    return min(map(_version, case.settings(NEWEST_PROTOCOL).values()), default=(0, 0))


def _version(text: str) -> tuple[int, int]:
    """Returns (3, 0) for `3.0-IV1`, and (0, 0) for what is no version."""
    major, minor, *_ = (*map(whole_number, text.partition("-")[0].split(".")), None, None)
    return (0, 0) if major is None or minor is None else (major, minor)
