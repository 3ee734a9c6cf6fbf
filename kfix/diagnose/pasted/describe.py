"""`kafka-topics --describe` of every version and vendor, and `kafka-list-topic` of 0.8.

A row is a sequence of `Key: value` pairs that begins with `Topic:` or `Partition:`. Line ends do not matter: terminals
wrap rows, even within a key or a list, and chats put many rows on one line.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.diagnose.pasted.gathered import BadRowError, Gathered, number, partition_view
from kfix.diagnose.pasted.lines import PastedLine

NAME: Final = "kafka-topics --describe"
#: The same output, of ZooKeeper's record instead of a broker's answer.
BY_RECORD: Final = f"{NAME} --zookeeper"
_KEYS: Final = (
    "Adding Replicas",
    "Removing Replicas",
    "AddingReplicas",
    "RemovingReplicas",
    "LiveObservers",
    "Observers",
    "LastKnownElr",
    "MarkedForDeletion",
    "ReplicationFactor",
    "PartitionCount",
    "TopicId",
    "Topic",
    "Partition",
    "Leader",
    "Replicas",
    "Isr",
    "Offline",
    "Elr",
    "Configs",
)
_CANONICAL: Final = {key.lower(): key.replace(" ", "") for key in _KEYS}
# Kafka 0.8 writes the keys in lower case, and Kafka 3 wrote `ISR` for a while.
_KEY: Final = re.compile(rf"(?<![\w.\-])({'|'.join(_KEYS)})\s*:", re.IGNORECASE)
_LIST: Final = re.compile(r"(?P<ids>-?\d+(?:\s*,\s*-?\d+)*)(?:\s+[^\d,\s\-].*)?", re.DOTALL)
_LIST_KEYS: Final = frozenset({"Leader", "Replicas", "Isr", "Offline", "Elr", "LastKnownElr"})
_HEADER_KEYS: Final = frozenset({"PartitionCount", "ReplicationFactor", "Configs", "TopicId", "MarkedForDeletion"})
_NUMBER_KEYS: Final = frozenset({"Partition", "PartitionCount", "ReplicationFactor"})
_LAST_WORD: Final = re.compile(r"(.*\s|)(\S*)")
#: Keys of a row that does not begin its line.
_FEWEST_KEYS: Final = 3
#: A line of configs has no blank; it continues a header that a terminal has wrapped.
_MORE_CONFIGS: Final = re.compile(r'[\w.,=:;+/{}"\[\]\-]+')
_NONE: Final = frozenset({"none", "n/a", "null"})
_TOPIC_NAME: Final = re.compile(r"[\w.\-]{1,249}")
_CONFIG: Final = re.compile(r",(?=[a-z][\w.]*=)")
_MARKED: Final = re.compile(r"(?P<topic>[\w.\-]{1,249}) - marked for deletion$")
#: Errors of the tool about a topic.
_ERRORS: Final = (
    re.compile(r"Error while executing topic command ?: ?(?P<what>.+)"),
    re.compile(r"(?:Topic|topic) '?\[?(?P<topic>[\w.\-]+)\]?'? (?:does not exist|doesn't exist|not found)"),
)
_ERROR_TOPIC: Final = re.compile(r"[Tt]opics? '?\[?(?P<topic>[\w.\-]+)\]?'?")
_UNKNOWN_TOPIC: Final = 3


class DescribeFormat:
    """Reads rows; one that is not yet complete stays open until the next line shows whether it continues."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._row: list[tuple[str, str]] = []
        self._begun: PastedLine | None = None
        self._topic = ""

    def take(self, line: PastedLine) -> bool:
        if self._row and (split := self._split_key(line.text)) is not None:
            return self._take_pairs(split, line)
        if _KEY.search(line.text):
            return self._take_pairs(line.text, line)
        if self._row and self._continues(line.text):
            self._extend(line.text)
            return True
        self.end_block()
        if marked := _MARKED.match(line.text):
            self._gathered.marked[marked["topic"]] += 1
            return True
        return self._error(line)

    def end_block(self) -> None:
        """Ends the open row. Raises BadRowError if it lacks something."""
        row, begun = self._row, self._begun
        self._row, self._begun = [], None
        if begun is not None and row:
            try:
                self._add(dict(row), begun)
            except BadRowError as error:
                self._gathered.broken(error, begun)

    def _take_pairs(self, text: str, line: PastedLine) -> bool:
        keys = list(_KEY.finditer(text))
        taken = False
        if not self._row and keys[0].start() > 0 and len(keys) < _FEWEST_KEYS:
            return False  # Prose that contains such a word.
        head = text[: keys[0].start()].strip()
        if head and self._row:
            torn = self._row[-1][1].endswith(",") or head.startswith(",")
            if torn or not self._begins(_CANONICAL[keys[0][1].lower()]):
                self._extend(head)
        for key, end in zip(keys, [*(k.start() for k in keys[1:]), len(text)], strict=True):
            name = _CANONICAL[key[1].lower()]
            if self._begins(name):
                self.end_block()
                self._begun = line
            elif not self._row or name in dict(self._row):
                # Another line that contains such a word, such as a log line.
                self.end_block()
                continue
            self._row.append((name, text[key.end() : end].strip(" \t\"'`|")))
            taken = True
        return taken

    def _begins(self, key: str) -> bool:
        """Returns whether a row begins with this key: `Partition` also follows `Topic` in the same row."""
        have = {name for name, _ in self._row}
        return key == "Topic" or (key == "Partition" and have != {"Topic"})

    def _split_key(self, text: str) -> str | None:
        """Returns the line with the beginning of its key, which a wrap left on the line before; None if there is none.

        It removes that beginning from the open row.
        """
        name, value = self._row[-1]
        words = _LAST_WORD.fullmatch(value)
        before, tail = words.groups() if words is not None else (value, "")
        glued = tail + text
        found = _KEY.match(glued) if tail else None
        if found is None or found.end() <= len(tail):
            return None
        self._row[-1] = (name, before.strip())
        return glued

    def _continues(self, text: str) -> bool:
        name, value = self._row[-1]
        if name == "Configs":
            return _MORE_CONFIGS.fullmatch(text) is not None and ("=" in text or value.endswith(("=", ",")))
        if name not in _LIST_KEYS:
            return False
        listing = re.fullmatch(r"[\d,\s]+", text) is not None
        if value.endswith(",") or text.startswith(","):
            return listing
        return not value and (listing or text.lower() == "none")

    def _extend(self, text: str) -> None:
        """Adds to the last value, which a terminal has wrapped; text that cannot belong to it is a line's prefix."""
        name, value = self._row[-1]
        fits = (
            (name in _LIST_KEYS | _NUMBER_KEYS and re.fullmatch(r"[\d,\s]+", text) is not None)
            or (name == "Leader" and (value + text).lower() in _NONE)
            or (name == "Configs" and _MORE_CONFIGS.fullmatch(text) is not None)
            or (name == "Topic" and len(self._row) == 1 and _TOPIC_NAME.fullmatch(text) is not None)
        )
        if fits:
            self._row[-1] = (name, value + text.strip())

    def _add(self, fields: dict[str, str], line: PastedLine) -> None:
        if "Partition" in fields:
            self._partition(fields, line)
        elif fields.keys() & _HEADER_KEYS:
            self._header(fields)
        elif _TOPIC_NAME.fullmatch(fields.get("Topic", "")):
            self._topic = fields["Topic"]
        else:
            self._gathered.skip(line)

    def _header(self, fields: dict[str, str]) -> None:
        self._topic = topic = _word(fields.get("Topic", ""))
        if configs := _configs(fields.get("Configs", "")):
            self._gathered.configs[topic] = configs
        if fields.get("PartitionCount"):
            self._gathered.stated[topic] = number(fields["PartitionCount"], "PartitionCount")
        self._gathered.marked[topic] += fields.get("MarkedForDeletion") == "true"

    def _partition(self, fields: dict[str, str], line: PastedLine) -> None:
        if "Topic" in fields:
            self._topic = _word(fields["Topic"])
        for key in ("Leader", "Replicas", "Isr"):
            if key not in fields:
                raise BadRowError(f"a partition row without a field {key}; it may be cut off")
        if not self._topic:
            raise BadRowError("a partition row before any topic")
        tp = TopicPartition(self._topic, number(fields["Partition"], "Partition"))
        leader = _leader(fields["Leader"])
        replicas, isr, offline = (_numbers(fields, key) for key in ("Replicas", "Isr", "Offline"))
        observers = (*_numbers(fields, "Observers"), *_numbers(fields, "LiveObservers"))
        gathered = self._gathered
        source = BY_RECORD if gathered.command.by_record else NAME
        gathered.partition(tp, partition_view(leader, replicas, isr, offline), line, source)
        gathered.partial = gathered.partial or gathered.command.filtered
        # KRaft lists eligible replicas only while the ISR is below min.insync.replicas.
        if leader >= 0 and (gathered.command.under_min_isr or _numbers(fields, "Elr")):
            gathered.complain("min isr", str(tp), -1, line)
        # An observer is no candidate for the ISR unless it was promoted.
        if outside := tuple(b for b in observers if b not in isr):
            gathered.observers[tp] = outside
        adding, removing = _numbers(fields, "AddingReplicas"), _numbers(fields, "RemovingReplicas")
        if adding or removing:
            gathered.moves[tp] = Assignment(replicas, adding, removing)
        self._signs(tp, fields, line)

    def _signs(self, tp: TopicPartition, fields: dict[str, str], line: PastedLine) -> None:
        """Adds the facts about brokers and replicas in the columns of later versions and of Confluent."""
        gathered = self._gathered
        if elr := _numbers(fields, "Elr"):
            gathered.elr[tp] = elr
        if last := _numbers(fields, "LastKnownElr"):
            gathered.last_known_elr[tp] = last
        for broker in _numbers(fields, "Offline"):
            gathered.say_dead(broker, f"is named in the column Offline (line {line.number})")
        for broker in _numbers(fields, "LiveObservers"):
            gathered.say_alive(broker, f"is named in the column LiveObservers (line {line.number})")
        rows = gathered.marked if fields.get("MarkedForDeletion") == "true" else gathered.unmarked
        rows[tp.topic] += 1

    def _error(self, line: PastedLine) -> bool:
        for pattern in _ERRORS:
            if found := pattern.search(line.text):
                topic = _ERROR_TOPIC.search(found[0].partition(":")[2]) or _ERROR_TOPIC.search(found[0])
                self._gathered.complain("topic", topic["topic"] if topic else "", _UNKNOWN_TOPIC if topic else -1, line)
                return True
        return False


def _word(text: str) -> str:
    """Returns the name in a field: people shorten rows to `Topic: orders ...`."""
    word = text.split(" ", 1)[0].split("\t", 1)[0]
    return word if text[len(word) :].strip(" \t.\u2026") == "" else text


def _leader(text: str) -> int:
    word = text.partition(" ")[0].partition("\t")[0]
    return -1 if word.lower() in _NONE or not word else number(word, "Leader")


def _numbers(fields: dict[str, str], key: str) -> tuple[int, ...]:
    text = fields.get(key, "")
    return _ids(text, key) if text else ()


@lru_cache(maxsize=4096)
def _ids(text: str, key: str) -> tuple[int, ...]:
    """Returns the broker ids of a list; many rows have the same lists. Raises BadRowError."""
    if text.lower() in _NONE:
        return ()
    found = _LIST.fullmatch(text)
    if found is None:
        raise BadRowError(f"{key} is {text[:40]!r}, wanted broker ids such as 1,2,3")
    return tuple(number(n.strip(), key) for n in found["ids"].split(","))


def _configs(text: str) -> dict[str, str]:
    """Returns {key: value}; a value may hold commas, as in `cleanup.policy=compact,delete`, or JSON."""
    pairs = (part.partition("=") for part in _CONFIG.split(text))
    return {key.strip(): value.strip() for key, eq, value in pairs if eq}
