"""Each wording of brokers, controllers and clients that kfix reacts to is printed by a line of Kafka: its jars have it.

A class holds the constants that a message is made of; what is between them varies. A wording of no line is declared
here with its origin. wordings.tsv shows which line has which wording.
"""

import errno
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import confluent_kafka
import kafka

from kfix.diagnose.brokerlog.wordings import ALL
from kfix.diagnose.pasted import clients, consumer_groups, logs, signs, tools
from kfix.lab.definition.recipes import RECIPES
from kfix.lab.nodes.classpath import class_path

#: Bytes of an entry of a constant pool behind its tag (JVM specification, 4.4); a text has its own length.
_SIZES = {7: 2, 8: 2, 16: 2, 19: 2, 20: 2, 15: 3, 3: 4, 4: 4, 9: 4, 10: 4, 11: 4, 12: 4, 17: 4, 18: 4, 5: 8, 6: 8}
_TEXT, _TAKE_TWO = 1, {5, 6}
_FEWEST = 5
#: Whole constants between the first and the last one of a message, `STARTING` and ` to ` of a transition.
_MOST_IN_A_ROW = 2
#: Jars whose classes print what kfix reads.
_JARS = ("kafka", "zookeeper")
_TYPE = re.compile(r"\(.*\).*|\[*L[^ ]*;", re.DOTALL)
_CLASS = re.compile(r"(?:\w+/)+")
#: The places of variables in a constant: of concatenations, of slf4j, of formats.
_VARIABLE = re.compile(r"[\x01\n]|\{\}|%(?:\.\*)?[sdx]")
_NUMBER = re.compile(r"(?<= )-?\d+(?= )")
SHOWN = Path(__file__).with_name("wordings.tsv")
#: Patterns of entries besides the lists of signs and wordings.
OTHERS = {
    "MEMBER_FAILED": signs, "DISCOVERED": signs, "UNAVAILABLE": signs, "SLOW_POLL": signs, "METADATA": signs,
    "REBALANCES": signs, "SETTLED": signs, "HELD": signs, "REBALANCING": signs, "LATE_COMMIT": signs,
    "_REGISTERED": logs, "_ACTIVE": logs, "_PLACED": logs, "_SHRINKS": logs, "_EXPANDS": logs, "_FETCHES": logs,
    "_ELECTION": tools, "_MOVE_FAILED": tools, "_HANGING": tools,
    "_SAID": consumer_groups, "_FAILED": consumer_groups,
}  # fmt: skip
#: {a part of a wording that none of the lines has: who prints it}.
ELSEWHERE = {
    "log truncation is not allowed for partition": "Kafka up to 0.10",
    "A broker is already registered on the path": "Kafka up to 0.10",
    "below required minimum": "Kafka up to 2.0",
    "NOT_COORDINATOR_FOR_GROUP": "Kafka up to 0.11",
    "GROUP_LOAD_IN_PROGRESS": "Kafka up to 0.11",
    "NOT_LEADER_OR_REPLICA": "clients of other languages",
    "NOT_ENOUGH_IN_SYNC_REPLICAS": "librdkafka, with blanks",
    "The broker is still loading offsets after a leader change": "Sarama",
    "Offset's topic has not yet been created": "Sarama",
    "a consumer group that is not coordinated by this broker": "Sarama",
    "there is currently no leader for this partition": "Sarama",
    "found some partitions to be leaderless": "Sarama",
    "greater than the configured max.poll.interval": "clients of other languages",
    "kafka.clients.NetworkClient.poll": "the JVM, of a stack",
    "replicated": "Strimzi",
    "handleGroupCoordinatorRequest": "Kafka up to 0.10",
    "Marking the coordinator": "Kafka up to 2.0",
    "because it is rebalancing": "kafka-python up to 2.0",
    "for topic-partition TopicPartition": "kafka-python up to 2.0",
    "Broker: Offset out of range": "confluent-kafka, around a text of librdkafka",
}


def constants(class_file: bytes) -> Iterator[str]:
    count, at, index = struct.unpack_from(">H", class_file, 8)[0], 10, 1
    while index < count:
        tag = class_file[at]
        if tag == _TEXT:
            size = struct.unpack_from(">H", class_file, at + 1)[0]
            yield class_file[at + 3 : at + 3 + size].decode(errors="replace")
            at += 3 + size
        else:
            at += 1 + _SIZES[tag]
        index += 1 + (tag in _TAKE_TWO)


def texts_of(recipe) -> set[str]:
    """Returns what the classes of Kafka print, cut at the places of its variables."""
    found: set[str] = set()
    for jar in class_path(recipe, None, lambda _: None, tools=recipe.kafka >= "3.5").split(os.pathsep):
        if Path(jar).name.startswith(_JARS):
            with zipfile.ZipFile(jar) as opened:
                classes = [name for name in opened.namelist() if name.endswith(".class")]
                found.update(text for name in classes for text in constants(opened.read(name)))
    return {part for text in found if not _TYPE.fullmatch(text) for part in _VARIABLE.split(_CLASS.sub("", text, 1))}


def alternatives(parsed) -> list[list[str]]:
    """Returns, for each way through a parsed pattern, the texts that its matches contain, in their order."""
    ways = [[""]]
    for kind, value in parsed:
        more = [["", ""]]  # A gap: anything may be there.
        match str(kind):
            case "LITERAL":
                more = [[chr(value)]]
            case "SUBPATTERN":
                more = alternatives(value[-1])
            case "BRANCH":
                more = [way for branch in value[1] for way in alternatives(branch)]
            case "AT" | "ASSERT" | "ASSERT_NOT":
                continue
        ways = [[*way[:-1], way[-1] + other[0], *other[1:]] for way, other in product(ways, more)]
    return ways


def pieces(way: list[str]) -> list[str]:
    """Returns the texts that are long enough to show whose they are, without the signs around variables."""
    found = (re.search(r"[A-Za-z].*[A-Za-z]", text) for each in way for text in _NUMBER.split(each))
    return [each[0] for each in found if each is not None and len(each[0]) >= _FEWEST]


def borders(text: str) -> Iterator[int]:
    return (at for at in range(1, len(text)) if not text[at - 1 : at + 1].isalnum())


class Printed:
    """What one line prints: its constants, and their ends and beginnings at the borders of words."""

    def __init__(self, texts: set[str]):
        self._texts = texts
        self._whole = "\n".join(texts)
        self._ends = texts | {text[at:] for text in texts for at in borders(text)}
        self._begins = texts | {text[:at] for text in texts for at in borders(text)}

    def has(self, piece: str) -> bool:
        """Returns whether a constant contains the text, or several in a row do: the end of one, then whole ones."""
        return piece in self._whole or any(
            piece[:at] in self._ends and self._goes_on(piece[at:]) for at in borders(piece)
        )

    def _goes_on(self, rest: str, more: int = _MOST_IN_A_ROW) -> bool:
        return rest in self._begins or (
            more > 0 and any(rest[:at] in self._texts and self._goes_on(rest[at:], more - 1) for at in borders(rest))
        )


def wordings() -> Iterator[tuple[str, str]]:
    """Yields what each wording is about, and its pattern."""
    for sign in (*signs.SERVER, *signs.ENDS):
        yield sign.kind, sign.pattern.pattern
    for wording in ALL:
        yield wording.name, wording.pattern.pattern
    for code, words in clients._WORDINGS.items():
        yield from ((f"error {code}", re.escape(each)) for each in words)
    for name, module in OTHERS.items():
        yield name.strip("_").lower().replace("_", " "), getattr(module, name).pattern


def test_each_wording_is_in_the_jars_of_a_line_or_its_origin_is_declared():
    of_system = set(map(os.strerror, errno.errorcode))
    texts: dict[str, set[str]] = {}
    for recipe in RECIPES.values():
        texts[recipe.kafka] = texts_of(recipe) | of_system | texts.get(recipe.kafka, set())
    library = next(Path(confluent_kafka.__file__).parents[1].glob("confluent_kafka.libs/librdkafka*")).read_bytes()
    texts["librdkafka"] = set(_VARIABLE.split(re.sub(rb"[^ -~]+", b"\n", library).decode()))
    texts["kafka-python"] = {
        text for f in Path(kafka.__file__).parent.rglob("*.py") for text in f.read_text().splitlines()
    }
    lines = {line: Printed(each) for line, each in texts.items()}
    written, undeclared = set[str](), set(ELSEWHERE)
    for kind, pattern in wordings():
        for said in filter(None, map(pieces, alternatives(re._parser.parse(pattern)))):
            found = [line for line, printed in lines.items() if all(map(printed.has, said))]
            declared = [] if found else [part for part in ELSEWHERE if any(part in each for each in said)]
            undeclared -= set(declared)
            origin = ", ".join([*found, *(ELSEWHERE[part] for part in declared)]) or "nowhere"
            written.add(f"{kind}\t{' ... '.join(said)}\t{origin}\n")
    assert [each for each in sorted(written) if each.endswith("\tnowhere\n")] == []
    assert undeclared == set()
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        SHOWN.write_text("".join(sorted(written)))
    assert "".join(sorted(written)) == SHOWN.read_text()
