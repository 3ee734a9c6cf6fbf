"""What a channel has reported: a channel is an output whose readers see only news, such as the mail of a cron job."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Reported:
    """How a finding was last reported: its first day, its severity as a number, its partitions, and whether it is a
    head. `n_partitions` is -1 where the next audit must count it as worse.
    """

    since: date
    rank: int
    n_partitions: int
    head: bool


@dataclass(frozen=True, slots=True)
class Delivery:
    """The state of a channel: its readers have every news of the audits up to `order` (day, began, run).

    `began` is the start of a run in seconds since the epoch. `findings` maps (cluster, key) of the findings that the
    readers know to be open. `day` and `run` name the audit that was delivered, None and "" if there was none.
    """

    order: tuple[date, float, str]
    findings: Mapping[tuple[str, str], Reported]
    day: date | None = None
    run: str = ""
