"""What works today and will bite one day: told where it is asked for, once a cause, and nothing where nothing is."""

import json
import os
from dataclasses import replace
from typing import Any

import pytest

from kfix.core.criteria import Criteria, Expected
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.diagnosis.finding import Diagnosis, Finding, Severity
from kfix.core.snapshot.snapshot import Snapshot
from kfix.diagnose.report.json_findings import findings_json
from kfix.diagnose.report.table import findings_text
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics import ALL
from kfix_diagnostics.engine import diagnose, settle_seconds
from tests.places import GOLDEN
from tests.unit.diagnostics import prevention_cases
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.clusters import base, healthy, offsets_rf1, offsets_uncompacted
from tests.unit.diagnostics.kraft_clusters import UNCLEAN, quorum
from tests.unit.diagnostics.prevention import (
    coordinators_on_one,
    durable,
    kraft,
    lab,
    leaders_on_one,
    of_factor,
    racks,
    replicas_on_one,
    set_on,
)

GOLDEN_FOLDER = GOLDEN / "prevention"
WIDE = Criteria(prevention=True)
REPORTS = {
    "durable": durable,
    "lab": lab,
    "thin-topics": lambda: of_factor(2, topics=400),
    "unclean-default": lambda: durable(unclean_leader_election_enable="true", min_insync_replicas="1"),
    "leaders": lambda: leaders_on_one(preferred=False),
    "two-zones": lambda: racks("a", "b", "a"),
}


def judged(paper: Paper, **options: Any) -> Diagnosis:
    return diagnose(paper.snapshot(), criteria=Criteria(prevention=True, **options))


def keys(diagnosis: Diagnosis) -> set[str]:
    return {f.key for f in diagnosis.walk()}


def find(diagnosis: Diagnosis, code: str) -> Finding:
    return next(f for f in diagnosis.walk() if f.code == code)


@pytest.mark.parametrize("name", REPORTS)
def test_the_report_is_the_golden_one(name: str) -> None:
    said = findings_text(judged(REPORTS[name]()), width=100)
    path = GOLDEN_FOLDER / f"{name}.txt"
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(said)
    assert said == path.read_text(), "KFIX_UPDATE_GOLDEN=1 rewrites it"


def test_no_golden_file_is_left_over() -> None:
    assert {p.stem for p in GOLDEN_FOLDER.glob("*.txt")} == set(REPORTS)


def test_a_durable_cluster_has_only_the_risks_that_cannot_be_removed_or_seen() -> None:
    assert keys(judged(kraft(durable()))) == {"KFX616:producers"}
    diagnosis = judged(durable())
    assert keys(diagnosis) == {"KFX613:release", "KFX616:producers"}
    assert diagnosis.worst is Severity.INFO
    assert exit_code(diagnosis) == 0


def test_the_labs_defaults_are_reported() -> None:
    assert keys(judged(lab())) == {
        "KFX602:min.insync.replicas 1 by default",
        "KFX605:default.replication.factor",
        "KFX605:min.insync.replicas",
        "KFX605:transaction.state.log.min.isr",
        "KFX606:racks",
        "KFX612:zookeeper.session.timeout.ms",
        "KFX612:zookeeper.session.timeout.ms against replica.lag.time.max.ms",
        "KFX613:release",
        "KFX616:producers",
    }


def _prevention_clusters() -> list[Snapshot]:
    return [case.make() for cases in prevention_cases.SICK.values() for case in cases] + [healthy(), base().snapshot()]


def test_without_being_asked_for_none_of_it_is_reported_or_waited_for() -> None:
    codes = {check.code for check in ALL if check.prevention}
    for snapshot in _prevention_clusters():
        narrow, wide = diagnose(snapshot), diagnose(snapshot, criteria=WIDE)
        assert not codes & {f.code for f in narrow.walk()}
        assert not any(f.prevention for f in narrow.walk())
        assert {f.code for f in wide.walk() if f.prevention} <= codes
        assert keys(narrow) == {f.key for f in wide.walk() if not f.prevention}
        assert settle_seconds(snapshot, criteria=WIDE) == settle_seconds(snapshot)


def test_it_is_never_critical_and_never_waits() -> None:
    for check in ALL:
        if check.prevention:
            assert check.severity <= Severity.WARNING
            assert check.debounce.value == "none"
            assert check.code.startswith("KFX6") or check.code in {"KFX115", "KFX816"}
    assert [c.code for c in ALL if c.code.startswith("KFX6") and not c.prevention] == []


def test_four_hundred_topics_with_two_replicas_are_one_finding() -> None:
    finding = find(judged(of_factor(2, topics=400)), "KFX601")
    assert len(finding.partitions) == 800
    assert finding.summary.startswith("800 partitions of 400 topics have 2 replicas, but 3 are expected")
    assert finding.evidence[0].value.startswith("thin-000 (2), thin-001 (2)")
    assert finding.evidence[0].value.endswith("and 395 more")
    assert finding.remedies[0].runbook == "raise-topic-rf"


def test_an_open_transaction_explains_an_uncompacted_log_and_no_restart_helps() -> None:
    finding = find(diagnose(prevention_cases.offsets_held_by_a_transaction(), criteria=WIDE), "KFX115")
    assert finding.cause.text.startswith("producer id 4000 has an open transaction there")
    assert not any("estart" in remedy.text for remedy in finding.remedies)


def test_a_large_log_that_may_not_be_read_is_unknown_only_where_latent_risks_are_judged() -> None:
    snapshot = offsets_uncompacted(error="TOPIC_AUTHORIZATION_FAILED", records=-1, keys=-1, last_ms=-1, behind=-1)
    more = snapshot.offsets_sizes[-1]._replace(partition=47)
    snapshot = replace(snapshot, offsets_sizes=(*snapshot.offsets_sizes, more))
    assert diagnose(snapshot).could_not_read == ()
    found = diagnose(snapshot, criteria=WIDE)
    assert found.could_not_read == (
        "compaction on broker 2: __consumer_offsets-43 and 1 more: TOPIC_AUTHORIZATION_FAILED",
    )
    assert (exit_code(diagnose(snapshot)), exit_code(found)) == (0, 22)
    assert find(found, "KFX901").summary == (
        "compaction on broker 2 was not read. Still unknown: whether the log cleaner compacts these partitions (KFX115)"
    )


def test_the_compacted_copy_of_one_partition_is_no_remedy_for_another() -> None:
    moved, *others = find(diagnose(prevention_cases.one_copy_is_short(), criteria=WIDE), "KFX115").remedies
    assert moved.text.startswith("Move the leadership of __consumer_offsets-43 to a compacted copy, on broker 1")
    assert "restart" not in moved.text
    assert [remedy.text for remedy in others if remedy.text.startswith("First restart a broker that leads none")]


@pytest.mark.parametrize("setting", ["min.compaction.lag.ms=9000000000000", "min.cleanable.dirty.ratio=0.9"])
def test_the_cleaner_is_not_suspected_where_a_setting_of_the_topic_holds_it_back(setting: str) -> None:
    name, _, value = setting.partition("=")
    paper = base()
    paper.topic_settings = {OFFSETS_TOPIC: {name: value, "segment.bytes": "104857600"}}
    finding = find(diagnose(offsets_uncompacted(paper), criteria=WIDE), "KFX115")
    assert finding.cause.text == f"{name} of __consumer_offsets is {value}"
    assert [r.command.split(" --")[-1] for r in finding.remedies] == [f"delete-config {name}"]


def test_one_cause_is_reported_once() -> None:
    """Few replicas are advice of every day (KFX305), and topics that inherit a default follow from the default."""
    diagnosis = judged(of_factor(2, topics=3))
    assert "KFX305:replication factor 2" not in {f.key for f in diagnosis.findings}
    assert [f.code for f in find(diagnosis, "KFX601").folded] == ["KFX603", "KFX305"]
    weak = judged(durable(min_insync_replicas="1", unclean_leader_election_enable="true"))
    heads = {f.key: [c.code for c in f.folded] for f in weak.findings}
    assert heads["KFX605:min.insync.replicas"] == ["KFX602"]
    assert heads["KFX605:unclean.leader.election.enable"] == ["KFX604"]
    assert {f.code for f in judged(offsets_rf1()).findings} >= {"KFX303", "KFX605"}
    alone = judged(Paper().topic("__consumer_offsets", 2, replicas=[[2], [2]]))
    assert [c.code for c in find(alone, "KFX303").folded] == ["KFX610"]
    # Four brokers came later: the leaders are where the replicas are.
    assert [c.code for c in find(judged(replicas_on_one()), "KFX609").folded] == ["KFX608"]


def test_what_the_site_expects_decides() -> None:
    thin = of_factor(2)
    assert "KFX601" not in {f.code for f in judged(thin, expected=Expected(rf=2)).walk()}
    assert "KFX601:replication factor 3" in keys(judged(thin, expected=Expected(rf=4)))
    assert "KFX602" in {f.code for f in judged(durable(), expected=Expected(min_isr=3)).walk()}
    assert "KFX602" not in {
        f.code for f in judged(durable(min_insync_replicas="1"), expected=Expected(min_isr=1)).walk()
    }
    assert "KFX605:default.replication.factor" not in keys(judged(lab(), expected=Expected(rf=1)))


def test_no_more_replicas_are_proposed_than_there_are_brokers() -> None:
    finding = find(judged(Paper((1, 2)).topic("t", 3, rf=1)), "KFX601")
    assert [r.runbook for r in finding.remedies] == ["", "raise-topic-rf"]
    assert finding.remedies[1].command.endswith("-p topic=t -p rf=2 --bootstrap-server localhost:9092")
    finding = find(judged(Paper((1,)).topic("t", 3, rf=1)), "KFX601")
    assert [r.text for r in finding.remedies] == ["Add brokers: 1 cannot hold 3 replicas of a partition"]


def test_min_isr_is_never_proposed_at_the_replication_factor() -> None:
    for cases in prevention_cases.SICK.values():
        for case in cases:
            snapshot = case.make()
            diagnosis = diagnose(snapshot, criteria=WIDE)
            for finding in diagnosis.walk():
                for remedy in finding.remedies:
                    words = remedy.command.split()
                    given = dict(w.split("=") for w in words if "=" in w and w.count("=") == 1)
                    if remedy.runbook == "durable-defaults" and finding.code != "KFX604":
                        rows = [v.partitions for v in snapshot.views.values()]
                        least = min(len(p.replicas) for v in rows for tp, p in v.items() if tp.topic == given["topic"])
                        assert int(given["min_isr"]) < least, (finding.key, remedy)


def test_a_default_over_topics_with_too_few_replicas_comes_last() -> None:
    ready = find(judged(durable(min_insync_replicas="1")), "KFX605").remedies[0]
    assert ready.command.endswith("--entity-type brokers --entity-default --add-config min.insync.replicas=2")
    paper = durable(min_insync_replicas="1").topic("thin", 1, rf=1)
    first = find(judged(paper), "KFX605").remedies[0]
    assert first.runbook == "raise-topic-rf"
    assert "--add-config" not in first.command
    paper = durable(min_insync_replicas="1")
    paper.part("orders", 0).isr = (1,)
    [later] = find(judged(paper), "KFX605").remedies
    assert later.text.startswith("Wait until every partition has 2 in-sync replicas")
    assert not later.command


def test_settings_that_were_not_reported_are_not_judged() -> None:
    paper = durable(min_insync_replicas="1", unclean_leader_election_enable="true", default_replication_factor="1")
    blind = diagnose(paper.snapshot(broker_configs={}), criteria=WIDE)
    assert keys(blind) == {"KFX613:release", "KFX616:producers"}


def test_a_topics_own_setting_is_not_blamed_on_the_brokers() -> None:
    finding = find(judged(set_on(durable(), "orders", unclean_leader_election_enable="true")), "KFX604")
    assert finding.key == "KFX604:topics"
    assert finding.cause.text == "unclean.leader.election.enable is set to true on the topics themselves"


def test_leaders_that_were_taken_over_are_given_back_and_uneven_ones_are_reordered() -> None:
    took = find(judged(leaders_on_one(preferred=False)), "KFX608")
    assert [r.runbook for r in took.remedies] == ["leader-balance"]
    assert len(took.partitions) == 8
    uneven = find(judged(leaders_on_one(preferred=True)), "KFX608")
    assert [r.runbook for r in uneven.remedies] == ["move-replicas"]
    assert find(judged(coordinators_on_one(preferred=False)), "KFX610").remedies[0].runbook == "leader-balance"


def test_the_json_marks_what_is_prevention() -> None:
    said = json.loads(findings_json(judged(durable())))
    assert said["prevention"] is True
    assert [f["prevention"] for f in said["findings"]] == [True, True]
    assert json.loads(findings_json(diagnose(healthy())))["prevention"] is False


def on_kraft(controllers: dict[int, str], brokers: str = "false") -> Diagnosis:
    """The controllers have these values of unclean.leader.election.enable; 100 is active."""
    paper = kraft(durable(unclean_leader_election_enable=brokers))
    settings = {node: {UNCLEAN: value} for node, value in controllers.items()}
    view = quorum(controller_settings=settings, topic_settings={})
    return diagnose(paper.snapshot(quorum=view), criteria=WIDE)


def test_on_kraft_the_controllers_default_counts_and_not_the_brokers() -> None:
    told = on_kraft({100: "true", 101: "true", 102: "true"})
    finding = find(told, "KFX605")
    assert finding.key == f"KFX605:{UNCLEAN}"
    assert finding.summary.startswith(f"{UNCLEAN} is true, but false is expected")
    assert finding.cause.text.startswith("the controllers were set up")
    assert [(row.source, row.value) for row in finding.evidence] == [("controllers 100, 101, 102", "true")]
    assert "in the properties of every controller" in finding.remedies[0].text
    assert find(told, "KFX604").cause.text == f"the controllers' default of {UNCLEAN} is true"
    well = on_kraft({100: "false", 101: "false", 102: "false"}, brokers="true")
    assert {"KFX604", "KFX605"}.isdisjoint(f.code for f in well.walk())


def test_controllers_that_differ_are_reported_although_the_active_one_allows_none() -> None:
    told = on_kraft({100: "false", 101: "true", 102: "false"})
    assert find(told, "KFX605").summary.startswith(f"{UNCLEAN} is true while controller 101 is active, but false is")
    assert "KFX604" not in {f.code for f in told.walk()}
