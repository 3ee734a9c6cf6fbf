"""The additional content of a pasted text: which lines were read, and signs of which brokers are alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

#: A topic and the number of a partition; equals the `TopicPartition` of a snapshot.
Key = tuple[str, int]


class Complaint(NamedTuple):
    """An error of a tool, a client, a broker or a controller in a pasted text.

    `about` is the kind of fault (`kfix_diagnostics/sources/_logged.py` has them all) and `name` its object: a group, a
    topic, a partition. `code` is Kafka's error code, -1 if the text names none; `text` is the line, `line` its number,
    and `where` its file and number. `at` is its time in seconds since the epoch, -1 if it has none. `broker` is the
    broker at fault, -1 if the text names none, and `node` the pod, host or file of the line, "" if none is; `detail` is
    a further name in the line, such as a directory.
    """

    about: str
    name: str
    code: int
    line: int
    text: str
    at: float = -1.0
    broker: int = -1
    detail: str = ""
    where: str = ""
    node: str = ""
    times: int = 1


class TwoRows(NamedTuple):
    """A partition about which two outputs of a text contradict each other; each of `earlier` and `later` is what one
    shows, and ends with `used` if the diagnosis rests on it.
    """

    partition: Key
    earlier: str
    later: str


@dataclass(frozen=True, slots=True)
class PastedText:
    """Counts, errors and signs of a text.

    - `formats`: {format: number of lines}; `unused`: the same for tools whose output shows nothing to judge
    - `skipped`: lines of no known format; `repeated`: lines that repeat an earlier one; the first of each is kept
    - `registered`: the list of live brokers if the text has one (None: it has none)
    - `alive`, `dead`: {broker: sign of it} from lines about one broker; a sign continues the sentence "broker 3 ..."
    - `observers`: replicas that join no ISR (Confluent); `deleting`: topics that are marked for deletion
    - `partial`: why the text may leave partitions out, "" if it shows everything that it describes
    """

    formats: Mapping[str, int] = field(default_factory=dict)
    unused: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0
    first_skipped: str = ""
    repeated: int = 0
    first_repeated: str = ""
    two_rows: tuple[TwoRows, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    registered: tuple[int, ...] | None = None
    alive: Mapping[int, str] = field(default_factory=dict)
    dead: Mapping[int, str] = field(default_factory=dict)
    elr: Mapping[Key, tuple[int, ...]] = field(default_factory=dict)
    last_known_elr: Mapping[Key, tuple[int, ...]] = field(default_factory=dict)
    observers: Mapping[Key, tuple[int, ...]] = field(default_factory=dict)
    deleting: frozenset[str] = frozenset()
    partial: str = ""
