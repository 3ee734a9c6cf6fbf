"""What each wording of brokers, controllers and clients shows, and what a later line settles."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kfix.core.errors import InvalidFileError, UsageError
from kfix.diagnose.pasted import signs
from kfix.diagnose.pasted.folder import parse_folder
from kfix.diagnose.pasted.reader import parse_pasted
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnose.pasted.gathering import gather

AT = "[2026-11-22 03:10:3{},402] "
GROUP = "INFO [Consumer clientId=c, groupId=g] "
GONE = "INFO [Controller id=2] Newly added brokers: {}, deleted brokers: {}, bounced brokers: , all live brokers: 1 "


@given(st.sampled_from((*signs.SERVER, *signs.ENDS)), st.data())
def test_each_text_that_a_sign_matches_contains_its_needle(sign: signs.Sign, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(sign.pattern))
    assert sign.needle in text
    assert sign.needle, f"{sign.pattern.pattern}: give alternatives as patterns of their own"


def _rows(file: str) -> list[list[str]]:
    lines = Path(__file__).with_name(file).read_text().splitlines()
    return [line.replace("\\n", "\n").split("\t") for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(("kind", "name", "broker", "entry"), _rows("server-entries.tsv"))
def test_an_entry_of_a_server_names_its_fault(kind: str, name: str, broker: str, entry: str) -> None:
    [found] = gather(AT.format(1) + entry).lasting()
    assert (found.about, found.name, found.broker) == (kind, name, int(broker))


@pytest.mark.parametrize(("about", "name", "code", "line"), _rows("client-entries.tsv"))
def test_each_client_names_its_group_or_topic_in_its_own_place(about: str, name: str, code: str, line: str) -> None:
    [found] = gather(line).lasting()
    assert (found.about, found.name, found.code) == (about, name, int(code))


@pytest.mark.parametrize(
    "line",
    [
        "%7|1593460123.747|REQERR|rdkafka#c-1| [thrd:m]: failed: Broker: Not coordinator for group: actions Go",
        "2026-11-26 12:00:00,000 ERROR consume failed error=LEADER_NOT_AVAILABLE, retry",
    ],
)
def test_a_word_behind_an_error_is_no_name(line: str) -> None:
    assert gather(line).lasting() == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{GROUP}Group coordinator k:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: x",
         f"{GROUP}Discovered group coordinator k:9092 (id: 2147483645 rack: null)"),
        (f"{GROUP}Offset commit failed on partition t-0 at offset 7: This is not the correct coordinator.",
         f"{GROUP}Successfully joined group with generation 5"),
        (GONE.format("", "2") + "(kafka.controller.KafkaController)",
         GONE.format("2", "") + "(kafka.controller.KafkaController)"),
        ("ERROR [KafkaServer id=2] Fatal error during KafkaServer startup. (kafka.server.KafkaServer)",
         "INFO [KafkaServer id=2] started (kafka.server.KafkaServer)"),
        ("INFO [Partition t-0 broker=1] Shrinking ISR from 1,2 to 1. (kafka.cluster.Partition)",
         "INFO [Partition t-0 broker=1] ISR updated to [1,2] and zkVersion updated to [5] (kafka.cluster.Partition)"),
    ],
)  # fmt: skip
def test_a_later_entry_settles_an_error_by_its_time_and_not_by_its_line(before: str, after: str) -> None:
    error, end = AT.format(1) + before + "\n", AT.format(5) + after + "\n"
    assert gather(error + end).lasting() == gather(end + error).lasting() == ()
    late = AT.format(7) + before + "\n"
    assert len(gather(error + end + late).lasting()) == 1


def test_the_newest_epoch_of_a_partition_counts_in_the_logs_of_two_brokers() -> None:
    led = (
        f"{AT.format(5)}INFO [Controller id=2 epoch=7] Changed partition x-0 from OfflinePartition to OnlinePartition "
        "with state LeaderAndIsr(leader=2, leaderEpoch=6, isr=List(2, 3), zkVersion=9) (state.change.logger)\n"
    )
    lost = (
        f"{AT.format(1)}INFO [Controller id=1 epoch=7] Partition x-0 state changed to (Leader:-1,ISR:1,LeaderEpoch:5,"
        "ControllerEpoch:7) after removing replica 1 from the ISR as part of transition to OfflineReplica "
        "(state.change.logger)\n"
    )
    for text in (led + lost, lost + led):
        [read] = gather(text).read.values()
        assert (read.view.leader, read.view.leader_epoch) == (2, 6)


def test_a_folder_of_logs_is_one_text_and_names_who_stopped(tmp_path: Path) -> None:
    for broker in (1, 2):
        (tmp_path / f"broker-{broker}").mkdir()
        lines = [f"INFO [KafkaServer id={broker}] started (kafka.server.KafkaServer)"]
        lines += ["INFO [Log partition=t-0, dir=/data/a] Rolled new log segment (kafka.log.Log)"] * 100
        if broker == 2:
            lines += ["ERROR Shutdown broker because all log dirs in /data/a have failed (kafka.log.LogManager)"]
        text = "".join(f"{AT.format(n % 10)}{line}\n" for n, line in enumerate(lines))
        (tmp_path / f"broker-{broker}" / "server.log").write_text(text)
    [finding] = [f for f in diagnose(parse_folder(tmp_path, "logs")).findings if f.code != "KFX901"]
    assert (finding.code, finding.obj) == ("KFX406", "broker 2")
    assert finding.evidence[0].what == "broker-2/server.log:102"


def test_a_folder_without_anything_to_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        parse_folder(tmp_path, "logs")
    (tmp_path / "notes.txt").write_text("hello\n")
    with pytest.raises(InvalidFileError):
        parse_folder(tmp_path, "logs")


def test_an_unknown_error_is_shown_before_prose_and_is_never_healthy() -> None:
    text = (
        f"Hi all\n{AT.format(1)}WARN odd (a.B)\n{AT.format(2)}ERROR odder (a.B)\n{AT.format(3)}ERROR odd again (a.B)\n"
    )
    snapshot = parse_pasted(text, "paste.txt", 0.0)
    assert snapshot.pasted is not None
    assert (snapshot.pasted.skipped, snapshot.pasted.first_skipped[:7]) == (4, "line 3:")
    assert "errors in the text" in [source.name for source in snapshot.failed_sources]
