"""One group's probe: FindCoordinator at a broker, and OffsetFetch at the coordinator that it names."""

from __future__ import annotations

from dataclasses import dataclass

from kfix.core.declared import Int16, Int32


@dataclass(frozen=True, slots=True)
class CoordinatorProbe:
    """FindCoordinator sent to a live broker, then OffsetFetch sent to the coordinator it names.

    `find_error`/`fetch_error` are Kafka's codes (0 no error, 14 loading, 15 not available, 16 not coordinator); None if
    the request was not sent; -1 if no answer came, with the reason in `error`. `made_up`: kfix made the name of the
    group up, because only its coordinator was of interest.
    """

    group: str
    partition: Int32
    find_error: Int16 | None
    coordinator: Int32 | None
    fetch_error: Int16 | None
    committed: int | None = None
    error: str = ""
    seconds: float = 0.0
    made_up: bool = False

    @property
    def answers(self) -> bool:
        return self.find_error == 0 and self.fetch_error == 0

    @property
    def asked_for(self) -> str:
        return "a group that does not exist" if self.made_up else f"group {self.group}"
