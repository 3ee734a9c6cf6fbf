"""Settings of topics that brokers refuse to show, or that one of them did not: what is unknown then."""

from __future__ import annotations

from dataclasses import replace

from kfix.core.criteria import Criteria
from kfix.core.snapshot.snapshot import Snapshot, Source
from kfix.diagnose.report.verdict import exit_code
from kfix_diagnostics.engine import diagnose
from tests.unit.diagnostics import kraft_clusters
from tests.unit.diagnostics.clusters import base

EVERYTHING = Criteria(prevention=True)
_REFUSED = Source("topic configs", ok=False, error="secret: TOPIC_AUTHORIZATION_FAILED")


def with_a_secret_topic(*failed: Source, unclean: str = "false") -> Snapshot:
    """Returns a cluster in which orders and secret are below min.insync.replicas; the settings of secret are unread."""
    paper = kraft_clusters.kraft(base().topic("secret", 1, replicas=[[1, 2, 3]]))
    for tp, part in paper.parts.items():
        if tp.topic in {"orders", "secret"}:
            part.isr = (part.leader,)
    own = {"min.insync.replicas": "2", "unclean.leader.election.enable": unclean}
    settings = {"orders": own, "__consumer_offsets": {"min.insync.replicas": "2"}}
    made = paper.snapshot(quorum=kraft_clusters.quorum(topic_settings={"orders": own}), topic_configs=settings)
    return replace(made, sources=(*made.sources, *failed))


def test_a_topic_whose_settings_are_refused_hides_no_finding_of_another_topic() -> None:
    diagnosis = diagnose(with_a_secret_topic(_REFUSED))
    found = {(f.code, tp.topic) for f in diagnosis.walk() for tp in f.partitions}
    assert ("KFX301", "orders") in found
    assert ("KFX301", "secret") not in found
    assert ("KFX302", "secret") in found
    assert diagnosis.could_not_read == ("topic configs: secret: TOPIC_AUTHORIZATION_FAILED",)
    latent = diagnose(with_a_secret_topic(_REFUSED, unclean="true"), criteria=EVERYTHING)
    assert "KFX604" in {f.code for f in latent.walk()}


def test_settings_that_another_broker_reported_are_read_and_those_that_none_did_are_not() -> None:
    one = Source("topic configs broker 1", ok=False, error="no answer in time")
    healthy = kraft_clusters.healthy()
    other = replace(healthy, topic_configs={"orders": {"min.insync.replicas": "2"}}, sources=(*healthy.sources, one))
    assert (exit_code(diagnose(other)), diagnose(other).could_not_read) == (0, ())
    nothing = replace(other, topic_configs={})
    assert (exit_code(diagnose(nothing)), diagnose(nothing).could_not_read) == (
        22,
        ("topic configs broker 1: no answer in time",),
    )
