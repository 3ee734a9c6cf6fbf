"""No remedy restarts the only in-sync replica of a partition without naming it, and unclean elections come first."""

from __future__ import annotations

import pytest

from kfix.core.derive.casefile import CaseFile, open_case
from kfix.core.derive.predicate import parse
from kfix.core.diagnosis.finding import ChangeKind
from kfix.core.snapshot.snapshot import Snapshot, TopicPartition
from kfix_diagnostics.engine import diagnose
from tests.proofs.diagnostics.random_clusters import UNCLEAN, cluster
from tests.unit.diagnostics import disk_clusters
from tests.unit.diagnostics.build import Paper
from tests.unit.diagnostics.cases import SICK
from tests.unit.diagnostics.clusters import base
from tests.unit.diagnostics.test_incidents import find

_EVERY = parse("n_isr >= 0", "test")
LOGS = TopicPartition("logs", 0)


def alone(case: CaseFile, broker: int) -> dict[TopicPartition, bool]:
    """Returns {partition whose ISR is this broker: whether Kafka may elect another replica}."""
    rows = case.partitions.where(_EVERY)
    mine = (r for r in rows if case.isr(r.tp) == (broker,) and not r.deleting and r.n_replicas > 1)
    runs = {*(case.live or ()), *case.shut_out}
    return {r.tp: r.unclean for r in mine if broker in runs and broker not in case.failed_replicas(r.tp)}


def agree(snapshot: Snapshot) -> int:
    """Returns how many remedies were judged."""
    case, judged = open_case(snapshot), 0
    for finding in diagnose(snapshot).walk():
        said: list[str] = []
        for remedy in finding.remedies:
            if ChangeKind.RESTART in remedy.changes and remedy.brokers:
                found = {tp: risky for b in remedy.brokers for tp, risky in alone(case, b).items()}
                judged += bool(found)
                assert not found or "no leader meanwhile: only broker" in remedy.text, (finding.key, remedy.text)
                first = {tp.topic for tp, risky in found.items() if risky}
                if first and not remedy.after:
                    assert any(f"set {UNCLEAN}=false on topic" in text for text in said), (finding.key, said)
            said.append(remedy.text)
    return judged


def test_in_random_clusters() -> None:
    assert sum(agree(cluster(number)) for number in range(200)) > 50


def test_in_any_case_of_any_check() -> None:
    for cases in SICK.values():
        for case in cases:
            agree(case.make())


def left_out(unclean: str) -> Paper:
    """Broker 1 alone is in sync, and has not added brokers 2 and 3, which have all records."""
    paper = base().topic("logs", 1, replicas=[[1, 2, 3]])
    paper.broker_settings = {b: {UNCLEAN: unclean} for b in (1, 2, 3)}
    part = paper.parts[LOGS]
    part.isr, part.version, part.age = (1,), 1, 600
    paper.log_ends = {LOGS: {1: 100, 2: 100, 3: 100}}
    return paper


@pytest.mark.parametrize("unclean", ["false", "true"])
def test_a_leader_that_is_alone_leads_again_and_the_setting_comes_before_its_restart(unclean: str) -> None:
    found = diagnose(left_out(unclean).snapshot())
    finding = find(found, "KFX810")
    *first, restart = finding.remedies
    assert [r.command.endswith(f"--add-config {UNCLEAN}=false") for r in first] == [True] * (unclean == "true")
    assert restart.text == (
        "Restart broker 1 with a clean shutdown, and no other broker: it leads again then, and computes a new ISR. "
        "logs-0 has no leader meanwhile: only broker 1 is in sync"
    )


def test_the_missing_replicas_are_explained_by_the_leader_that_left_them_out() -> None:
    [head] = [f for f in diagnose(left_out("false").snapshot()).findings if f.code == "KFX810"]
    [under] = head.folded
    assert under.code == "KFX301"
    assert under.cause.text == "brokers 2, 3 have all records, and the leader does not add them to the ISR, see KFX810"
    assert "lag" not in " ".join(r.text for r in under.remedies)
    assert "names the broker to start" not in " ".join(r.text for r in under.remedies)


def test_a_replica_that_lags_elsewhere_too_is_not_explained_by_it() -> None:
    paper = left_out("false").topic("more", 1, replicas=[[1, 2, 3]])
    part = paper.part("more", 0)
    part.isr, part.version, part.age = (1,), 1, 600
    paper.log_ends[TopicPartition("more", 0)] = {1: 100, 2: 40, 3: 40}
    under = find(diagnose(paper.snapshot()), "KFX301")
    assert "Find out why brokers 2, 3 lag: network" in under.remedies[0].text


def test_the_end_of_a_frozen_process_waits_for_the_setting() -> None:
    paper = base().topic("logs", 1, replicas=[[2, 1]])
    paper.topic_settings = {"logs": {UNCLEAN: "true", "min.insync.replicas": "1"}}
    part = paper.parts[LOGS]
    part.isr, part.version, part.age = (2,), 1, 6000
    paper.answering.discard(2)
    paper.silent = {2: "no answer in time"}
    _, setting, end = find(diagnose(paper.snapshot()), "KFX402").remedies
    assert setting.text.startswith(f"Before broker 2 is stopped: set {UNCLEAN}=false on topic logs")
    assert end.text.endswith("Then start it. logs-0 has no leader meanwhile: only broker 2 is in sync")


def test_the_last_resort_passes_over_a_broker_that_others_need() -> None:
    paper = base().topic("logs", 1, replicas=[[3, 2]]).topic("more", 1, replicas=[[1, 2]])
    paper.parts[LOGS].write(leader=-1, isr=(3,), age=600)
    part = paper.part("more", 0)
    part.isr, part.version, part.age = (1,), 1, 6000
    last = find(diagnose(paper.snapshot()), "KFX102").remedies[-1]
    assert (last.text, last.brokers) == ("Last resort: restart broker 2, which is not in the ISR", (2,))


def test_a_replica_in_a_failed_log_directory_is_not_stopped_by_a_restart() -> None:
    restart = find(diagnose(disk_clusters.only_in_sync()), "KFX406").remedies[0]
    assert "meanwhile" not in restart.text
