"""A group that a quota holds back: which quota counts, and what the finding states of it and of what is unknown."""

import pytest

from kfix.core.diagnosis.finding import Finding
from kfix.core.snapshot.fleet_facts import Quota
from kfix.core.snapshot.snapshot import Snapshot
from kfix_diagnostics.engine import diagnose
from kfix_diagnostics.groups._throttled import quota_of
from tests.unit.diagnostics.group_readings import STILL, limited

#: From the one that counts first to the one that counts last.
ORDER = [
    Quota(user, client, None, "consumer_byte_rate", float(rate))
    for rate, (user, client) in enumerate([("", "c1"), ("", ""), ("", None), (None, "c1"), (None, "")])
]


def found(snapshot: Snapshot) -> Finding:
    [finding] = [each for each in diagnose(snapshot).walk() if each.code == "KFX123"]
    return finding


def test_the_quota_and_both_rates_are_named_with_its_command() -> None:
    finding = found(limited(2000.0))
    assert "the quota of client id c1 allows 2 kB/s from each broker, and 15 kB/s arrive at broker" in finding.summary
    assert "--add-config consumer_byte_rate=BYTES --entity-type clients --entity-name c1" in finding.remedies[0].text
    assert "no request shows them" in finding.evidence[-1].value


def test_a_quota_explains_that_nothing_is_committed_for_a_while() -> None:
    assert "allows 2 kB/s" in found(limited(2000.0, moments=STILL)).summary
    assert not [each for each in diagnose(limited(1e6, moments=STILL)).walk() if each.code == "KFX123"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rate": 1e6}, "none of them, and no default, is known to allow less than arrives"),
        ({"rate": 2000.0, "size": 0.0}, "(the size of its records was not read)"),
        ({"rate": 2000.0, "key": "producer_byte_rate"}, "none limits fetches"),
        ({"rate": 2000.0, "client": "another"}, "none of them, and no default"),
    ],
)
def test_a_quota_that_explains_nothing_is_not_the_cause(changes: dict[str, object], said: str) -> None:
    finding = found(limited(**changes))  # type: ignore[arg-type]
    assert "as many as it reads" in finding.summary
    assert any(said in each.value for each in finding.evidence), finding.evidence


def test_the_quota_that_counts_first_is_taken() -> None:
    for first in range(len(ORDER)):
        assert quota_of("c1", tuple(reversed(ORDER[first:]))) == ORDER[first]
    assert quota_of("c2", (ORDER[0], ORDER[3])) is None
    assert "the quota of every user allows" in found(limited(2000.0, user="", client=None)).summary
    assert "--entity-type users --entity-default" in found(limited(2000.0, user="", client=None)).remedies[0].text
