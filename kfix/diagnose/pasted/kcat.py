"""`kcat -L` (formerly kafkacat), as text and as JSON (`-J`): it lists the brokers that the asked broker finds alive."""

from __future__ import annotations

import re
from typing import Any, Final

from kfix.core.numbers import LARGEST_PORT, is_int32
from kfix.core.snapshot.snapshot import Endpoint, TopicPartition
from kfix.diagnose.pasted.gathered import BadRowError, Gathered, number, partition_view
from kfix.diagnose.pasted.json_text import json_object
from kfix.diagnose.pasted.lines import PastedLine

NAME: Final = "kcat -L"
_FROM: Final = re.compile(r"Metadata for .*\(from broker (?P<id>-?\d+):(?: \S*?(?P<host>[^\s/]*):\d+)?")
LOOPBACK: Final = re.compile(r"localhost$|127\.|\[?::1\]?$|0\.0\.0\.0$")
_BROKER: Final = re.compile(
    r"\bbroker (?P<id>\d+) at (?P<host>\S+):(?P<port>\d+)(?P<controller> \(controller\))?(?=\s|$)"
)
_TOPIC: Final = re.compile(r'\btopic "(?P<topic>[^"]+)" with (?P<count>\d+) partitions?:(?P<error> Broker: [^\n]*)?')
_ROW: Final = re.compile(
    r"\b[Pp]artition (?P<partition>\d+)(?:,| -) leader:? (?P<leader>-?\d+), replicas: ?\[?(?P<replicas>[\d, ]*)\]?, "
    r"isrs: ?\[?(?P<isr>(?:\d+(?: ?, ?\d+)*)?,?)\]?"
)
#: The first line of a topic as clients in Python print it.
_PYTHON_TOPIC: Final = re.compile(
    r"[Tt]opic:? (?P<topic>[\w.-]+) with (?P<count>\d+) partition(?:s|\(s\))?(?P<error>)$"
)
#: A row of a list without its first line: it is the whole line.
_LOOSE: Final = re.compile(rf"(?:{_BROKER.pattern}|{_TOPIC.pattern}|{_ROW.pattern}(?:, Broker: .*)?)")
_HEAD: Final = re.compile(r"Metadata for |\d{1,9} (?:brokers|topics):$")
#: How a line of the output begins; prose may contain such words, too.
_BEGINS: Final = re.compile(r"Metadata for |\d{1,9} (?:brokers|topics):|broker \d|topic |[Pp]artition \d")
#: Beginnings of rows that a terminal may wrap.
_BEGUN: Final = re.compile(r'\bpartition \d+, leader\b|^topic "|\bbroker \d+ at ')
_UNCLOSED: Final = re.compile(r"\([a-z]*$")
_COUNTS: Final = re.compile(r"(?<!\S)(?P<count>\d{1,9}) (?P<what>brokers|topics):(?=\s|$)")
_UNKNOWN_TOPIC: Final = 3


def _cut_off(text: str) -> bool:
    """Returns whether the last row, topic or broker of a line is not whole."""
    begun = list(_BEGUN.finditer(text))
    if not begun:
        return False
    last = text[begun[-1].start() :]
    return not any(p.match(last) for p in (_ROW, _TOPIC, _BROKER)) or _UNCLOSED.search(last) is not None


def _continues(before: str, text: str, whole: str) -> bool:
    """Returns whether a line continues a row that a terminal has wrapped."""
    if _cut_off(before):
        return not _cut_off(whole)
    return re.match(r",\d", text) is not None or (before.endswith(",") and text[:1].isdigit())


class KcatFormat:
    """Reads rows; several may be on one line, and one may be wrapped.

    The list of brokers counts as complete only below its first line, and only with as many rows as that line states.
    """

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._topic = self._asked = ""
        self._held: PastedLine | None = None
        self._open = False
        #: {brokers or topics: how many the output states}, the names that it has shown, and its list of brokers.
        self._stated: dict[str, int] = {}
        self._shown: dict[str, set[str]] = {}
        self._brokers: dict[int, Endpoint] = {}

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line is of this format. Raises BadRowError for another tool's JSON."""
        if not self._open and _HEAD.match(line.text) is None:
            return self._loose(line)
        self._open = True
        held, self._held = self._held, None
        if held is not None:
            for joint in ("", " "):
                whole = held.text + joint + line.text
                if _continues(held.text, line.text, whole):
                    return self._read(held._replace(text=whole))
            self._read_held(held)
        return self._read(line) if _BEGINS.match(line.text) else self._json(line.text, line)

    def end_block(self) -> None:
        """Reads the last row. Reports a row that is cut off, and stated rows that are missing."""
        held, self._held = self._held, None
        if held is not None:
            self._read_held(held)
        self._end()
        self._open = False

    def _loose(self, line: PastedLine) -> bool:
        if _LOOSE.fullmatch(line.text) or _PYTHON_TOPIC.match(line.text):
            self._gathered.partial = self._gathered.partial or f"{NAME} without its head"
            return self._matches(line)
        return self._json(line.text, line)

    def _end(self) -> None:
        """Reports rows that an output states and does not show: its end was cut off."""
        for what, count in self._stated.items():
            if (shown := len(self._shown.get(what, ()))) != count:
                self._gathered.short[what] = f"the text shows {shown} of {count} {what} of {NAME}"
        self._list(whole="brokers" in self._stated)
        self._stated, self._shown, self._brokers = {}, {}, {}

    def _list(self, *, whole: bool) -> None:
        gathered, found = self._gathered, self._brokers
        gathered.endpoints |= found
        for broker in found:
            gathered.say_alive(broker, "is in the part of a broker list that the text shows")
        if not whole:
            return
        if gathered.listed is not None and gathered.listed.keys() != found.keys():
            gathered.short["brokers"] = "the text has two lists of brokers that differ"
            for broker in gathered.listed.keys() ^ found.keys():
                gathered.alive.pop(broker, None)
        gathered.listed = found

    def _read(self, line: PastedLine) -> bool:
        """Holds back a line that ends with a row, complete or not: the next line may continue its lists."""
        if _ROW.search(line.text) or _cut_off(line.text):
            self._held = line
            return True
        return self._matches(line)

    def _read_held(self, line: PastedLine) -> None:
        if _cut_off(line.text):
            self._gathered.broken(BadRowError(f"a row of {NAME} that is cut off"), line)
        else:
            self._matches(line)

    def _matches(self, line: PastedLine) -> bool:
        patterns = (_FROM, _COUNTS, _BROKER, _TOPIC, _PYTHON_TOPIC, _ROW)
        found = sorted(
            [match for pattern in patterns for match in pattern.finditer(line.text)],
            key=lambda match: match.start(),
        )
        for match in found:
            try:
                self._add(match, line)
            except BadRowError as error:  # Neither the rest of this line nor the next one is lost.
                self._gathered.broken(error, line)
        return bool(found) or self._json(line.text, line)

    def _add(self, match: re.Match[str], line: PastedLine) -> None:
        gathered = self._gathered
        if match.re is _FROM:
            self._end()
            gathered.view_of = number(match["id"], "broker")
            self._asked = match["host"]
        elif match.re is _COUNTS:
            if match["what"] in self._stated:
                self._end()
            self._stated[match["what"]] = int(match["count"])
        elif match.re is _BROKER:
            self._shown.setdefault("brokers", set()).add(match["id"])
            self._broker(match["id"], match["host"], match["port"], line, controller=bool(match["controller"]))
        elif match.re in (_TOPIC, _PYTHON_TOPIC):
            self._topic = match["topic"]
            self._shown.setdefault("topics", set()).add(self._topic)
            gathered.stated[self._topic] = number(match["count"], "partitions")
            if match["error"] and not int(match["count"]):
                gathered.complain("topic", self._topic, _UNKNOWN_TOPIC, line)
        else:
            replicas, isr = (
                tuple(number(n.strip(), k) for n in match[k].split(",") if n.strip()) for k in ("replicas", "isr")
            )
            self._row(match["partition"], match["leader"], replicas, isr, line)

    def _row(
        self, partition: str, leader: str, replicas: tuple[int, ...], isr: tuple[int, ...], line: PastedLine
    ) -> None:
        if not self._topic:
            raise BadRowError("a partition row before any topic")
        tp = TopicPartition(self._topic, number(partition, "partition"))
        self._gathered.partition(tp, partition_view(number(leader, "leader"), replicas, isr), line, NAME)

    def _broker(self, broker: str, host: str, port: str, line: PastedLine, *, controller: bool) -> None:
        at = number(port, "port")
        if at > LARGEST_PORT:
            raise BadRowError(f"port is {at}, wanted at most {LARGEST_PORT}")
        gathered, one = self._gathered, number(broker, "broker")
        self._brokers[one] = Endpoint(host, at)
        had = gathered.endpoints.get(one, self._brokers[one])
        if controller:
            gathered.controller = one
        asked = self._asked if gathered.view_of == one else ""
        if asked and LOOPBACK.match(host) and not LOOPBACK.match(asked):
            other = f" ({had} in another output)" if not LOOPBACK.match(had.host) else ""
            gathered.complain("advertised", "", -1, line, broker=one, detail=f"{host}:{at}{other}")
        elif not LOOPBACK.match(host) and LOOPBACK.match(had.host):
            gathered.detail("advertised", one, f"{had} ({host}:{at} in another output)")
        if not self._open:
            self._list(whole=False)
            self._brokers = {}

    def _json(self, text: str, line: PastedLine) -> bool:
        if '"originating_broker"' not in text:
            return False
        raw = json_object(text)
        if raw is None:
            raise BadRowError("not JSON")
        try:
            self._whole(raw, line)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadRowError(f"not the JSON of {NAME} -J") from error
        return True

    def _whole(self, raw: dict[str, Any], line: PastedLine) -> None:
        gathered = self._gathered
        self._open = True
        if is_int32(raw["originating_broker"]["id"]):
            gathered.view_of = raw["originating_broker"]["id"]
        for broker in raw["brokers"]:
            host, _, port = str(broker["name"]).rpartition(":")
            self._broker(str(broker["id"]), host, port, line, controller=broker["id"] == raw.get("controllerid"))
        self._list(whole=True)
        self._brokers = {}
        for topic in raw["topics"]:
            self._topic = str(topic["topic"])
            gathered.stated[self._topic] = len(topic["partitions"])
            for row in topic["partitions"]:
                replicas, isr = (tuple(number(str(r["id"]), k) for r in row[k]) for k in ("replicas", "isrs"))
                self._row(str(row["partition"]), str(row["leader"]), replicas, isr, line)
