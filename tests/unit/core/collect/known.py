"""What the sources of a snapshot know of a cluster without any answer, for tests of one source."""

from dataclasses import replace
from typing import Any

from kfix.core.collect.options import CollectOptions
from kfix.core.collect.source import Known
from kfix.core.collect.tasks import Brokers, Questions
from kfix.core.ledger import Ledger
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.snapshot import Mode
from kfix.core.target import make_target
from kfix.core.timing import Deadline

_NOTHING = Known(
    brokers=Brokers(Questions(), {}, Deadline.after(5)),
    target=make_target("b:1", None),
    options=CollectOptions(),
    ledger=Ledger(),
    mode=Mode.ZOOKEEPER,
    taken_at=0.0,
    answers={},
    addresses={},
    views={},
    live=frozenset(),
    record=None,
    memory=Memory(),
)


def known(lines: dict[int, Any], **more: Any) -> Known:
    """Returns what sources know with these connections by broker; `more` are fields of it."""
    return replace(_NOTHING, **({"brokers": Brokers(Questions(), lines, Deadline.after(5))} | more))


def failed(after: Known) -> list[tuple[str, str]]:
    """Returns (name, error) of each source that failed."""
    return [(each.name, each.error) for each in after.brokers.questions.sources() if not each.ok]
