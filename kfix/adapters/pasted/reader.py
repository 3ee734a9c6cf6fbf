"""Reads a pasted text: each line is given to the formats until one takes it, so that formats may be mixed.

A line of no format is counted and never spoils the rest. The text is one view of unknown age; the diagnosis rests on it
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from kfix import __version__
from kfix.adapters.pasted.clients import ClientFormat
from kfix.adapters.pasted.consumer_groups import ConsumerGroupsFormat
from kfix.adapters.pasted.describe import DescribeFormat
from kfix.adapters.pasted.errors import LEADER_ERRORS
from kfix.adapters.pasted.gathered import BadRowError, Gathered
from kfix.adapters.pasted.kcat import KcatFormat
from kfix.adapters.pasted.lines import PastedLine, pasted_lines
from kfix.adapters.pasted.log_dirs import LogDirsFormat
from kfix.adapters.pasted.logs import LogFormat
from kfix.adapters.pasted.quorum import QuorumFormat
from kfix.adapters.pasted.unused import UnusedFormat
from kfix.adapters.pasted.zookeeper_shell import ZooKeeperFormat
from kfix.errors import InvalidFileError
from kfix.model.cluster.pasted import PastedText
from kfix.model.cluster.snapshot import BrokerView, ClusterIdentity, Group, Snapshot, Source
from kfix.wording import several

NO_BROKER_LIST: Final = "the text has none"
HINT: Final = (
    "kfix reads `kafka-topics --describe`, `kcat -L`, sessions of the ZooKeeper shell, `kafka-consumer-groups`, "
    "`kafka-metadata-quorum`, `kafka-log-dirs`, and logs of brokers and clients; a snapshot of kfix ends in .json"
)
_TOPICS_SHOWN: Final = 3
_BROKERS: Final = "brokers"


class PastedFormat(Protocol):
    """One family of formats. `take` may keep a row open that a wrap has split; `finish` ends it."""

    name: str

    def take(self, line: PastedLine) -> bool: ...

    def finish(self) -> None: ...


def parse_pasted(text: str, name: str, taken_at: float) -> Snapshot:
    """Returns the snapshot of a text; `name` is its file.

    Raises `InvalidFileError` where nothing in it can be judged, with `name:line` for every row that is broken.
    """
    gathered = gather(text)
    if not gathered.anything:
        raise InvalidFileError(tuple(_nothing(gathered, name)), hint=HINT)
    return _snapshot(gathered, name, taken_at)


def gather(text: str) -> Gathered:
    """Returns what every format has read of the text."""
    gathered = Gathered()
    formats = _formats(gathered)
    for line in pasted_lines(text):
        _give(line, formats, gathered)
    # The log comes last: it only adds partitions that nothing else shows.
    for each in sorted(formats, key=lambda each: isinstance(each, LogFormat)):
        each.finish()
    return gathered


def _formats(gathered: Gathered) -> tuple[PastedFormat, ...]:
    # Lines of logs hold words of descriptions, so descriptions come late.
    return (
        ZooKeeperFormat(gathered),
        LogFormat(gathered),
        LogDirsFormat(gathered),
        QuorumFormat(gathered),
        KcatFormat(gathered),
        ConsumerGroupsFormat(gathered),
        ClientFormat(gathered),
        DescribeFormat(gathered),
        UnusedFormat(gathered),
    )


def _give(line: PastedLine, formats: tuple[PastedFormat, ...], gathered: Gathered) -> None:
    # Most lines of long texts are rows, which no other format has to look at.
    row = line.text.startswith(("Topic:", "Partition:"))
    for each in sorted(formats, key=lambda each: not isinstance(each, DescribeFormat)) if row else formats:
        try:
            taken = each.take(line)
        except BadRowError as error:
            gathered.broken(error, line)
            taken = True
        if taken:
            if not isinstance(each, UnusedFormat):
                gathered.formats[each.name] += 1
            return
    gathered.skipped.append(line)


def _nothing(gathered: Gathered, name: str) -> list[str]:
    if gathered.problems:
        return [f"{name}:{problem}" for problem in gathered.problems]
    known = gathered.formats | gathered.unused
    if not known:
        return [f"{name}:1: no partition in this text"]
    named = ", ".join(f"{tool} ({several(lines, 'line')})" for tool, lines in sorted(known.items()))
    return [f"{name}:1: no partition and no error in this text, only output of {named}"]


def _snapshot(gathered: Gathered, name: str, taken_at: float) -> Snapshot:
    # An assignment alone shows neither leader nor ISR, so it only completes a partition that has a state.
    partitions = {
        tp: read.view._replace(replicas=gathered.assigned[tp].replicas)
        if not read.view.replicas and tp in gathered.assigned
        else read.view
        for tp, read in gathered.read.items()
    }
    # A list of brokers that is cut off does not show who is dead.
    alive = (gathered.listed or {}) if _BROKERS not in gathered.short else {}
    endpoints = gathered.endpoints | (gathered.listed or {})
    view = BrokerView(gathered.view_of, gathered.controller, alive, {}, partitions)
    made = Snapshot(
        taken_at=taken_at,
        kfix=__version__,
        cluster=ClusterIdentity(gathered.cluster_id, gathered.mode),
        sources=tuple(_sources(gathered, name)),
        views={gathered.view_of: view},
        topic_configs=gathered.configs,
        groups=tuple(Group(name, (), state) for name, state in sorted(_groups(gathered).items())),
        reassignments=gathered.moves,
        origin=name,
        stated_partitions=gathered.stated,
        pasted=_pasted(gathered),
    )
    return replace(made, addresses=endpoints)


def _groups(gathered: Gathered) -> dict[str, str]:
    named = {c.name: "" for c in gathered.complaints if c.about == "group" and c.name}
    return named | gathered.groups


def _pasted(gathered: Gathered) -> PastedText:
    return PastedText(
        formats=gathered.formats,
        unused=gathered.unused,
        skipped=len(gathered.skipped),
        first_skipped=gathered.skipped[0].shown if gathered.skipped else "",
        repeated=len(gathered.repeated),
        first_repeated=gathered.repeated[0].shown if gathered.repeated else "",
        two_rows=tuple(gathered.two_rows),
        complaints=tuple(gathered.complaints),
        registered=gathered.registered,
        alive=_signs_of_life(gathered),
        dead=gathered.dead,
        elr=gathered.elr,
        last_known_elr=gathered.last_known_elr,
        observers=gathered.observers,
        deleting=frozenset(gathered.deleting),
    )


def _signs_of_life(gathered: Gathered) -> dict[int, str]:
    listed = gathered.listed or {} if _BROKERS in gathered.short else {}
    return dict.fromkeys(listed, "is in the part of a broker list that the text shows") | gathered.alive


def _sources(gathered: Gathered, name: str) -> list[Source]:
    sources = [Source(f"text {name}", ok=True)]
    if gathered.registered is None and (_BROKERS in gathered.short or not gathered.listed):
        sources.append(Source("list of live brokers", ok=False, error=gathered.short.get(_BROKERS, NO_BROKER_LIST)))
    if gathered.problems:
        count, first = len(gathered.problems), gathered.problems[0]
        rows = "1 row is broken" if count == 1 else f"{count} rows are broken"
        sources.append(Source("part of the text", ok=False, error=f"{rows}; the first is in line {first}"))
    if missing := _missing_rows(gathered):
        sources.append(Source("rest of the description", ok=False, error=missing))
    sources += [
        Source(f"description of {c.name or 'a topic'}", ok=False, error=f"line {c.line}: {c.text[:120]}")
        for c in gathered.complaints
        if c.about == "topic" and c.code not in LEADER_ERRORS
    ]
    return sources


def _missing_rows(gathered: Gathered) -> str:
    """Returns which topics have more partitions than the text shows, "" if it shows all."""
    described = [tp for tp in gathered.read if tp.topic in gathered.stated]
    beyond = [tp for tp in described if tp.partition >= gathered.stated[tp.topic]]
    shown = Counter(tp.topic for tp in described if tp.partition < gathered.stated[tp.topic])
    rows = [_too_few(gathered.stated, shown), gathered.short.get("topics", "")]
    if beyond:
        count = several(gathered.stated[beyond[0].topic], "partition")
        more = f", and {len(beyond) - 1} more rows beyond a stated count" if len(beyond) > 1 else ""
        rows.append(f"the text shows {beyond[0]}, although it states {count} of the topic{more}")
    return "; ".join(filter(None, rows))


def _too_few(stated: Mapping[str, int], shown: Counter[str]) -> str:
    short = [(topic, shown[topic], count) for topic, count in stated.items() if shown[topic] < count]
    if not short:
        return ""
    named = ", ".join(f"{rows} of the {count} partitions of {topic}" for topic, rows, count in short[:_TOPICS_SHOWN])
    more = f", and too few of {len(short) - _TOPICS_SHOWN} more topics" if len(short) > _TOPICS_SHOWN else ""
    return f"the text shows {named}{more}"
