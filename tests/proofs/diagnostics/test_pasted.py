"""Pasted texts: each example has its findings, and another spelling of the same text has the same findings."""

import contextlib
import json
import random
import re
import textwrap
from collections.abc import Callable

import pytest

from kfix.core.diagnosis.finding import CANNOT_TELL, CRITICAL, HEALTHY, WARNINGS, Diagnosis
from kfix.core.documents.opening import decoded
from kfix.core.errors import InvalidFileError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.pasted.reader import parse_pasted
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose
from tests.places import ROOT

FOLDER = ROOT / "examples" / "pasted"
#: {file: {finding: its object}}, without those that only say which source was not read.
EXPECTED: dict[str, dict[str, str]] = {
    "broker-log.txt": {"KFX107": "broker 1 likely dead"},
    "client-log.txt": {"KFX117": "group billing", "KFX117 again": "topic ledger"},
    "consumer-groups-and-describe.txt": {
        "KFX107": "broker 1 likely dead",
        "KFX302": "without broker 1",
        "KFX303": "topic __consumer_offsets",
    },
    "consumer-groups-timeout.txt": {"KFX117": "group billing"},
    "describe-2.7-brokers-down.txt": {
        "KFX107": "brokers 1, 2 likely dead",
        "KFX301": "without brokers 1, 2",
        "KFX302": "without brokers 1, 2",
        "KFX305": "replication factor 2",
    },
    "describe-2.7-rows-only.txt": {"KFX107": "several ISRs"},
    "describe-4.1-elr.txt": {
        "KFX107": "brokers 1, 2 likely dead",
        "KFX107 again": "ISR []",
        "KFX301": "without brokers 1, 2",
        "KFX305": "replication factor 2",
    },
    "describe-confluent-observers.txt": {"KFX107": "broker 5 likely dead"},
    "describe-marked-for-deletion.txt": {},
    "describe-on-one-line.txt": {"KFX107": "broker 3 likely dead", "KFX305": "replication factor 2"},
    "describe-topic-missing.txt": {},
    "describe-twice.txt": {"KFX204": "outputs that contradict each other"},
    "describe-wrapped-in-a-mail.txt": {"KFX107": "broker 3 likely dead", "KFX302": "without broker 3"},
    "kcat-json.txt": {"KFX102": "orders-0", "KFX305": "replication factor 2", "KFX401": "broker 1"},
    "kcat-unknown-topic.txt": {},
    "kcat.txt": {
        "KFX101": "__consumer_offsets-1",
        "KFX103": "ISR on broker 1",
        "KFX302": "without broker 1",
        "KFX305": "replication factor 2",
        "KFX401": "broker 1",
    },
    "lab-2.7.1-coordinator-stuck.txt": {"KFX107": "broker 3 likely alive", "KFX302": "without broker 2"},
    "list-topic-0.8.txt": {"KFX107": "broker 2 likely alive", "KFX303": "topic __consumer_offsets"},
    "log-dirs.txt": {"KFX107": "broker 2 likely alive", "KFX406": "broker 2"},
    "metadata-quorum-without-leader.txt": {"KFX811": "controller quorum"},
    "metadata-quorum.txt": {"KFX107": "broker 13 likely dead"},
    "other-tools.txt": {},
    "zkcli-no-controller.txt": {"KFX202": "no controller"},
    "zookeeper-shell.txt": {
        "KFX101": "__consumer_offsets-0",
        "KFX201": "__consumer_offsets-0",
        "KFX302": "without broker 1",
        "KFX401": "broker 1",
    },
}


def judged(text: str) -> Diagnosis:
    return diagnose(parse_pasted(text, "paste.txt", 1_800_000_000.0))


def findings(diagnosis: Diagnosis) -> dict[str, str]:
    found: dict[str, str] = {}
    for finding in sorted(diagnosis.walk(), key=lambda f: (f.code, not f.about)):
        if finding.code != "KFX901":
            found[finding.code if finding.code not in found else f"{finding.code} again"] = finding.obj
    return found


def meaning(text: str) -> object:
    """What must not depend on the spelling: the findings with their partitions and their severity, and what is open."""
    diagnosis = judged(text)
    found = sorted((f.key, f.severity, f.partitions, [r.text for r in f.remedies]) for f in diagnosis.walk())
    return [row for row in found if not row[0].startswith(("KFX204", "KFX901"))], len(diagnosis.could_not_read)


def example(name: str) -> str:
    return (FOLDER / name).read_text()


def test_every_example_is_expected() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_has_its_findings_and_is_never_healthy(name: str) -> None:
    diagnosis = judged(example(name))
    assert findings(diagnosis) == EXPECTED[name]
    assert diagnosis.could_not_read or diagnosis.findings


def _hard_wrapped(text: str, width: int) -> str:
    return "\n".join(line[i : i + width] for line in text.splitlines() for i in range(0, len(line), width))


def _coloured(text: str) -> str:
    return re.sub(r"(none|-1\b)", "\x1b[31m\\1\x1b[0m", text)


WRAPPED = ("describe-2.7-brokers", "describe-on", "list", "kcat.", "zookeeper")
BENDS = ("", "\n", "9" * 30, "{", '"', ",", "\x00", "\u00b2")
SPELLINGS: dict[str, Callable[[str], str]] = {
    "blanks for tabs": lambda text: text.replace("\t", "    "),
    "no blank after a colon": lambda text: re.sub(r"(Topic|Partition|Leader|Replicas|Isr|topic|isr): ", r"\1:", text),
    "blanks in lists": lambda text: re.sub(r"(?<=\d),(?=\d)", ", ", text),
    "windows": lambda text: text.replace("\n", "\r\n"),
    "quoted in a mail": lambda text: textwrap.indent(text, "> "),
    "quoted twice": lambda text: textwrap.indent(text, ">> ", lambda _: True),
    "in a box": lambda text: textwrap.indent(text, "\u2502 "),
    "container log": lambda text: textwrap.indent(text, "broker-1  | ", lambda _: True),
    "stamped": lambda text: textwrap.indent(text, "2026-11-23T01:00:00.123456789Z ", lambda _: True),
    "in a code block": lambda text: f"see this:\n```\n{text}```\nwhat is wrong?\n",
    "blank lines": lambda text: text.replace("\n", "\n\n"),
    "coloured": _coloured,
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "numbered": lambda text: "".join(f"{n:6}\t{line}\n" for n, line in enumerate(text.splitlines(), 1)),
    "byte order mark": lambda text: "\ufeff" + text,
    "among foreign lines": lambda text: "\n".join(
        f"{line}\n[2026-11-23 01:00:00,000] INFO some other line (some.Logger)" for line in text.splitlines()
    ),
}
#: Texts of one line for each row, so that a wrap or another order keeps the meaning.
ROWS = [n for n in EXPECTED if n not in {"describe-wrapped-in-a-mail.txt", "describe-topic-missing.txt"}]
#: Spellings that change JSON, or a column of a tool that is not separated by tabs.
UNFIT = {
    "blanks in lists": ("client-log", "consumer-groups-timeout", "broker-log", "describe-topic-missing"),
    "among foreign lines": ("zkcli-no-controller",),
    "coloured": ("metadata-quorum-without-leader",),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", [n for n in EXPECTED if n != "describe-wrapped-in-a-mail.txt"])
def test_another_spelling_has_the_same_findings(name: str, spelling: str) -> None:
    text = example(name)
    if name.removesuffix(".txt") in UNFIT.get(spelling, ()):
        assert "healthy" not in str(judged(text).headlines)
        return
    assert meaning(SPELLINGS[spelling](text)) == meaning(text)


@pytest.mark.parametrize(
    ("name", "width"),
    [(n, w) for n in ROWS if n.startswith(WRAPPED) for w in (37, 41, 60, 72, 80, 100) if w > 40 or "zoo" not in n],
)
def test_a_terminal_may_wrap_anywhere(name: str, width: int) -> None:
    text = example(name)
    assert meaning(_hard_wrapped(text, width)) == meaning(text)


@pytest.mark.parametrize("name", [n for n in ROWS if n.startswith(("describe-2.7", "describe-4", "list"))])
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    text = example(name)
    lines = text.splitlines()
    for seed in range(5):
        random.Random(seed).shuffle(lines)
        assert meaning("\n".join(lines)) == meaning(text)


@pytest.mark.parametrize("name", [n for n in ROWS if n.startswith(("describe-2.7-brokers", "describe-4", "list"))])
def test_line_ends_do_not_matter(name: str) -> None:
    text = example(name)
    assert meaning(" ".join(text.split())) == meaning(text)


@pytest.mark.parametrize("name", [n for n in EXPECTED if n != "describe-twice.txt"])
def test_the_same_text_twice_has_the_same_findings_and_counts_the_lines(name: str) -> None:
    text = example(name)
    assert meaning(text + text) == meaning(text)
    pasted = parse_pasted(text + text, "paste.txt", 0.0).pasted
    assert pasted is not None
    assert pasted.repeated > 0
    assert pasted.first_repeated.startswith("line ")


def test_texts_of_several_tools_in_one_paste_keep_their_findings() -> None:
    """Partitions of one tool do not hide those of another, and each error is reported once."""
    client, described = example("client-log.txt"), example("describe-2.7-rows-only.txt")
    mixed = findings(judged(client + described))
    assert mixed == findings(judged(described + client))
    assert mixed == {"KFX107": "several ISRs", "KFX117": "group billing", "KFX117 again": "topic ledger"}


def test_a_set_is_no_state_and_braces_need_their_path() -> None:
    state = '{"controller_epoch":4,"leader":-1,"version":1,"leader_epoch":9,"isr":[2]}'
    row = "Topic: x PartitionCount: 1 Configs:\nTopic: x Partition: 0 Leader: 1 Replicas: 1,2 Isr: 1,2\n"
    for foreign in (f"{state}\n", f"see {state}\n"):
        assert meaning(row + foreign) == meaning(row)
    assert findings(judged(f"{row}set /brokers/topics/x/partitions/0/state {state}\n")) == {"KFX201": "x-0"}
    assert "KFX204" in findings(judged(f"get /brokers/topics/x/partitions/0/state\n{state}\n{row}"))


#: How shippers print a line; each keeps the line whole behind its prefix.
SHIPPED: dict[str, Callable[[str], str]] = {
    "kubectl logs --prefix": lambda line: f"[pod/my-kafka-0/kafka] {line}",
    "kubectl logs --timestamps": lambda line: f"2026-11-23T01:00:00.123456789Z {line}",
    "CRI": lambda line: f"2026-11-23T01:00:00.123456789Z stdout F {line}",
    "journald": lambda line: f"Nov 23 01:00:00 host1 kafka-server-start.sh[4711]: {line}",
    "grep -H": lambda line: f"logs/server.log:{line}",
    "grep -Hn": lambda line: f"server.log.2026-11-23-01:17:{line}",
    "grep -n": lambda line: f"17:{line}",
    "stern": lambda line: f"my-kafka-0 kafka {line}",
    "colours": lambda line: f"\x1b[33m{line}\x1b[0m",
    "docker compose": lambda line: f"kafka-1  | {line}",
    "Docker": lambda line: json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2026-11-23T01:00:00Z"}),
    "Fluentd": lambda line: f"2026-11-23 01:00:00 +0000 kafka: {json.dumps({'message': line})}",
}
LOGS = {
    "offline": "[2026-11-22 03:10:31,402] ERROR [Controller id=2 epoch=7] Controller 2 epoch 7 failed to change state "
    "for partition payments-3 from OfflinePartition to OnlinePartition (state.change.logger)",
    "log dirs": "[2026-11-22 03:10:31,402] ERROR Shutdown broker because all log dirs in /data/a have failed "
    "(kafka.log.LogManager)",
    "gone": "[2026-11-22 03:10:31,402] INFO [Controller id=2] Newly added brokers: , deleted brokers: 2, bounced "
    "brokers: , all live brokers: 1,3 (kafka.controller.KafkaController)",
    "client": "[2026-11-22 03:10:31,402] WARN [Producer clientId=p] Error while fetching metadata with correlation id "
    "5 : {ledger=LEADER_NOT_AVAILABLE} (org.apache.kafka.clients.NetworkClient)",
    "unknown": "[2026-11-22 03:10:31,402] ERROR [KafkaApi-1] an error of a kind that kfix does not know (kafka.Other)",
}
WELL_LISTED = (
    "Metadata for all topics (from broker 1: k1:9092/1):\n 3 brokers:\n  broker 1 at k1:9092 (controller)\n"
    '  broker 2 at k2:9092\n  broker 3 at k3:9092\n 1 topics:\n  topic "orders" with 2 partitions:\n'
    "    partition 0, leader 1, replicas: 1,2,3, isrs: 1,2,3\n    partition 1, leader 2, replicas: 2,3,1, isrs: 2,3,1\n"
)
WELL_DESCRIBED = (
    "Topic: audit\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: audit\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
    "\tTopic: audit\tPartition: 1\tLeader: 2\tReplicas: 2,3,1\tIsr: 1,2,3\n"
)
FOREIGN = (
    "Hi all, producers reach broker 2 at k2:9092, but could not connect to broker 9 at k9:9092.\n",
    "we see COORDINATOR_NOT_AVAILABLE for group: actions Refresh\n",
    "total 12\ndrwxr-xr-x 2 kafka kafka 4096 Nov 22 03:10 data\n",
    "[2026-11-22 03:10:31,402] INFO a line of a kind that kfix does not use (kafka.utils.Other)\n",
)
SICK_ONES = [n for n in EXPECTED if EXPECTED[n]]
#: From good to bad: nothing wrong, warnings, something unknown, something critical.
ORDER = (HEALTHY, WARNINGS, CANNOT_TELL, CRITICAL)


def badness(text: str) -> int:
    return ORDER.index(exit_code(judged(text)))


@pytest.mark.parametrize("shipper", SHIPPED)
@pytest.mark.parametrize("log", LOGS)
def test_a_shipper_does_not_change_what_a_log_shows(log: str, shipper: str) -> None:
    plain, shipped = judged(LOGS[log]), judged(SHIPPED[shipper](LOGS[log]))
    assert [(f.code, f.severity) for f in shipped.walk()] == [(f.code, f.severity) for f in plain.walk()]
    assert exit_code(shipped) == exit_code(plain) != HEALTHY


@pytest.mark.parametrize("name", [n for n in EXPECTED if n != "describe-wrapped-in-a-mail.txt"])
@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
def test_an_encoding_does_not_change_the_findings(name: str, encoding: str) -> None:
    text = f"Gr\u00fc\u00dfe\n{example(name)}"
    assert meaning(decoded(text.encode(encoding))) == meaning(text)


def test_one_byte_that_is_not_utf_8_spoils_nothing() -> None:
    text = example("kcat.txt")
    assert meaning(decoded(b"caf\xe9\n" + text.encode())) == meaning(text)


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("well", [WELL_LISTED, WELL_DESCRIBED, WELL_LISTED + WELL_DESCRIBED])
def test_an_error_of_a_log_is_never_hidden_by_a_healthy_output(log: str, well: str) -> None:
    assert badness(WELL_LISTED) == 0
    for text in (f"{well}{LOGS[log]}\n", f"{LOGS[log]}\n{well}"):
        assert badness(text) > 0
        assert "healthy" not in str(judged(text).headlines)


@pytest.mark.parametrize("foreign", FOREIGN)
@pytest.mark.parametrize("name", EXPECTED)
def test_a_foreign_block_changes_nothing(name: str, foreign: str) -> None:
    text = example(name)
    assert meaning(f"{foreign}{text}") == meaning(text)
    assert meaning(f"{text}\n{foreign}") == meaning(text)
    assert badness(WELL_LISTED + foreign) == 0


@pytest.mark.parametrize("name", SICK_ONES)
def test_adding_a_healthy_block_never_worsens_a_verdict_and_adding_a_sick_one_never_improves_it(name: str) -> None:
    text = example(name)
    for well in (WELL_DESCRIBED, WELL_LISTED + WELL_DESCRIBED):
        for both in (f"{well}\n{text}", f"{text}\n{well}"):
            assert badness(both) <= badness(text)
            assert badness(both) >= badness(well) or badness(both) == badness(text)
            assert badness(both) > 0


@pytest.mark.parametrize("name", SICK_ONES)
def test_the_order_of_two_outputs_does_not_change_the_verdict(name: str) -> None:
    first, second = example(name), WELL_DESCRIBED
    assert meaning(f"{first}\n{second}") == meaning(f"{second}\n{first}")


@pytest.mark.parametrize("seed", range(8))
def test_two_clusters_in_one_text_are_not_merged(seed: int) -> None:
    chance = random.Random(seed)
    sick = WELL_LISTED.replace("k1", "z1").replace("k2", "z2").replace("k3", "z3").replace("leader 2", "leader -1")
    texts = [WELL_LISTED, sick]
    chance.shuffle(texts)
    diagnosis = judged("".join(texts))
    assert {tp for f in diagnosis.walk() for tp in f.partitions} == {TopicPartition("orders", 1)}
    assert any(each.startswith("another cluster") for each in diagnosis.could_not_read)
    assert exit_code(diagnosis) == exit_code(judged(sick)) == CRITICAL


def _said_dead(text: str) -> set[str]:
    """Returns the brokers that a diagnosis calls dead, not registered, or likely so."""
    said = " ".join(f"{f.obj} {f.summary} {f.cause.text}" for f in judged(text).walk())
    words = r"brokers? (\d+(?:, \d+)*) (?:is|are|likely) (?:likely )?(?:dead(?! or)|not registered|down)"
    return {broker for found in re.finditer(words, said) for broker in found[1].split(", ")}


@pytest.mark.parametrize("seed", range(40))
def test_removing_rows_never_invents_a_death(seed: int) -> None:
    chance = random.Random(seed)
    lists = [WELL_LISTED.replace(' 1 topics:\n  topic "orders"', ' 1 topics:\n  topic "t9"')] if seed % 2 else []
    # A list that lacks a leader is set aside, so the row of that leader must not be one that is removed.
    leaders = {1, 2, 3} if lists else {1, 2, 3, 4, 5}
    topics = [_described(f"t{n}", chance, leaders) for n in range(3)]
    text = "".join([*topics, *lists])
    lines = text.splitlines(keepends=True)
    rows = [n for n, line in enumerate(lines) if "Partition:" in line or line.startswith("  broker")]
    for _ in range(5):
        gone = set(chance.sample(rows, chance.randrange(1, len(rows))))
        rest = "".join(line for n, line in enumerate(lines) if n not in gone)
        with contextlib.suppress(InvalidFileError):
            assert _said_dead(rest) <= _said_dead(text)


def _described(topic: str, chance: random.Random, leaders: set[int]) -> str:
    rows = []
    for partition in range(4):
        replicas = chance.sample([1, 2, 3, 4, 5], 3)
        isr = replicas[: chance.randrange(1, 4)]
        leader = chance.choice([isr[0], isr[0], isr[0], "none"]) if isr[0] in leaders else "none"
        rows.append(
            f"\tTopic: {topic}\tPartition: {partition}\tLeader: {leader}\tReplicas: {','.join(map(str, replicas))}\t"
            f"Isr: {','.join(map(str, isr))}\n"
        )
    return f"Topic: {topic}\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: \n{''.join(rows)}"


@pytest.mark.parametrize("name", EXPECTED)
def test_no_damage_raises_anything_but_one_clear_error(name: str) -> None:
    text = example(name)
    for seed in range(30):
        chance = random.Random(seed)
        damaged = list(text)
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randrange(4)] = chance.choice(
                ["", "\n", "9" * 30, "{", '"', ",", "\x00", "\u00b2"]
            )
        with contextlib.suppress(InvalidFileError):
            assert judged("".join(damaged)).taken_at
