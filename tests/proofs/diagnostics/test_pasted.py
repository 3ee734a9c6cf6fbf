"""Pasted texts: each example has its findings, and another spelling of the same text has the same findings."""

import contextlib
import random
import re
import textwrap
from collections.abc import Callable

import pytest

from kfix.adapters.pasted.reader import parse_pasted
from kfix.errors import InvalidFileError
from kfix.model.diagnosis.finding import Diagnosis
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
    "describe-twice.txt": {"KFX204": "partitions shown twice"},
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
