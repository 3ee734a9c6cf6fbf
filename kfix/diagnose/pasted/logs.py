"""Logs of brokers, controllers and clients, in the wordings of a post-mortem (`diagnose/brokerlog`) and of `signs`.

The last entry about a broker or a partition counts, by its epoch or its time: a text may hold the logs of several
brokers one after the other.
"""

from __future__ import annotations

import re
from typing import Final

from kfix.core.events import LogStatement
from kfix.core.numbers import LARGEST_INT32, broker_id
from kfix.core.snapshot.snapshot import PartitionView, TopicPartition
from kfix.diagnose.brokerlog.lines import Entry, LogClock
from kfix.diagnose.brokerlog.reading import by_logger, interpret
from kfix.diagnose.pasted import signs
from kfix.diagnose.pasted.clients import NAME as CLIENT
from kfix.diagnose.pasted.clients import client_error, named
from kfix.diagnose.pasted.entries import LogEntry, is_trace, log_entry
from kfix.diagnose.pasted.gathered import DELETED, OF_ALL, BadRowError, ComplaintKey, Gathered, partition_view
from kfix.diagnose.pasted.lines import PastedLine

NAME: Final = "broker log"
_NO_LEADER: Final = -1
#: How a broker names itself; a client does not.
_SELF: Final = re.compile(
    r"\[(?!Consumer|Producer|AdminClient)(?:KafkaApi-|[A-Z]\w+(?: \S+)??[ =])"
    r"(?:(?:\w*[iI]d|broker)=)?(?P<broker>\d{1,9})\b"
)
_REGISTERED: Final = re.compile(r"Registered broker (?P<broker>\d+) at path /brokers/ids/")
_ACTIVE: Final = re.compile(r"Currently active brokers in the cluster: \w*\(?(?P<brokers>[\d, ]*)")
_PLACED: Final = re.compile(
    r"assigned replicas are \[(?P<replicas>[\d, ]*)\], live brokers are \[(?:Set\()?(?P<live>[\d, ]*)\)?\]"
)
_SHRINKS: Final = re.compile(
    r"\[Partition (?P<tp>\S+-\d+) broker=(?P<broker>\d+)\] Shrinking ISR from (?P<old>[\d,]+) to (?P<new>[\d,]*)"
)
_EXPANDS: Final = re.compile(
    r"\[Partition (?P<tp>\S+-\d+) broker=\d+\] (?:Expanding ISR from \S+ to|ISR updated(?: from AlterIsr)? to) "
    r"\[?(?P<isr>[\d, ]+)"
)
_FETCHES: Final = re.compile(r"\[ReplicaFetcherManager on broker (?P<broker>\d+)\] Added fetcher to broker ")
_FETCHED: Final = re.compile(r"([\w.-]{1,249}-\d{1,9}) -> ")
#: An exception of a client that is pasted without its entry.
_THROWN: Final = re.compile(
    r"(?:[\w.]+: )?KafkaError\{|"
    r"(?:Exception in thread \"[^\"]*\" )?(?:java\.lang\.OutOfMemoryError: |"
    r"org\.apache\.kafka\.(?:common|common\.errors|clients\.\w+)\.\w+Exception\b|kafka\.common\.\w+: )"
)
_OF_LIBRDKAFKA: Final = re.compile(r"(?:[\w.]+: )?KafkaError\{")
#: An exception in a stack trace; the last one is the cause of those above it.
_CAUSE: Final = re.compile(r"^(?:Caused by: )?(?:[a-z]\w*\.)+([A-Z][\w$]*(?:Exception|Error)\b.*)", re.MULTILINE)
#: Elections of controllers; this many within minutes mean that no controller lasts.
_UNSTEADY: Final = 4
_WITHIN: Final = 600.0
#: This many removals of members within that time mean that the group does not settle.
_REMOVALS: Final = 3
#: Seconds within which two entries are about one removal.
_SAME: Final = 1.0
#: A follower prints an error every second while it lasts, also for a moment when a topic is created or deleted. A
#: broker that does not start prints its error as the last one of each attempt.
_REPEATED: Final = frozenset({"fetch refused", "cluster id", "broker id", "controllers"})
_PATIENCE: Final = 10.0
#: A Java consumer keeps a connection of its own to its coordinator, whose number is this largest one less the broker's.
_PSEUDO: Final = LARGEST_INT32 >> 1
#: Kinds of errors that clients report.
_OF_CLIENTS: Final = frozenset({"expired", "no metadata"})
#: Most characters of a name in a line.
_LONGEST_DETAIL: Final = 200
#: Most texts of entries that are kept to notice repetitions.
_MOST_SEEN: Final = 50_000


class LogFormat:
    """Reads entries. A partition's entries count only if no description or znode shows it: a log is about the past."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._wordings = by_logger()
        self._clock = LogClock("UTC")
        self._open: LogEntry | None = None
        self._partitions: dict[TopicPartition, tuple[tuple[int, float, int], PartitionView, PastedLine]] = {}
        self._seen: set[int] = set()
        self._up: dict[int, tuple[tuple[float, int], bool, PastedLine]] = {}
        self._writers: dict[tuple[str, str], set[int]] = {}
        self._actives: list[tuple[tuple[int, ...], LogEntry]] = []
        self._last: dict[str, float] = {}
        self._unplaced: set[tuple[tuple[str, str], ComplaintKey]] = set()
        self._elected: dict[tuple[int, int], tuple[float, PastedLine]] = {}
        self._isrs: dict[str, tuple[int, LogEntry]] = {}
        self._removed: dict[str, list[tuple[float, PastedLine, str]]] = {}
        self._rebalances: dict[str, dict[float, PastedLine]] = {}
        self._stabilized = False

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line begins an entry, or continues the one above."""
        entry = log_entry(line, self._clock)
        if entry is None and (self._open is None or _OF_LIBRDKAFKA.match(line.text)) and _THROWN.match(line.text):
            entry = LogEntry(line, -1.0, "ERROR", line.text.removeprefix("cimpl.KafkaException: "), "")
        if entry is not None:
            self.end_block()
            self._open = entry
            return True
        if self._open is None or not (is_trace(line.text) or self._open.unfinished):
            self.end_block()
            return False
        self._open = self._open.with_more(line.text)
        return True

    def end_block(self) -> None:
        """Reads the entry that is open: its stack trace ends here."""
        entry, self._open = self._open, None
        if entry is None:
            return
        node = entry.line.node or entry.line.file
        self._last[node] = max(entry.at, self._last.get(node, -1.0))
        if broker := _SELF.search(entry.text):
            self._writers.setdefault(_writer(entry.line), set()).add(int(broker["broker"]))
            # It runs, so errors of others before that no longer count.
            self._gathered.settle("unreachable", broker["broker"], entry.line, entry.at)
        if signs.is_quiet(entry.line.text):
            # A client's exception below another program's entry; a broker's own entry says whether it matters.
            first, _, below = entry.text.partition("\n")
            entry = entry._replace(text=below)
            known = _THROWN.match(below) is not None and _SELF.search(first) is None and self._read(entry)
        else:
            known = self._read(entry)
        if not known:
            self._gathered.skip(entry.line, entry.level)
            return
        if (mark := hash(entry.line.text)) in self._seen:
            self._gathered.repeat(entry.line)
        elif len(self._seen) < _MOST_SEEN:
            self._seen.add(mark)

    def _read(self, entry: LogEntry) -> bool:
        gathered = self._gathered
        # A post-mortem reads an entry without its stack trace.
        first = Entry(entry.at, entry.level, entry.text.partition("\n")[0], entry.logger, entry.line.number)
        statement = interpret(first, self._wordings, entry.line.where)
        if statement is not None:
            self._add(statement, entry)
        # The logger of a broker shows whose entry it is.
        whole = f"{entry.text}\nat {entry.logger}" if entry.logger.startswith("kafka.") else entry.text
        sign = next(signs.signs_in(signs.SERVER, whole), None)
        if sign is not None:
            self._sign(*sign, entry)
        if registered := _REGISTERED.search(entry.text):
            self._note_up(int(registered["broker"]), entry, up=True)
        elif active := _ACTIVE.search(entry.text):
            self._actives.append((_ids(active["brokers"]), entry))
        of_broker = bool(statement is not None or sign or registered)
        # What a client waited for in vain may be below the error that it got.
        of_client = (not of_broker or (sign is not None and sign[0] in _OF_CLIENTS)) and client_error(entry, gathered)
        if of_broker or of_client:
            gathered.formats[NAME if of_broker else CLIENT] += 1
        return any((self._isr(entry), self._member(entry), self._ends(entry), of_broker, of_client))

    def _sign(self, kind: str, found: re.Match[str], entry: LogEntry) -> None:
        parts = {key: value or "" for key, value in found.groupdict().items()}
        name = parts.get("tp") or ""
        if parts.get("topic"):
            name = f"{parts['topic']}-{parts['partition']}"
        if kind == "offline":
            self._offline(name, entry)
            return
        broker = broker_id(parts.get("broker", ""))
        if broker is not None and broker > _PSEUDO:
            broker = LARGEST_INT32 - broker
        own = self._own(entry) if "broker" not in parts else -1 if broker is None else broker
        detail = parts.get("detail", "")
        if kind == "stopped" and (causes := _CAUSE.findall(entry.text)):
            detail += f": {causes[-1]}" if causes[-1] not in detail and detail not in causes[-1] else ""
        detail = detail[:_LONGEST_DETAIL].strip()
        if " " not in detail and "/" not in detail:
            detail = detail.rpartition(".")[2]  # The package of an exception.
        key = self._gathered.complain(kind, name, -1, entry.line, at=entry.at, broker=own, detail=detail)
        if own < 0 and "broker" not in parts:
            self._unplaced.add((_writer(entry.line), key))

    def _own(self, entry: LogEntry) -> int:
        found = _SELF.search(entry.text)
        return int(found["broker"]) if found is not None else -1

    def _ends(self, entry: LogEntry) -> bool:
        """Returns whether the entry shows that a fault has ended."""
        found = dict(signs.signs_in(signs.ENDS, entry.text))
        for kind, match in found.items():
            subject = self._ended(kind, match, entry)
            if subject or kind != "group":
                self._gathered.settle(kind, subject, entry.line, entry.at)
                if kind == "group":
                    for about in ("slow poll", "rebalancing"):
                        self._gathered.settle(about, subject, entry.line, entry.at)
        return bool(found)

    def _ended(self, kind: str, found: re.Match[str], entry: LogEntry) -> str:
        """Returns what works again: a group, a broker by its id or its node, "" for the whole cluster."""
        if kind == "group":
            return named(signs.GROUP, entry.text)
        own = self._own(entry)
        named_broker = found.groupdict().get("broker") or (str(own) if own >= 0 else "")
        return "" if kind in OF_ALL else named_broker or entry.line.node or entry.line.file

    def _offline(self, name: str, entry: LogEntry) -> None:
        """Adds a partition for which no leader was found; its trace may name the replicas and the live brokers."""
        topic, _, partition = name.rpartition("-")
        placed = _PLACED.search(entry.text)
        replicas = _ids(placed["replicas"]) if placed is not None else ()
        if placed is not None and self._gathered.registered is None:
            self._gathered.registered = _ids(placed["live"])
        self._state(TopicPartition(topic, int(partition)), partition_view(_NO_LEADER, replicas, ()), entry, -1)

    def _state(self, tp: TopicPartition, view: PartitionView, entry: LogEntry, epoch: int) -> None:
        old = self._partitions.get(tp)
        if view.leader >= 0:
            self._gathered.settle("fetch refused", str(tp), entry.line, entry.at)
        # An entry without an epoch is about the newest epoch: it is as new as its time.
        order = (epoch, entry.at, entry.line.number)
        if old is not None:
            if 0 <= epoch < old[0][0] or (min(epoch, old[0][0]) < 0 and order[1:] < old[0][1:]):
                return
            view = view._replace(isr=view.isr or (old[1].isr if view.leader < 0 else ()))
            order = (max(epoch, old[0][0]), entry.at, entry.line.number)
        self._partitions[tp] = (order, view, entry.line)

    def _add(self, statement: LogStatement, entry: LogEntry) -> None:
        for event in statement.events:
            kind = event.key.partition(":")[0]
            if event.broker is not None and kind in {"up", "gone"}:
                self._note_up(event.broker, entry, up=kind == "up")
        for broker, seen in statement.brokers:
            if seen.leader != broker:
                self._note_up(broker, entry, up=False)
            elif not any(event.key.startswith("up:") for event in statement.events):
                self._note_up(broker, entry, up=True)
        if statement.controller is not None:
            self._gathered.controller = statement.controller.leader
            self._elected.setdefault((statement.controller.leader, statement.controller.epoch), (entry.at, entry.line))
        if statement.deleted is not None:
            topic, _, until = statement.deleted
            self._gathered.settle(DELETED, topic, entry.line, until)
        for tp, observed in statement.partitions:
            if observed.leader >= _NO_LEADER:
                view = partition_view(observed.leader, (), observed.isr or (), epoch=observed.epoch)
                self._state(tp, view, entry, observed.epoch)

    def _isr(self, entry: LogEntry) -> bool:
        """Notes which replicas left the ISR of a partition or failed to follow, and which are back.

        Returns whether the entry shows any.
        """
        if shrinks := _SHRINKS.search(entry.text):
            away = sorted(set(_ids(shrinks["old"])) - set(_ids(shrinks["new"])))
            detail = f"ISR {shrinks['old']} became {shrinks['new']}"
            for broker in away:
                self._gathered.complain("shrunk", shrinks["tp"], -1, entry.line, at=entry.at, broker=broker,
                                        detail=detail)  # fmt: skip
        elif expands := _EXPANDS.search(entry.text):
            isr = _ids(expands["isr"])
            self._isrs[expands["tp"]] = (len(isr), entry)
            for broker in isr:
                self._gathered.settle("shrunk", f"{expands['tp']} {broker}", entry.line, entry.at)
                self._gathered.settle("unreachable", str(broker), entry.line, entry.at)
        elif held := signs.HELD.search(entry.text):
            for broker in sorted(set(_ids(held["replicas"])) - set(_ids(held["isr"]))):
                self._gathered.complain("shrunk", f"{held['topic']}-{held['partition']}", -1, entry.line, at=entry.at,
                                        broker=broker, detail=f"the ISR is {held['isr']}")  # fmt: skip
        elif added := _FETCHES.search(entry.text):
            for tp in _FETCHED.findall(entry.text):
                self._gathered.settle("fetch failed", f"{tp} {added['broker']}", entry.line, entry.at)
        else:
            return False
        return True

    def _member(self, entry: LogEntry) -> bool:
        """Notes a rebalance, its end, and which member was removed from its group since it did not answer or poll."""
        rebalances = signs.REBALANCES.search(entry.text)
        if rebalances is not None:
            self._rebalances.setdefault(rebalances["group"], {})[entry.at] = entry.line
        elif settled := named(signs.SETTLED, entry.text):
            self._stabilized = True
            self._gathered.settle("rebalancing", settled, entry.line, entry.at)
            return True
        found = signs.MEMBER_FAILED.search(entry.text) if rebalances or "has failed, removing" in entry.text else None
        if found is None:
            return rebalances is not None
        group, why = found["group"] or found["g"], found["reason"] or f"member {found['member']} has failed"
        self._removed.setdefault(group, []).append((entry.at, entry.line, why))
        return True

    def _note_up(self, broker: int, entry: LogEntry, *, up: bool) -> None:
        order = (entry.at, entry.line.number)
        if broker not in self._up or order >= self._up[broker][0]:
            self._up[broker] = (order, up, entry.line)

    def finish(self) -> None:
        """Adds the last state of each broker and partition, and the broker behind an error without an id."""
        self._end_transient()
        self._end_min_isr()
        self._finish_brokers()
        for tp, ((_, at, _), view, line) in self._partitions.items():
            if not self._gathered.is_deleted(tp.topic, at, line.number):
                self._finish_partition(tp, view, line)
        self._finish_elections()
        self._finish_groups()
        for source, key in self._unplaced:
            writers = self._writers.get(source, set())
            if len(writers) == 1 and key in self._gathered.complaints:
                self._place(key, min(writers))

    def _finish_brokers(self) -> None:
        """Notes who is up: a controller that is new lists the brokers, and saw none of the others leave."""
        gathered = self._gathered
        for brokers, entry in self._actives:
            for broker in (*brokers, *self._up):
                self._note_up(broker, entry, up=broker in brokers)
        refusing = {error.broker for error in gathered.lasting() if error.about == "unreachable"}
        for broker, (_, up, line) in self._up.items():
            if up and broker not in refusing:
                gathered.say_alive(broker, f"registered last ({line.where})")
            elif not up:
                gathered.say_dead(broker, f"was gone last ({line.where})")
                gathered.complain("gone", "", -1, line, broker=broker)

    def _place(self, key: ComplaintKey, broker: int) -> None:
        """Adds the only broker that writes this log to its error, and to what ended it."""
        error = self._gathered.complaints[key]
        self._gathered.complaints[key] = error._replace(broker=broker)
        if end := self._gathered.settled.get((error.about, error.node)):
            self._gathered.settled.setdefault((error.about, str(broker)), end)

    def _end_transient(self) -> None:
        """Ends the errors that a node prints again and again while they last, where its log continues without them."""
        for key, error in self._gathered.complaints.items():
            # One that has just begun is an ordinary one, and a consumer that was removed explains one.
            slow = ("slow poll", error.name, -1, -1, error.node) in self._gathered.complaints
            if error.about == "rebalancing" and (slow or (error.at >= 0 and error.times == 1)):
                self._gathered.ended.add(key)
        writers: dict[str, set[int]] = {}
        for (file, node), ids in self._writers.items():
            writers.setdefault(node or file, set()).update(ids)
        for key, error in self._gathered.complaints.items():
            lasts = self._last.get(error.node, -1.0) - error.at <= _PATIENCE
            if error.about in _REPEATED and not lasts and len(writers.get(error.node, ())) <= 1:
                self._gathered.ended.add(key)

    def _end_min_isr(self) -> None:
        """Ends the errors about partitions whose ISR grew to the minimum later."""
        for error in self._gathered.complaints.values():
            size, entry = self._isrs.get(error.name, (0, None))
            if error.about == "min isr" and entry is not None and size >= _ids(error.detail)[-1]:
                self._gathered.settle("min isr", error.name, entry.line, entry.at)

    def _finish_partition(self, tp: TopicPartition, view: PartitionView, line: PastedLine) -> None:
        gathered, shown = self._gathered, self._gathered.read.get(tp)
        if shown is not None:
            if view.leader < 0 <= shown.view.leader:
                gathered.complain("once leaderless", str(tp), -1, line)
        elif view.leader >= 0 and not view.isr:
            return  # A follower logs its leader, not the ISR.
        elif not (view.isr or view.replicas):
            gathered.complain("offline", str(tp), -1, line)
        else:
            try:
                gathered.partition(tp, view, line, NAME)
            except BadRowError as error:
                gathered.broken(error, line)

    def _finish_elections(self) -> None:
        """Notes controllers that are elected again and again within minutes, more often than restarts explain."""
        elected = sorted(self._elected.values(), key=lambda each: each[0])
        for first, last in zip(elected, elected[_UNSTEADY - 1 :], strict=False):
            if last[0] - first[0] <= _WITHIN:
                detail = f"{_UNSTEADY} elections within {last[0] - first[0]:.0f} s"
                self._gathered.complain("unsteady", "", -1, last[1], detail=detail)
                return

    def _finish_groups(self) -> None:
        """Notes groups whose coordinator removes members again and again, which no deployment explains.

        Notes groups, too, whose last rebalance lasts, or is not the only one, if the text shows ends of rebalances.
        """
        for group, begun in self._rebalances.items() if self._stabilized else ():
            at = max(begun)
            lasts = self._last[begun[at].node or begun[at].file] - at > _PATIENCE
            if len(begun) > 1 or lasts:
                detail = f"{len(begun)} began in this text" if len(begun) > 1 else ""
                self._gathered.complain("rebalancing", group, -1, begun[at], at=at, detail=detail)
        for group, removed in self._removed.items():
            apart: list[tuple[float, PastedLine, str]] = []
            for each in sorted(removed, key=lambda each: each[0]):
                if not apart or each[0] - apart[-1][0] > _SAME:
                    apart.append(each)
            for first, last in zip(apart, apart[_REMOVALS - 1 :], strict=False):
                if last[0] - first[0] <= _WITHIN:
                    seconds = f"{last[0] - first[0]:.0f} s"
                    detail = f"{_REMOVALS} members were removed within {seconds}; the last reason is: {last[2]}"
                    self._gathered.complain("storm", group, -1, last[1], at=last[0], detail=detail)
                    break


def _writer(line: PastedLine) -> tuple[str, str]:
    """Returns what distinguishes the logs of several nodes: the file, and the prefix of the line."""
    return line.file, line.node


def _ids(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d{1,9}", text))
