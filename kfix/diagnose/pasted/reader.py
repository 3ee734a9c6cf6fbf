"""Reads a pasted text: it consists of blocks, each of one format, and a line belongs to one block.

A block is recognised by its beginning: a log entry by its layout, a table by its header, a list by its first line. The
command above a block shows whether a filter left rows out. A line of no block is counted and never affects the rest.
The text is one view of unknown age; the diagnosis rests on it alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from kfix import __version__
from kfix.core.derive.grouping import grouped
from kfix.core.errors import InvalidFileError
from kfix.core.snapshot.pasted import PastedText, TwoRows
from kfix.core.snapshot.snapshot import BrokerView, ClusterIdentity, Group, Snapshot, Source
from kfix.core.wording import brokers_named, several, some
from kfix.diagnose.pasted.clients import LEADER_ERRORS
from kfix.diagnose.pasted.clusters import split_clusters
from kfix.diagnose.pasted.commands import PastedCommand, command_of
from kfix.diagnose.pasted.consumer_groups import ConsumerGroupsFormat
from kfix.diagnose.pasted.describe import BY_RECORD, DescribeFormat
from kfix.diagnose.pasted.describe import NAME as DESCRIBE
from kfix.diagnose.pasted.gathered import BadRowError, Gathered
from kfix.diagnose.pasted.kcat import NAME as KCAT
from kfix.diagnose.pasted.kcat import KcatFormat
from kfix.diagnose.pasted.lines import PastedLine, pasted_lines
from kfix.diagnose.pasted.log_dirs import LogDirsFormat
from kfix.diagnose.pasted.logs import LogFormat
from kfix.diagnose.pasted.quorum import QuorumFormat
from kfix.diagnose.pasted.tools import ToolsFormat
from kfix.diagnose.pasted.zookeeper_shell import ZooKeeperFormat

NO_BROKER_LIST: Final = "the text has none"
HINT: Final = (
    "kfix reads `kafka-topics --describe`, `kcat -L`, sessions of the ZooKeeper shell, `kafka-consumer-groups`, "
    "`kafka-metadata-quorum`, `kafka-log-dirs`, and logs of brokers and clients; a snapshot of kfix ends in .json"
)
_OF_KAFKA: Final = "rpk prints no ISR; if the cluster is Kafka, paste `kafka-topics --describe` or `kcat -L`"
_TOPICS_SHOWN: Final = 3
_BROKERS: Final = "brokers"
#: Complaints whose name is a group.
_OF_GROUPS: Final = frozenset({"group", "rebalancing", "unstable"})
#: What a broker answers, which names no leader that the broker takes for dead.
_ANSWERS: Final = frozenset({DESCRIBE, KCAT})
#: Outputs that list partitions, below a header or without one.
_LISTS: Final = _ANSWERS | {BY_RECORD}
#: Most lines of long texts are rows, which no other format has to read.
_DESCRIBED: Final = re.compile(r"(?:Topic|Partition): ?\S+\s+\w+:")


#: How a tool or a runtime begins an error.
_LOUD: Final = re.compile(
    r"(?:Error|ERROR|FATAL|panic):? |Exception in thread |(?:py|aio)?kafka\.(?:exceptions|errors)\.[A-Z]"
)


class PastedFormat(Protocol):
    """One family of formats. `take` may keep a row open that a wrap has split; `end_block` ends it."""

    name: str

    def take(self, line: PastedLine) -> bool: ...

    def end_block(self) -> None: ...


def parse_pasted(text: str, name: str, taken_at: float) -> Snapshot:
    """Returns the snapshot of a text; `name` is its file.

    If the text is about several clusters, the snapshot is of the most faulty one. Raises `InvalidFileError` if nothing
    in it can be judged, with `name:line` for every broken row.
    """
    parts = split_clusters(list(pasted_lines(enumerate(text.splitlines(), 1))))
    read = [gather_lines(part) for part in parts] or [Gathered()]
    worst = max(read, key=lambda each: each.trouble)
    if not worst.anything:
        raise InvalidFileError(tuple(_nothing(worst, name)), hint=_OF_KAFKA if worst.unused else HINT)
    others = tuple(
        Source("another cluster", ok=False, error=f"{part[0].where} and others are about another cluster")
        for part, each in zip(parts, read, strict=False)
        if each is not worst
    )
    made = snapshot_of(worst, name, taken_at)
    return replace(made, sources=(*made.sources, *others))


def gather_lines(lines: Iterable[PastedLine]) -> Gathered:
    """Returns everything that the formats have read in the lines about one cluster."""
    reader = BlockReader(Gathered())
    for line in lines:
        reader.take(line)
    return reader.finish()


class BlockReader:
    """Gives each line to its block; memory does not grow with the number of lines."""

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._logs = LogFormat(gathered)
        self._describe = DescribeFormat(gathered)
        self._quorum = QuorumFormat(gathered)
        self._zookeeper = ZooKeeperFormat(gathered)
        self._groups = ConsumerGroupsFormat(gathered)
        self._tools = ToolsFormat(gathered)
        self._formats: tuple[PastedFormat, ...] = (
            self._zookeeper,
            LogDirsFormat(gathered),
            self._quorum,
            KcatFormat(gathered),
            self._groups,
            self._describe,
            self._tools,
        )

    def take(self, line: PastedLine) -> None:
        """Reads a line: it begins a block, belongs to the open one, or is counted as skipped."""
        if _DESCRIBED.match(line.text):
            self._given(line, (self._describe,))
        elif self._tools.has_row(line):
            self._given(line, (self._tools,))
        elif self._logs.take(line):
            return
        elif (command := command_of(line)) is not None:
            self.end_blocks()
            self._gathered.command = command
            self._zookeeper.take(line)  # The command may contain the path of the znode that it prints.
        elif not self._given(line, self._formats):
            self._gathered.skip(line, "ERROR" if _LOUD.match(line.text) else "")

    def _given(self, line: PastedLine, formats: tuple[PastedFormat, ...]) -> bool:
        for each in formats:
            try:
                taken = each.take(line)
            except BadRowError as error:
                self._gathered.broken(error, line)
                taken = True
            if taken:
                if each is not self._tools:
                    self._gathered.formats[each.name] += 1
                return True
        return False

    def end_blocks(self) -> None:
        """Ends the open blocks: another output follows."""
        self._logs.end_block()
        for each in self._formats:
            each.end_block()
        self._gathered.command = PastedCommand()

    def finish(self) -> Gathered:
        self.end_blocks()
        self._quorum.finish()
        self._groups.finish()
        self._logs.finish()  # Last: a log only adds partitions that nothing else shows.
        _set_aside_foreign(self._gathered)
        _set_aside_list(self._gathered)
        _note_new_id(self._gathered)
        _note_throttles(self._gathered)
        return self._gathered


def _set_aside_foreign(gathered: Gathered) -> None:
    """Sets topics aside whose leaders and replicas are all missing from the list of live brokers.

    A broker names no leader that is dead, so such a description is of another cluster, or of another time.
    """
    live = set(gathered.registered or gathered.listed or ())
    views = grouped((tp.topic, read.view) for tp, read in gathered.read.items() if read.source == DESCRIBE)
    for topic, rows in views.items() if live and _BROKERS not in gathered.short else ():
        led = any(view.leader >= 0 for view in rows)
        if led and live.isdisjoint({broker for view in rows for broker in (*view.replicas, *view.isr)}):
            gathered.foreign.append(topic)
            gathered.stated.pop(topic, None)
    for tp in [tp for tp in gathered.read if tp.topic in gathered.foreign]:
        del gathered.read[tp]


def _set_aside_list(gathered: Gathered) -> None:
    """Sets the list of live brokers aside if it lacks a leader that a broker's answer names.

    One of the two is older than the other or not whole, so the list does not show that the leader is dead.
    """
    listed = tuple(sorted(gathered.registered or gathered.listed or ()))
    answers = {tp: read for tp, read in gathered.read.items() if read.source in _ANSWERS and read.view.leader >= 0}
    lacking = {tp: read for tp, read in answers.items() if read.view.leader not in listed}
    if not listed or not lacking or _BROKERS in gathered.short:
        return
    ids = f"the list of live brokers [{', '.join(map(str, listed))}]"
    gathered.two_rows += [TwoRows(tp, f"{read.words}: used", ids) for tp, read in sorted(lacking.items())]
    first, read = min(lacking.items())
    gathered.short[_BROKERS] = f"it lacks broker {read.view.leader}, which the text names as the leader of {first}"
    gathered.registered = None


def _note_new_id(gathered: Gathered) -> None:
    """Notes that the only running brokers have no replica of the partitions without a leader: their ids are new."""
    down = [read.view for read in gathered.read.values() if read.view.leader < 0]
    offline = [error for error in gathered.complaints.values() if error.about == "offline"]
    up = set(gathered.registered or gathered.alive.keys() - gathered.dead.keys())
    led = any(read.view.leader in up for read in gathered.read.values())
    replicas = {broker for view in down for broker in (view.replicas or view.isr)}
    if led or not (down or offline) or not up or up & replicas or (not replicas and len(up) > 1):
        return
    if len(up) > 1 and not all(view.replicas for view in down):
        return  # A state names the ISR only: the others may be on these brokers.
    where = f"their replicas are on {brokers_named(replicas)}" if replicas else "their replicas are elsewhere"
    line = PastedLine(0, f"broker {min(up)} runs", "")
    gathered.complain("new id", "", -1, line, broker=min(up), detail=where)


def _note_throttles(gathered: Gathered) -> None:
    """Notes topics whose replicas are marked as throttled although no reassignment moves them."""
    moving = {tp.topic for tp in gathered.moves}
    for topic, configs in gathered.configs.items():
        marks = [key for key, value in configs.items() if key.endswith(".replication.throttled.replicas") and value]
        if marks and topic not in moving:
            gathered.complain("throttled", topic, -1, PastedLine(0, f"{topic}: {', '.join(marks)}", ""))


def _nothing(gathered: Gathered, name: str) -> list[str]:
    if gathered.problems:
        return [f"{name}:{problem}" for problem in gathered.problems]
    if gathered.unused:
        return [f"{name}:1: this is output of rpk, the tool of Redpanda: kfix diagnoses Kafka only"]
    known = f", and no error that kfix knows; {gathered.skipped.shown}" if gathered.skipped.worse > 0 else ""
    return [f"{name}:1: no partition in this text{known}"]


def snapshot_of(gathered: Gathered, name: str, taken_at: float) -> Snapshot:
    # An assignment alone shows neither leader nor ISR, so it only completes a partition that has a state.
    partitions = {
        tp: read.view._replace(replicas=gathered.assigned[tp].replicas)
        if not read.view.replicas and tp in gathered.assigned
        else read.view
        for tp, read in gathered.read.items()
    }
    # A truncated list of brokers does not show which brokers are dead.
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
        group_readings=tuple(gathered.readings),
        reassignments=gathered.moves,
        origin=name,
        stated_partitions=gathered.stated,
        pasted=_pasted(gathered),
    )
    return replace(made, addresses=endpoints)


def _groups(gathered: Gathered) -> dict[str, str]:
    named = {c.name: "" for c in gathered.complaints.values() if c.about in _OF_GROUPS and c.name}
    return named | gathered.groups


def _pasted(gathered: Gathered) -> PastedText:
    return PastedText(
        formats=gathered.formats,
        unused=gathered.unused,
        skipped=gathered.skipped.lines,
        first_skipped=gathered.skipped.shown,
        repeated=gathered.repeated.lines,
        first_repeated=gathered.repeated.shown,
        two_rows=tuple(gathered.two_rows),
        complaints=gathered.lasting(),
        registered=gathered.registered,
        alive=_signs_of_life(gathered),
        dead=gathered.dead,
        elr=gathered.elr,
        last_known_elr=gathered.last_known_elr,
        observers=gathered.observers,
        deleting=gathered.deleting,
        partial=_partial(gathered) or _missing_rows(gathered),
    )


def _signs_of_life(gathered: Gathered) -> dict[int, str]:
    whole = gathered.listed is not None and _BROKERS not in gathered.short
    return {b: sign for b, sign in gathered.alive.items() if not (whole and b in (gathered.listed or {}))}


def _partial(gathered: Gathered) -> str:
    """Returns why descriptions may leave rows out: a filter, or rows without the header that states their number."""
    described = {tp.topic for tp, read in gathered.read.items() if read.source in _LISTS}
    bare = sorted(described - gathered.stated.keys())
    if gathered.partial or not bare:
        return gathered.partial
    return f"the text shows rows of {bare[0]} without the header that states how many there are"


def _sources(gathered: Gathered, name: str) -> list[Source]:
    sources = [Source(f"text {name}", ok=True)]
    if gathered.registered is None and (_BROKERS in gathered.short or not gathered.listed):
        sources.append(Source("list of live brokers", ok=False, error=gathered.short.get(_BROKERS, NO_BROKER_LIST)))
    if gathered.foreign:
        why = f"the text lists other live brokers than those of {some(gathered.foreign)}"
        sources.append(Source("another cluster", ok=False, error=why))
    if gathered.problems:
        count, first = len(gathered.problems), gathered.problems[0]
        rows = "1 row is broken" if count == 1 else f"{count} rows are broken"
        sources.append(Source("part of the text", ok=False, error=f"{rows}; the first is in line {first}"))
    if missing := _missing_rows(gathered) or _partial(gathered):
        sources.append(Source("rest of the description", ok=False, error=missing))
    if not gathered.read:
        sources.append(Source("partitions", ok=False, error="the text shows none"))
    if gathered.errors.lines:
        unknown = several(gathered.errors.lines, "error")
        sources.append(
            Source("errors in the text", ok=False, error=f"{unknown} unknown to kfix; {gathered.errors.shown}")
        )
    sources += [
        Source(f"description of {c.name or 'a topic'}", ok=False, error=f"{c.where}: {c.text[:120]}")
        for c in gathered.lasting()
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
