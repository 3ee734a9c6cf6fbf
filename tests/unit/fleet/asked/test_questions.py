"""Each question on a fleet whose truth is planted: its rows are exactly these, and what was not read is named."""

import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from kfix.core.errors import UsageError
from kfix.core.snapshot.snapshot import LogEnd
from kfix.fleet.cli.audit import app
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.asking import ask
from kfix.fleet.questions.catalogue import question, questions
from kfix.fleet.store.places import place_of
from kfix.fleet.store.staging import RunWriter
from kfix.fleet.store.tables import ALL
from tests.each import for_each
from tests.places import ROOT
from tests.unit.fleet.asked.page import questions_page
from tests.unit.fleet.asked.planted import MB, Night, PlantedFleet, at, day, paper_of

FLEET = PlantedFleet()
X, Y, Z = FLEET.lost
NO_ZOOKEEPER = "blocks: Kafka 4 has no ZooKeeper; migrate to KRaft on 3.9 first"
NOWHERE = "no effect: Kafka 4 has no such setting"
ACL, NO_ACL, OPEN = "acl", "authorizer.class.name", "allow.everyone.if.no.acl.found"
ROOM = "the free space is not known: Kafka reports it from 3.3 on"
ZK = ("alpha", "dying", "older", "skewed")
OF_NIGHT_2 = [
    (-X, "orders", 0, 1, 2, "another epoch begins earlier", FLEET.a + 50 - X, 2),
    (-Y, "orders", 1, 1, 2, "the log ends earlier", FLEET.b + 10 - Y, 2),
    (-8, "torn", 0, 1, 2, "another epoch begins earlier", 112, 1),
]
LOST = [*sorted(OF_NIGHT_2), (-Z, "orders", 2, 1, 3, "another epoch begins earlier", FLEET.c + 1 - Z, 3)]
OLD = "blocks: upgrade the software to 3.9 first"
OLD_FORMAT = "changes: Kafka 4 writes records in format 2 only, which clients before 0.11 cannot read"


def moment(number):
    return datetime.fromtimestamp(at(number), UTC)


#: {question: its rows}; of those whose rows have a text of a finding, without that.
ANSWERS = {
    "lost-records": [
        ("alpha", topic, n, day(before), day(now), how, first, -lost, 0 if topic == "torn" else -lost, leader, "yes")
        for lost, topic, n, before, now, how, first, leader in LOST
    ],
    # 10 to 20 MB a night, 40 MB in all; orders grew by 3 x 2 of 3 x 3 MB.
    "disk-full": [
        ("alpha", 1, "/d", 860 * MB, 40 * MB // 3, 43, 64, 86, "orders", 66, ""),
        *(("beta", b, "/d", None, 15 * MB * 24 // 65, None, None, None, "events", 100, ROOM) for b in (1, 2, 3)),
    ],
    "failed-disks": [("dying", 2, "/broken", "KAFKA_STORAGE_ERROR")],
    "upgrade-4": [
        ("alpha", "zookeeper", "cluster", "alpha", "zk", NO_ZOOKEEPER),
        *(
            ("alpha", "inter.broker.protocol.version (newest)", "broker", b, "2.7-IV2", OLD)
            for b in "123"
        ),
        ("alpha", "message.format.version", "topic", "retain", "0.10.2", OLD_FORMAT),
        *(("alpha", "offsets.commit.required.acks", "broker", b, "-1", NOWHERE) for b in "123"),
        ("beta", "metadata.version", "cluster", "", "6", "blocks: the level has to be that of 3.3 (7) at least"),
        *((name, "zookeeper", "cluster", name, "zk", NO_ZOOKEEPER) for name in ZK[1:]),
    ],
    "certificates-ending": [
        ("beta", 3, "SSL", -1, "commonName=beta-3", "commonName=ca"),
        ("beta", 1, "SSL", 30, "commonName=beta-1", "commonName=ca"),
    ],
    "plaintext-listeners": [
        ("alpha", 1, "PLAINTEXT", "PLAINTEXT", "10.0.0.1", 9092),
        ("alpha", 2, "INTERNAL", "SASL_PLAINTEXT", "10.0.0.2", 9092),
        ("alpha", 3, "EXTERNAL", "not known", None, 9091),
    ],
    "topics-anyone-may-write": [
        ("alpha", "idle", "User:ANONYMOUS", ACL), ("alpha", "orders", "User:*", ACL),
        ("beta", "events", "User:*", NO_ACL), ("skewed", "spare", "User:*", OPEN),
    ],
    "topics-anyone-may-read": [
        ("alpha", "idle", "User:ANONYMOUS", ACL), ("alpha", "readonly", "User:*", ACL),
        ("beta", "events", "User:*", NO_ACL), ("skewed", "spare", "User:*", OPEN),
    ],
    "allow-all": [
        ("alpha", "User:admin", "*", "topic", ACL), ("alpha", "User:root", "*", "any", "super.users"),
        ("beta", "User:*", "*", "any", NO_ACL),
    ],
    "dead-weight": [
        ("alpha", "team-a", "idle", False, 3, 2, 6 * MB, 72), ("alpha", "team-a", "empty", True, 3, 1, 3 * MB, 72),
    ],
    "one-replica": [("alpha", "team-a", "single", 1, MB), ("dying", "team-d", "fragile", 2, None)],
    "leader-skew": [("skewed", 1, 9, 2, 3, 3)],
    "byte-skew": [("skewed", 1, 89 * MB, 269 * MB // 4, "lead", 1, 12 * MB, 4, 77 * MB)],
    "traffic-skew": [
        ("skewed", 1, 1080, 545, "lead", 3, 92), ("alpha", 2, 320, 121, "orders", 0, 93),
        ("dying", 1, 30, 20, "thin", 0, 33),
    ],
    "restarting-brokers": [("dying", 3, "c", 2, 2, day(3))],
    "failing-racks": [("dying", "c", 1, 2, day(3))],
    # alpha: a group outside the log, a topic below its minimum. dying, in its two nights: broker 3, its topic, `thin`.
    "failing-owners": [("team-d", 1, 6, 2, 6), ("team-a", 1, 2, 2, 2)],
    "failing-versions": [("3.9", 1, 6, 2, 6), ("2.7", 1, 2, 2, 2)],
    # In seconds: seen in one night alone, an outage lasted for less than two days.
    "recovery-times": [
        ("KFX301", 3, 2, 0, None, 0, None, 2 * 86_400), ("KFX104", 2, 1, 0, 2 * 86_400, 0, 2 * 86_400, 2 * 86_400),
        ("KFX401", 2, 1, 0, 2 * 86_400, 0, 2 * 86_400, 2 * 86_400), ("KFX113", 1, 0, *[None] * 5),
    ],
    "risks-come-true": [("dying", 3, day(0), day(1), 2, 2), ("dying", 3, day(2), day(3), 2, 2)],
    "growing-lag": [("alpha", "slow", "orders", 100, 400, 4)],
    "offsets-outside": [("alpha", "ahead", "clean", 1)],
    "quotas": [
        ("beta", "app", None, None, "producer_byte_rate", 1e6), ("beta", "", "", None, "request_percentage", 5.0),
    ],
    "config-drift": [("alpha", "compression.type", "zstd", "zstd", 1, 3), ("alpha", "num.io.threads", "16", "8", 3, 3)],
    "spare-replicas": [("skewed", "spare", 4, 3, 2, 2 * MB)],
    "few-replicas": [("alpha", "single", 1, 3, 1), ("dying", "fragile", 1, 3, 2)],
    "coordinator-load": [("skewed", 1, 6, 1)],
    "under-min-isr": [
        # `fragile` has one replica, too: from 3.7 on a leader requires no more than there are.
        ("alpha", "single", 4, day(0), day(3), 1), ("dying", "thin", 2, day(0), day(2), 1),
    ],
    "stuck-reassignments": [("alpha", "move0", 0, day(1), 3, 3)],
    "clock-skew": [("beta", day(3))],
    "end-of-life": [(name, day(0)) for name in ZK],
    "oldest-outages": [
        ("alpha", "KFX113:group ahead", 3, day(0), 1), ("alpha", "KFX301:replication factor", 3, day(0), 1),
        ("dying", "KFX401:broker 3", 0, day(3), 0),
    ],
    "mixed-versions": [("alpha", 2, 1, 13, 12)],
    "moving-leaders": [
        ("dying", topic, n, 3, 3, moment(1), moment(3)) for topic, n in (("fragile", 0), ("fragile", 1), ("wide", 2))
    ],
    # Without a leader in the nights 1 and 3: the first time it ended between one night and two nights later.
    "leaderless-times": [("dying", "fragile", 2, 4, 2, 0, 2 * 86_400, 0, 2 * 86_400, moment(3))],
    "not-read": [
        ("alpha", "certificates", "kfix read the brokers without TLS: no certificate was shown"),
        ("alpha", "quotas", "not asked"),
        ("dying", "certificates", "kfix read the brokers without TLS: no certificate was shown"),
        ("dying", "log_dirs of broker 3", "broker 3 does not respond to kfix"),
        ("far", "cluster", "connection refused"),
        ("older", "facts", "its snapshot was taken without the facts of a fleet"),
        ("skewed", "certificates", "kfix read the brokers without TLS: no certificate was shown"),
        ("skewed", "group_lag", "the offsets of 1 group were not asked for"),
    ],
}  # fmt: skip
SIZED = ("biggest-topics", "topics-by-owner")


def sizes():
    """Returns {(cluster, topic): sizes of its partitions on each broker} of the last night, of what is planted."""
    found = {}
    for name, night in FLEET.nights(3).items():
        night.grows()
        for (tp, broker), size in night.sizes.items():
            if broker in night.paper.answering:
                found.setdefault((name, tp.topic), []).append(size)
    return found


def rows_of_sizes():
    parts = {name: night.paper.parts for name, night in FLEET.nights(3).items()}
    counted = {key: [tp for tp in parts[key[0]] if tp.topic == key[1]] for key in sizes()}
    rf = {key: len(parts[key[0]][tps[0]].replicas) for key, tps in counted.items()}
    biggest = sorted((-sum(found), *key, len(counted[key]), rf[key], max(found)) for key, found in sizes().items())
    return [(cluster, topic, n, r, -size, most) for size, cluster, topic, n, r, most in biggest]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("asked")
    FLEET.write(root, EmbeddedEngine(1))
    return root


def asked(store, name, **more):
    return ask(place_of(store), EmbeddedEngine(1), question(name), days=30, **more)


def rows(answer):
    columns = [c for c in answer.question.columns if c != "summary"]
    return [tuple(row[c] for c in columns) for row in answer.rows.to_pylist()]


@for_each("name", [name for name in questions() if name not in SIZED])
def test_a_question_finds_what_is_planted_and_nothing_that_looks_like_it(name, store):
    answer = asked(store, name)
    assert tuple(answer.rows.column_names) == answer.question.columns
    assert rows(answer) == ANSWERS[name]


def test_questions_about_changes_read_those_of_the_days_alone_and_miss_no_outage_that_is_older(tmp_path):
    FLEET.write(tmp_path, EmbeddedEngine(1), nights=3)
    # It began in the night before: how long it lasted at most is not known.
    assert rows(ask_days(tmp_path, 1)) == [("dying", "fragile", 2, 2, 0, 0, None, 0, None, None)]
    assert rows(ask_days(tmp_path, 2)) == [("dying", "fragile", 2, 2, 0, 0, 2 * 86_400, 0, 2 * 86_400, moment(1))]
    assert rows(ask(place_of(tmp_path), EmbeddedEngine(1), question("moving-leaders"), days=1)) == []


def ask_days(store, days):
    return ask(place_of(store), EmbeddedEngine(1), question("leaderless-times"), days=days)


def test_sizes_are_those_of_the_replicas_that_were_read(store):
    expected = rows_of_sizes()
    assert rows(asked(store, "biggest-topics")) == expected
    by_owner = {row[0]: row[1:] for row in rows(asked(store, "topics-by-owner"))}
    team_a = [row for row in expected if row[0] in {"alpha", "skewed"}]
    assert by_owner["team-a"] == (2, len(team_a), sum(r[2] for r in team_a), sum(r[4] for r in team_a))
    assert by_owner["team-o"] == (1, 1, 3, None)


def test_what_was_not_read_is_named_and_never_passes_for_an_all_clear(store):
    words = {
        name: [each.words for each in asked(store, name).not_read] for name in ("lost-records", "quotas", "clock-skew")
    }
    far, not_asked = "far: connection refused", "this run did not ask for it"
    assert words == {
        "lost-records": [far, f"older: partition_logs: {not_asked}"],
        "quotas": ["alpha: quotas: not asked", far, f"older: quotas: {not_asked}"],
        "clock-skew": [far],
    }
    assert "dying: log_dirs of broker 3: broker 3 does not respond to kfix" in [
        each.words for each in asked(store, "byte-skew").not_read
    ]


def test_one_run_has_nothing_to_compare_with_and_says_so(store):
    answer = asked(store, "lost-records", snapshots=1)
    assert rows(answer) == []
    alone = {each.cluster for each in answer.not_read if each.why == "one run alone has it: nothing to compare with"}
    assert alone == {"alpha", "beta", "dying", "skewed"}


def test_a_question_about_findings_says_if_no_audit_has_judged_a_cluster(store, tmp_path):
    FLEET.write(tmp_path, None, nights=1)
    answer = asked(tmp_path, "end-of-life")
    assert rows(answer) == []
    assert {each.cluster for each in answer.not_read if each.fact == "audit"} == {"alpha", "beta", *ZK}


@for_each("name", [*questions()])
def test_the_head_of_a_question_names_its_tables_and_columns(name):
    each = question(name)
    used = {spec.name for spec in ALL if re.search(rf"\b(FROM|JOIN) {spec.name}\b", each.sql)}
    assert used == {*each.tables}
    assert each.text.endswith("?")
    assert each.columns
    known = {"partition_logs", "log_dirs", "settings", "topic_settings", "listeners", "certificates", "acls", "apis"}
    assert {*each.facts} <= known | {"group_lag", "quotas"}
    documented = (ROOT / "docs" / "tables.md").read_text()
    assert all(f"\n## {table}\n" in documented for table in each.tables)


def test_each_question_has_a_page_with_an_example(store):
    path = ROOT / "docs" / "fleet-questions.md"
    made = questions_page([asked(store, name) for name in questions()])
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        path.write_text(made)
    assert path.read_text() == made, "KFIX_UPDATE_GOLDEN=1 rewrites it"


def run(*words):
    return CliRunner().invoke(app, ["query", *map(str, words)])


def test_a_question_is_asked_by_name_and_exits_with_22_if_not_all_was_read(store):
    found = run("--ask", "quotas", "--store", store)
    assert found.exit_code == 22
    assert found.output.startswith("Which quotas do clients have?\n")
    assert "not read: alpha: quotas: not asked" in found.output
    data = json.loads(run("--ask", "upgrade-4", "--store", store, "--json").output)
    assert "DeprecatedRequestsPerSec" in data["unknown"]
    assert data["rows"][0]["cluster"] == "alpha"
    assert data["not_read"][0] == {"cluster": "far", "fact": "cluster", "broker": None, "why": "connection refused"}
    assert run("--ask", "failed-disks", "--store", store, "--csv").output.startswith("cluster,broker,directory,error")


def test_all_questions_are_listed_without_a_store():
    found = run("--ask", "list")
    assert found.exit_code == 0
    assert all(name in found.output for name in questions())
    assert len(questions()) >= 25


def test_a_question_that_there_is_not_is_an_error_with_the_next_one():
    with pytest.raises(UsageError, match="there is no question 'lost-record', did you mean 'lost-records'"):
        question("lost-record")


def test_days_of_the_fleet_are_what_the_tests_take_them_for():
    assert day(3) - day(0) == timedelta(days=3)


def test_a_file_with_the_ends_of_all_logs_is_enough_for_the_earlier_of_two_runs(tmp_path):
    """As `kfix snapshot save` writes it; that of a diagnosis has the ends of some logs, and shows nothing."""
    paper = paper_of({"orders": (3, 3)})
    seen = next(iter(paper.snapshot().views.values())).partitions
    ends = {tp: {each.leader: LogEnd(0, 100)} for tp, each in seen.items()}
    late = Night(1, paper_of({"orders": (3, 3)}))
    late.log("orders", 0, 150, epoch=6, earlier=[(0, 93)])
    late.log("orders", 1, 100, epoch=0)
    late.log("orders", 2, 120, epoch=1, earlier=[(0, 100)])
    for number, partly in enumerate((True, False)):
        root = place_of(tmp_path / str(number))
        logs = dict(list(ends.items())[:2]) if partly else ends
        early = replace(paper.snapshot(log_ends=logs), visible={tp: dict.fromkeys(e, 98) for tp, e in logs.items()})
        for night, snapshot in enumerate((early, late.snapshot())):
            writer = RunWriter(root, day(night), "n", at=at(night))
            writer.write("plant", snapshot)
            writer.finish()
        answer = asked(tmp_path / str(number), "lost-records")
        assert [row[6:9] for row in rows(answer)] == ([] if partly else [(93, 7, 5)])
        assert [each.why for each in answer.not_read] == (
            ["one run alone has it: nothing to compare with"] if partly else []
        )
