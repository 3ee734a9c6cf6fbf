"""`kfix inspect log-dir` as an operator meets it: text, JSON, exit codes, and one clear line for what cannot be."""

import json
import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kfix.shell.app import app
from tests.each import for_each
from tests.places import GOLDEN
from tests.unit.core.disk.building import Disk, batch, group_key, group_value, offset_key, offset_value, run

GOLDEN_FOLDER = GOLDEN / "inspect"


@pytest.fixture
def kfix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*args):
        return CliRunner().invoke(app, ["inspect", "log-dir", *map(str, args)], env={"COLUMNS": "120"})

    return invoke


def three_brokers():
    """orders-0: broker 1 led until it died, 2 was elected unclean; payments-0: 3 lags; bills-0: all alike."""
    disks = [Disk(f"disks/b{n}", n) for n in (1, 2, 3)]
    whole = run(0, 200, 0)
    logs = (whole + run(200, 300, 0), whole + run(200, 250, 2), whole)
    epochs = ({0: 0}, {0: 0, 2: 200}, {0: 0})
    for disk, raw, noted in zip(disks, logs, epochs, strict=True):
        disk.partition("orders-0", raw, epochs=noted, hw=200)
        end = 70 if disk is disks[2] else 80
        disk.partition("payments-0", run(0, end, 4), epochs={4: 0}, hw=70)
        disk.partition("bills-0", run(0, 10, 0), epochs={0: 0, 7: 10} if disk is disks[0] else {0: 0}, hw=10)
        disk.partition("empty-0", b"", epochs={}, hw=0)
    pairs = [(offset_key("mail", "orders", n), offset_value(5)) for n in range(3)]
    pairs += [(group_key("mail"), group_value(2)), (group_key("odd\x1b[31m\nname"), group_value(0))]
    disks[1].partition("__consumer_offsets-3", batch(0, pairs=pairs), epochs={0: 0})
    (disks[2].path / ".kafka_cleanshutdown").touch()
    return disks


def test_what_an_operator_reads(kfix):
    three_brokers()
    torn = Path("disks/b3/bills-0") / f"{0:020d}.log"
    torn.write_bytes(torn.read_bytes() + batch(10, 5)[:50])
    topics = [word for topic in ("orders", "payments", "bills", "empty") for word in ("--topic", topic)]
    said = kfix("disks", "--groups", "all", *topics)
    assert said.exit_code == 21
    path = GOLDEN_FOLDER / "three-brokers.txt"
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        path.write_text(said.output)
    assert said.output == path.read_text(), "KFIX_UPDATE_GOLDEN=1 rewrites it"
    assert "\x1b" not in said.output


@pytest.mark.parametrize(
    ("chosen", "code", "verdict"),
    [("orders-0", 21, "divergent"), ("payments-0", 20, "behind"), ("bills-0", 0, "same"), ("empty-0", 0, "same")],
)
def test_exit_codes_follow_what_was_chosen(kfix, chosen, code, verdict):
    three_brokers()
    said = kfix("disks", "--partition", chosen, "--json")
    assert said.exit_code == json.loads(said.stdout)["exit_code"] == code
    assert [p["verdict"] for p in json.loads(said.stdout)["partitions"]] == [verdict]


def test_the_json_shows_who_would_lose_what(kfix):
    three_brokers()
    said = json.loads(kfix("disks", "--groups", "all", "--topic", "orders", "--json").stdout)
    [orders] = [p for p in said["partitions"] if p["topic"] == "orders"]
    assert orders["winner"] == 2
    by_pair = {(x["leader"], x["replica"]): x for x in orders["losses"]}
    assert {pair: x["records"] for pair, x in by_pair.items()} == {(2, 1): 100, (1, 2): 50, (3, 1): 100, (3, 2): 50}
    assert (by_pair[2, 1]["from"], by_pair[2, 1]["first"], by_pair[2, 1]["end"]) == (200, 200, 300)


def test_only_divergent_leaves_out_what_is_alike_and_counts_it(kfix):
    three_brokers()
    said = json.loads(kfix("disks", "--only-divergent", "--json").stdout)
    assert [p["topic"] for p in said["partitions"]] == ["orders", "payments"]
    assert said["counts"] == {"divergent": 1, "behind": 1, "apart": 0, "same": 2, "alone": 1}
    assert "bills-0" not in kfix("disks", "--only-divergent").stdout


def test_names_are_lines_for_other_commands(kfix):
    three_brokers()
    said = kfix("disks/b2", "--groups", "__consumer_offsets-3", "--names")
    assert (said.exit_code, said.stdout) == (0, "mail\nodd\\x1b[31m\\nname\n")


def test_one_directory_alone_shows_what_it_holds(kfix):
    three_brokers()
    said = kfix("disks/b1", "--topic", "orders")
    assert said.exit_code == 0
    assert "content:" in said.stdout
    assert "orders-0: offsets 0 to 299, hw at least 200" in said.stdout


def test_what_could_not_be_read_is_22_unless_records_are_at_stake(kfix):
    disks = three_brokers()
    os.mkfifo(disks[0].path / "bills-0" / f"{10:020d}.log")
    assert kfix("disks", "--topic", "bills").exit_code == 22
    assert kfix("disks").exit_code == 21


def test_directories_of_different_clusters_are_refused(kfix):
    Disk("b1", 1)
    Disk("b2", 2, cluster="another")
    said = kfix("b1", "b2")
    assert said.exit_code == 3
    assert "directories of different clusters: PxjXw2V1QZyKBlYh0sVt6w (b1), another (b2)" in said.stderr


def test_one_broker_with_two_disks_is_one_broker_and_a_partition_twice_is_reported(kfix):
    one, two = Disk("d1", 1), Disk("d2", 1)
    one.partition("orders-0", run(0, 10, 0), epochs={0: 0})
    two.partition("orders-1", run(0, 10, 0), epochs={0: 0})
    assert kfix("d1", "d2").exit_code == 0
    two.partition("orders-0", run(0, 20, 0), epochs={0: 0})
    said = kfix("d1", "d2")
    assert said.exit_code == 20
    assert "not compared: broker 1 has it twice: d1/orders-0 and d2/orders-0" in " ".join(said.stdout.split())


@for_each(
    ("args", "words"),
    [
        (["absent"], "absent: cannot be read: no such file or directory"),
        (["b1", "--partition", "orders"], "--partition: 'orders' is not a partition"),
        (["b1", "--partition", "orders-x"], "'orders-x' is not a partition"),
        (["b1", "--partition", "orders-7"], "no replica of orders-7 in b1"),
        (["b1", "--topic", "bills"], "no replica of bills in b1"),
        (["b1", "--groups", "orders-0"], "groups are stored only in __consumer_offsets"),
        (["b1", "--groups", "__consumer_offsets-9"], "no replica of __consumer_offsets-9"),
        (["b1", "--groups", "all"], "no replica of __consumer_offsets in b1"),
        (["b1", "--names"], "--names needs --groups"),
        (["b1/orders-0"], "is the folder of one partition"),
    ],
)
def test_what_cannot_be_is_one_line(kfix, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    Disk("b1", 1).partition("orders-0", run(0, 10, 0), epochs={0: 0})
    said = kfix(*args)
    assert said.exit_code == 2
    assert said.stderr.startswith("kfix: ")
    assert words in said.stderr


def test_a_disk_that_cannot_be_written_is_read(kfix):
    disks = three_brokers()
    every = [disks[0].path, *disks[0].path.rglob("*")]
    for path in every:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    assert kfix("disks/b1").exit_code == 0
    for path in every:
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
