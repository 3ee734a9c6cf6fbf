"""Brokers' logs: every wording by its example, real and hostile lines, rotated and packed files, zones and windows."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import kfix.diagnose.brokerlog.wordings as registry
from kfix.core.errors import UsageError
from kfix.core.events import LogStatement, Tone
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.brokerlog import reading
from kfix.diagnose.brokerlog.files import found, labels, lines
from kfix.diagnose.brokerlog.lines import LONGEST, Counted, Entry, LogClock, TimeWindow, entries
from kfix.diagnose.brokerlog.reading import LogRead, by_logger, interpret, read_log
from tests.each import for_each

#: {name of a wording: {source: a real message}}.
MESSAGES = yaml.safe_load((Path(__file__).parent / "messages.yaml").read_text(encoding="utf-8"))
ALWAYS = TimeWindow(0.0, 32_503_680_000.0)
AT = datetime(2026, 11, 21, 22, 1, 42, 185_000, tzinfo=UTC).timestamp()


def line(text, logger="kafka.controller.KafkaController", when="2026-11-21 22:01:42,185", level="INFO"):
    return f"[{when}] {level} {text} ({logger})"


def read(text, zone="UTC", window=ALWAYS):
    counted = Counted()
    made = list(entries(text.split("\n"), LogClock(zone), window, counted))
    return made, counted


def told(text, logger):
    return interpret(Entry(AT, "INFO", text, logger, 7), by_logger(), "server.log:7")


# -- wordings


def test_every_file_of_the_folder_is_in_the_registry():
    files = {p.stem for p in Path(registry.__file__).parent.glob("*.py")} - {"__init__"}
    modules = {name: module.WORDINGS for name, module in vars(registry).items() if hasattr(module, "WORDINGS")}
    assert set(modules) == files
    names = sorted(wording.name for wordings in modules.values() for wording in wordings)
    assert names == sorted(wording.name for wording in registry.ALL) == sorted(MESSAGES)


EXAMPLES = [(w, where, text) for w in registry.ALL for where, text in MESSAGES[w.name].items()]


@for_each(("wording", "where", "text"), EXAMPLES, ids=[f"{w.name}: {s}" for w, s, _ in EXAMPLES])
def test_every_wording_reads_its_examples_and_no_other_wording_takes_them(wording, where, text):
    assert where
    fits = [w.name for w in registry.ALL if w.pattern.match(text) and set(w.loggers) & set(wording.loggers)]
    assert fits == [wording.name]
    for logger in wording.loggers:
        made = told(text, f"kafka.some.{logger}")
        assert isinstance(made, LogStatement)
        assert made.events
        assert all(e.at == AT and e.source == "server.log:7" for e in made.events)


def test_the_same_state_change_reads_the_same_in_every_release():
    [wording] = [w for w in registry.ALL if w.name == "partition changed"]
    known = {told(text, "state.change.logger").partitions for text in MESSAGES[wording.name].values()}
    assert len(known) == 1
    [(tp, state)] = known.pop()
    assert (tp, state.leader, state.epoch, state.isr, state.version) == (TopicPartition("orders", 2), 1, 1, (1, 2), 1)


def test_the_stuck_partition_of_the_lab_is_reported_as_lost():
    text = (
        "[Controller id=2 epoch=1] Partition __consumer_offsets-0 state changed to (Leader:-1,ISR:2,LeaderEpoch:2,"
        "ControllerEpoch:1) after removing replica 3 from the ISR as part of transition to OfflineReplica"
    )
    [event] = told(text, "state.change.logger").events
    assert (event.tone, str(event.partition)) == (Tone.BAD, "__consumer_offsets-0")


def test_a_truncation_without_effect_is_none():
    text = "[Log partition=orders-0, dir=/data/broker-2] Truncating to 20 has no effect as the largest offset is 19"
    assert told(text, "kafka.log.Log") is None
    made = told("[Log partition=a-b-0, dir=/data/2] Truncating to offset 20", "kafka.log.Log")
    assert made.cut == (AT, TopicPartition("a-b", 0), -1, 20)


def test_a_log_is_known_by_the_first_line_that_names_its_own_broker(tmp_path):
    path = tmp_path / "server.log"
    expired = line("[ZooKeeperClient Kafka server] Session expired.", "kafka.zookeeper.ZooKeeperClient")
    cut = line("[Log partition=a-0, dir=/data] Truncating to offset 20", "kafka.log.Log")
    own = line("[KafkaServer id=7] started", "kafka.server.KafkaServer")
    path.write_text(f"{expired}\n{own}\n{expired}\n{cut}" + "\n")
    result, _ = read_file(path)
    assert [t.events[0].text for t in result] == [
        "broker 7 lost its ZooKeeper session: it expired",
        "broker 7 started",
        "broker 7 lost its ZooKeeper session: it expired",
        "broker 7 truncated its log to offset 20",
    ]
    assert result[-1].cut.broker == 7
    path.write_text(f"{expired}\n")
    assert read_file(path)[0][0].events[0].text.startswith("the broker of server.log lost its ZooKeeper session")


def test_words_of_another_logger_are_not_believed():
    assert told("[Controller id=1] Resigned", "com.example.Resigned") is None


# -- lines


def test_an_entry_of_the_default_pattern():
    [entry], counted = read(line("[Controller id=1] Resigned"))
    assert entry == Entry(AT, "INFO", "[Controller id=1] Resigned", "kafka.controller.KafkaController", 1)
    assert (counted.entries, counted.first, counted.last) == (1, AT, AT)


def test_a_stack_trace_belongs_to_its_entry_and_a_torn_end_is_counted():
    text = "\n".join(
        [
            line("Fatal error", level="ERROR"),
            "java.lang.IllegalStateException: no (really)",
            "\tat kafka.Kafka.main(Kafka.scala:1)",
            "Caused by: java.io.IOException",
            line("after"),
            "[2026-11-21 22:01:4",
        ]
    )
    made, counted = read(text)
    assert [e.text for e in made] == ["Fatal error", "after"]
    assert (counted.continued, counted.torn) == (3, 1)


def test_a_message_of_several_lines_has_no_logger_and_shows_nothing():
    made, counted = read(
        "[2026-11-21 22:01:42,185] INFO KafkaConfig values: \n\tbroker.id = 1\n (kafka.server.KafkaConfig)"
    )
    assert [(e.text, e.logger) for e in made] == [("KafkaConfig values:", "")]
    assert counted.continued == 2


def test_the_zone_is_the_one_that_was_given():
    [entry], _ = read(line("x", when="2026-07-01 12:00:00,000"), zone="Europe/Berlin")
    assert datetime.fromtimestamp(entry.at, UTC).hour == 10
    [entry], _ = read(line("x", when="2026-01-01 12:00:00,000"), zone="Europe/Berlin")
    assert datetime.fromtimestamp(entry.at, UTC).hour == 11


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_the_window_is_exact_in_every_zone(zone):
    clock = LogClock(zone)
    stamps = [clock.text(AT + n * 60) + ",000" for n in range(-300, 300)]
    text = "\n".join(line("x", when=stamp) for stamp in stamps)
    made, counted = read(text, zone, TimeWindow(AT - 600.0, AT + 600.0))
    assert len(made) in {20, 21}
    assert all(AT - 600 <= e.at <= AT + 600 for e in made)
    assert counted.outside == 600 - len(made)


@pytest.mark.parametrize(
    "text",
    [
        "[2026-13-45 22:01:42,185] INFO x (a.B)",
        "[2026-11-21 22:61:42,185] INFO x (a.B)",
        "[2026-11-21 22:01:42,185] NOISE x (a.B)",
        "[2026-11-21 22:01:42,185] INFO \x00\x00\x00 (a.B)",
        "\x00" * 64,
        "\ufffd\ufffd garbage",
    ],
)
def test_garbage_is_counted_and_reported_never_a_crash(text):
    made, counted = read(text)
    assert made == []
    assert counted.torn == 1


HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=200),
        st.builds(line, st.text(max_size=200), st.sampled_from(sorted(by_logger()))),
        st.builds(lambda pair, cut: line(pair[2], f"kafka.{pair[0].loggers[0]}")[:cut], st.sampled_from(EXAMPLES),
                  st.integers(0, 300)),
        st.builds(lambda pair, junk: line(f"{pair[2][:40]}{junk}{pair[2][40:]}", f"kafka.{pair[0].loggers[0]}"),
                  st.sampled_from(EXAMPLES), st.text(st.sampled_from("0123456789,-[]() \x1b<"), max_size=30)),
    ),
    max_size=8,
)  # fmt: skip


@settings(max_examples=80)
@given(HOSTILE)
def test_no_line_can_end_the_reading(texts):
    made, counted = read("\n".join(texts))
    wordings = by_logger()
    for entry in made:
        result = interpret(entry, wordings, "x.log:1")
        assert result is None or result.events
    assert counted.entries == len(made)


# -- files


def test_folders_give_kafkas_own_names_rotated_and_packed(tmp_path):
    names = ["server.log", "server.log.2026-11-21-09", "state-change.log.1.gz", "controller.log", "broker-1.log",
             "broker-1.log.1", "kafkaServer.out", "zookeeper-1.log", "notes.txt", "kafka-authorizer.log",
             "kafkaServer-gc.log", "log-cleaner.log"]  # fmt: skip
    for name in names:
        (tmp_path / name).write_text("x")
    assert {p.name for p in found([tmp_path])} == set(names[:7])
    with pytest.raises(UsageError, match="no such file"):
        found([tmp_path / "gone"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="contains no broker log"):
        found([tmp_path / "empty"])


def test_logs_of_the_same_name_are_reported_apart():
    named = labels([Path("/a/b1/server.log"), Path("/a/b2/server.log"), Path("/a/b2/controller.log")])
    assert list(named.values()) == ["b1/server.log", "b2/server.log", "controller.log"]


def read_file(path):
    made = LogRead(path.name)
    result = list(read_log(path, path.name, LogClock("UTC"), ALWAYS, made))
    return result, made


RESIGNED = line("[Controller id=1] Resigned")


def test_a_packed_log_reads_the_same_and_a_damaged_one_is_reported(tmp_path):
    raw = gzip.compress(f"{RESIGNED}\n".encode() * 2000)
    whole, half = tmp_path / "server.log.1.gz", tmp_path / "server.log.2.gz"
    whole.write_bytes(raw)
    half.write_bytes(raw[: len(raw) - 20])
    assert len(read_file(whole)[0]) == 2000
    result, made = read_file(half)
    assert len(result) > 0
    assert "damaged or truncated" in made.trouble[0]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "server.log"
    path.write_bytes(b"[2026-11-21 22:01:42,185] INFO " + b"x" * (LONGEST * 40) + b"\n" + RESIGNED.encode() + b"\n")
    result, made = read_file(path)
    assert (len(result), made.counted.cut) == (1, 1)
    assert max(map(len, lines(path, []))) <= LONGEST


def test_a_broker_in_a_loop_is_bounded_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST", 10)
    path = tmp_path / "server.log"
    path.write_text(f"{RESIGNED}\n" * 25)
    result, made = read_file(path)
    assert (len(result), made.recognized, made.dropped) == (10, 25, 15)
