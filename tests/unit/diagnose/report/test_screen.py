"""One screen: what is broken for whom, its cause and the next command first; what does not fit is counted."""

import io
import re
from dataclasses import replace

import pytest

from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Diagnosis, Finding, Remedy, Severity
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.diagnose.report.screen import MOST_LINES, NO_LIMIT, first_lines, screen_lines
from kfix.diagnose.report.verdict import counts
from kfix.front.console import console_on
from kfix.front.lines import lines_text
from kfix_diagnostics.engine import diagnose
from tests.each import for_each
from tests.unit.diagnostics.build import Paper

WORDS = "the leader epoch of the record is newer than that of the metadata that the brokers have " * 2


def fault(number: int, severity: Severity = Severity.CRITICAL, *folded: Finding) -> Finding:
    return Finding(
        code=f"KFX{100 + number % 800}",
        severity=severity,
        obj=f"topic-{number}",
        summary=f"topic-{number} has no leader: {WORDS}",
        cause=Cause(WORDS, Confidence.LIKELY),
        blocked=Blocked(f"producers of topic-{number}", (f"group-{number}",)),
        remedies=(Remedy(f"Elect {number}", f"kfix runbook apply fix-{number} --bootstrap-server a:1"),),
        never=(f"Do not restart broker {number}", "Do not wait"),
        folded=folded,
    )


def diagnosis(*findings: Finding, cluster: str = "prod") -> Diagnosis:
    return Diagnosis(cluster, 1_800_000_000.0, findings, (), {"partitions": 7, "brokers": 3})


def screen_text(found: Diagnosis, width: int = 100) -> str:
    return lines_text(screen_lines(found, width), width)


def test_sources_that_were_not_read_are_listed_and_are_no_findings() -> None:
    unread = replace(fault(1, Severity.INFO), code="KFX901")
    found = replace(diagnosis(fault(2, Severity.WARNING), unread), could_not_read=("broker 1: no answer",))
    assert screen_text(found).splitlines()[0].startswith("prod: 1 warning (")
    assert "not read:" in screen_text(found)
    both = replace(found, could_not_read=("topic-1: no answer", "broker 7: its answer is missing"))
    assert screen_text(both).count("topic-1") == 1
    assert "\n  broker 7: its answer is missing\n" in screen_text(both)
    # Without a finding about them, the sources themselves are listed.
    alone = replace(diagnosis(), could_not_read=("broker 1: no answer",))
    assert "not read:\n  broker 1: no answer\n" in screen_text(alone)


def test_partitions_with_one_cause_and_one_remedy_are_one_finding_that_lists_them() -> None:
    def stuck(number: int, remedy: str = "Elect") -> Finding:
        tp = TopicPartition("orders", number)
        same = replace(fault(1), summary=f"{tp} has no leader", blocked=Blocked(f"producers of {tp}", (f"g{number}",)))
        return replace(same, obj=str(tp), partitions=(tp,), remedies=(Remedy(remedy, "kfix runbook apply x"),))

    said = screen_text(diagnosis(stuck(0), stuck(1), stuck(2, "Start broker 3"), stuck(3)), 300)
    lines = said.splitlines()
    assert lines[0].startswith("prod: 2 critical (")
    assert lines[1:5] == [
        "what: orders-0 has no leader. 2 more partitions have the same cause and the same remedy (KFX101).",
        "blocked: 4 groups: g0, g1, g2, g3",
        "blocked: producers of orders-0, and of 2 more partitions",
        "blocked: producers of orders-2",
    ]
    assert [line for line in lines if line.startswith("CRITICAL")] == [
        "CRITICAL KFX101 orders-0, orders-1, orders-3",
        "CRITICAL KFX101 orders-2",
    ]


def test_a_remedy_that_waits_gives_way_to_what_it_waits_for() -> None:
    waits = Remedy("Wait until KFX300 (topic-200) is resolved. Then: elect", "", after=fault(200).key)
    first = replace(fault(1), remedies=(waits,))
    lines = screen_text(diagnosis(first, fault(200)), 300).splitlines()
    assert [line for line in lines if line.startswith("next: ")] == [
        "next: kfix runbook apply fix-200 --bootstrap-server a:1"
    ]


def test_it_may_wait_for_one_of_several_partitions_that_are_shown_as_one_finding() -> None:
    def stuck(number: int) -> Finding:
        tp = TopicPartition("orders", number)
        return replace(fault(200), obj=str(tp), partitions=(tp,))

    waits = Remedy("Wait until KFX300 (orders-1) is resolved. Then: restart", "", after=stuck(1).key)
    lines = screen_text(diagnosis(replace(fault(1), remedies=(waits,)), stuck(0), stuck(1)), 300).splitlines()
    assert lines[0].startswith("prod: 2 critical (")
    assert [line for line in lines if line.startswith("next: ")] == [
        "next: kfix runbook apply fix-200 --bootstrap-server a:1"
    ]


def test_the_name_of_the_cluster_stands_beside_its_id() -> None:
    named = replace(diagnosis(cluster="Kx3"), profile="orders-eu")
    assert screen_text(named).startswith("orders-eu (Kx3): healthy")
    sick = replace(diagnosis(fault(1)), profile="orders eu")
    assert "details and evidence: kfix diagnose -c 'orders eu' --verbose;" in screen_text(sick)
    assert "details and evidence: kfix diagnose --verbose;" in screen_text(diagnosis(fault(1)))


@for_each("width", [40, 60, 80, 100, 160])
@for_each("count", [1, 2, 6, 30, 500])
def test_any_number_of_faults_fits_a_screen_of_a_usual_width(count: int, width: int) -> None:
    said = screen_text(diagnosis(*map(fault, range(count))), width)
    if width >= 60:
        assert said.count("\n") <= MOST_LINES
    named = len(set(re.findall(r"^CRITICAL KFX\d+ (topic-\d+)", said, re.MULTILINE)))
    rest = re.search(r"^and (\d+) more finding", said, re.MULTILINE)
    assert named + (int(rest[1]) if rest else 0) == count
    assert named >= min(count, 12)


def test_six_faults_are_all_named_and_the_first_ones_explained() -> None:
    said = screen_text(diagnosis(*map(fault, range(6))), 100)
    assert [f"topic-{n}" in said for n in range(6)] == [True] * 6
    assert "next: kfix runbook apply fix-1 " in said


def test_the_worst_consequence_is_what_is_broken_and_its_cause_comes_second() -> None:
    bad = replace(fault(2), blocked=Blocked("producers of x", unaffected="consumers of x"))
    dead = replace(fault(1, Severity.WARNING, bad), remedies=(Remedy("Start broker 1"),), blocked=Blocked())
    text = screen_text(diagnosis(dead), 300)
    assert text.splitlines()[1:8] == [
        f"what: topic-2 has no leader: {WORDS} (KFX102).",
        "blocked: producers of x",
        "not affected: consumers of x",
        f"cause: topic-1 has no leader: {WORDS} (KFX101).",
        "next: Start broker 1.",
        "then: kfix runbook apply fix-2 --bootstrap-server a:1",
        "don't: restart broker 2.",
    ]
    # Nothing of it is repeated below.
    assert text.count("topic-2 has no leader") == text.count("Start broker 1") == 1


def test_consequences_are_cut_only_where_the_screen_is_full_and_the_rest_is_counted() -> None:
    children = [fault(n, Severity.WARNING) for n in range(10, 15)]
    said = screen_text(diagnosis(fault(1, Severity.CRITICAL, *children)), 100).splitlines()
    assert len([line for line in said if line.startswith("  WARNING")]) == 2
    assert "  and 3 more consequences: KFX112 warning, KFX113 warning, KFX114 warning" in said
    many = diagnosis(*(fault(n, Severity.CRITICAL, *children) for n in range(12)))
    assert screen_text(many, 80).count(" ...\n") > 0
    assert lines_text(screen_lines(many, 80, NO_LIMIT), 80).count("...") == 0


def test_advice_alone_blocks_no_group() -> None:
    advice = replace(fault(1, Severity.INFO), blocked=Blocked())
    said = screen_text(diagnosis(advice))
    assert said.startswith("prod: healthy, with advice")
    assert "blocked:" not in said
    assert "what:" not in said


def test_a_first_verdict_is_marked_and_a_healthy_one_is_not_reported() -> None:
    assert first_lines(diagnosis()) == []
    lines = lines_text(first_lines(diagnosis(fault(1))), 300).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "confirming a first verdict:",
        *("what", "blocked", "blocked", "cause (likely)", "next", "don't"),
    ]


@pytest.mark.parametrize(("said", "width"), [("77", 77), ("", 120), ("0", 120), ("wide", 120)])
def test_piped_text_is_as_wide_as_columns_states(monkeypatch: pytest.MonkeyPatch, said: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", said)
    assert console_on(io.StringIO()).width == width


def test_two_dead_brokers_of_one_finding_are_counted_once() -> None:
    """Each has a key of its own, which lasts when the other one comes back; the first finding is about both."""
    found = diagnose(Paper((1, 2, 3)).topic("orders", 3).kill(1).kill(2).snapshot())
    [dead] = (finding for finding in found.findings if finding.code == "KFX401")
    assert (dead.obj, [each.obj for each in dead.folded if each.code == "KFX401"]) == ("brokers 1, 2", ["broker 2"])
    every = [f"{f.code}:{f.severity.word}" for f in found.walk()]
    assert every.count("KFX401:warning") == 2
    counted = sum(each.endswith(":warning") for each in every) - 1
    assert f" {counted} warning" in screen_text(found).splitlines()[0]
    assert counts(found)[Severity.WARNING] == counted


def test_a_consequence_does_not_lend_its_severity_to_what_it_is_folded_under() -> None:
    below = fault(9, Severity.CRITICAL)
    rest = [fault(number, Severity.WARNING) for number in range(3, 6)]
    text = screen_text(diagnosis(fault(1, Severity.CRITICAL, *rest, fault(10, Severity.WARNING, below))))
    [line] = (line for line in text.splitlines() if "more consequence" in line)
    assert line.count("critical") == 1
