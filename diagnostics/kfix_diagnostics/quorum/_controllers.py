"""How findings about a KRaft quorum name controllers, and the evidence that they share."""

from collections.abc import Iterable, Iterator, Sequence

from kfix.core.diagnosis.finding import Evidence
from kfix.core.snapshot.quorum import ControllerAnswer, QuorumReplica, QuorumView
from kfix.core.wording import ago


def named(controllers: Sequence[ControllerAnswer]) -> str:
    """Returns `controller 100`, or `controllers 100, 101`; the address where the id is unknown."""
    names = [str(each.node) if each.node >= 0 else f"at {each.address}" for each in controllers]
    return f"controller{'' if len(names) == 1 else 's'} {', '.join(names)}"


def controller_rows(quorum: QuorumView) -> Iterator[Evidence]:
    for each in quorum.controllers:
        said = "the active controller" if each.active else each.error or "not the active controller"
        yield Evidence(named([each]), f"DescribeQuorum at {each.address}", said)


def replica_rows(replicas: Iterable[QuorumReplica], quorum: QuorumView, word: str) -> Iterator[Evidence]:
    for each in replicas:
        end = f"log end {each.log_end} of {quorum.high_watermark}" if each.log_end >= 0 else "log end unknown"
        fetched = f"last fetch {ago(each.fetched)} ago" if each.fetched >= 0 else "no fetch since the last election"
        disk = f", directory id {each.directory}" if each.directory else ""
        yield Evidence(f"controller {quorum.leader}", f"{word} {each.node}{disk}", f"{end}, {fetched}")


def applied_row(quorum: QuorumView) -> Iterator[Evidence]:
    """Yields how far the brokers have applied the metadata, and how it moved if that was read twice."""
    if not quorum.offsets:
        return
    now = ", ".join(
        f"broker {b}: {offset}" + (f", then {quorum.later[b]}" if b in quorum.later else "")
        for b, offset in sorted(quorum.offsets.items())
    )
    apart = f" ({quorum.apart:.1f} s apart)" if quorum.later else ""
    yield Evidence("brokers", f"metadata offset applied{apart}", now)
    if quorum.forwarded:
        yield Evidence("brokers", "DescribeQuorum, forwarded to the active controller", quorum.forwarded)


def fenced_row(quorum: QuorumView, broker: int) -> Iterator[Evidence]:
    """Yields what the brokers report about a fenced one; before 4.0 they cannot."""
    if broker in (quorum.fenced or ()):
        yield Evidence("brokers", f"DescribeCluster, broker {broker}", "registered and fenced")
