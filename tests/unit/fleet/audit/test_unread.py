"""An audit judges latent risks, and so reports what it does not know of them."""

from kfix.fleet.engines.embedded import EmbeddedEngine
from tests.unit.diagnostics.clusters import offsets_uncompacted
from tests.unit.fleet.audit_runs import audited, reported


def test_a_large_offsets_log_that_may_not_be_read_is_reported(tmp_path):
    unread = offsets_uncompacted(error="TOPIC_AUTHORIZATION_FAILED", records=-1, keys=-1, last_ms=-1, behind=-1)
    engine = EmbeddedEngine(1)
    found = audited(tmp_path, [], engine, snapshots={"a": unread, "b": offsets_uncompacted()})
    findings = reported(tmp_path, found, engine).findings
    codes = {(f.cluster, f.code) for f in findings}
    assert {("a", "KFX901"), ("b", "KFX115")} <= codes
    assert not codes & {("b", "KFX901"), ("a", "KFX115")}
    [told] = [f for f in findings if f.code == "KFX901"]
    assert "whether the log cleaner compacts these partitions (KFX115)" in told.summary
