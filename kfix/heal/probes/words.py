"""How a reading is put into words: the same for every probe."""

from __future__ import annotations

from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import NO_LEADER, PartitionView


def state_words(reading: PartitionReading) -> str:
    state = reading.state
    if state is None:
        return "state unknown" + (f" ({'; '.join(reading.errors)})" if reading.errors else "")
    leader = "none" if state.leader == NO_LEADER else str(state.leader)
    return f"leader {leader}, epoch {state.leader_epoch}, ISR {list(state.isr)}, registered {_registered(reading)}"


def view_words(broker: int, view: PartitionView) -> str:
    return f"broker {broker} reports leader {view.leader} epoch {view.leader_epoch}"


def saving_words(brokers: tuple[int, ...]) -> str:
    """How records that the leader lacks are saved: a log is truncated to the leader's when its broker starts."""
    whose = f"broker {brokers[0]}" if len(brokers) == 1 else f"any of brokers {', '.join(map(str, brokers))}"
    return f"before {whose} starts, copy its log directory, since it truncates its log to the leader's"


def gaps(reading: PartitionReading, unknown: str) -> str:
    """The errors of the sources that failed; `unknown` where none did and there is no value."""
    return "; ".join(reading.errors) or unknown


def _registered(reading: PartitionReading) -> str:
    return "unknown" if reading.registered is None else str(sorted(reading.registered))
