"""How a reading is put into words: the same for every probe."""

from __future__ import annotations

from kfix.model.cluster.reading import PartitionReading
from kfix.model.cluster.snapshot import NO_LEADER, PartitionView


def state_words(reading: PartitionReading) -> str:
    state = reading.state
    if state is None:
        return "state unknown" + (f" ({'; '.join(reading.errors)})" if reading.errors else "")
    leader = "none" if state.leader == NO_LEADER else str(state.leader)
    return f"leader {leader}, epoch {state.leader_epoch}, isr {list(state.isr)}, registered {_registered(reading)}"


def view_words(broker: int, view: PartitionView) -> str:
    return f"broker {broker} says leader {view.leader} epoch {view.leader_epoch}"


def _registered(reading: PartitionReading) -> str:
    return "unknown" if reading.registered is None else str(sorted(reading.registered))
