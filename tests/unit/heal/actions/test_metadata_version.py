"""metadata.version is raised once, to what every node supports, and only while every node answers."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.heal.actions.base import ActionStatus, NotApplicable
from kfix.heal.actions.metadata_version import MetadataVersionRaise
from kfix.heal.memory.cluster import MemoryCluster
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.answer import Verdict
from kfix.heal.model.plan import Gate
from kfix.heal.probes.facts import FactReader
from kfix.heal.probes.registry import ask

TO, ACTION = Args({"version": "4.4.0"}), MetadataVersionRaise()


def behind(variant: str = "") -> MemoryCluster:
    return INCIDENTS[f"metadata-version-behind{variant}"]().cluster


def guards(cluster: MemoryCluster) -> list[Verdict]:
    args = ACTION.freeze(TO, FactReader(behind()))
    return [ask(call, cluster).verdict for call in ACTION.guards(args)]


def test_it_is_raised_and_proved_and_there_is_no_second_time() -> None:
    cluster = behind()
    frozen = ACTION.freeze(TO, FactReader(cluster))
    assert (frozen.number("before"), frozen.number("level"), frozen.brokers("brokers")) == (30, 31, (1, 2, 3))
    assert set(guards(cluster)) == {Verdict.PASS}
    assert ACTION.probe(frozen, {}, cluster) is ActionStatus.NOT_STARTED
    assert ACTION.apply(frozen, cluster).accepted
    assert {ask(call, cluster).verdict for call in ACTION.proves(frozen)} == {Verdict.PASS}
    assert ACTION.probe(frozen, {}, cluster) is ActionStatus.DONE
    with pytest.raises(NotApplicable, match=r"is 31 \(4.4\) already"):
        ACTION.freeze(TO, FactReader(cluster))


@pytest.mark.parametrize(("variant", "verdict"), [("-mixed", Verdict.FAIL), ("-dead", Verdict.INCONCLUSIVE)])
def test_right_before_it_every_node_is_asked_again(variant: str, verdict: Verdict) -> None:
    assert guards(behind(variant))[0] is verdict


def test_a_node_that_does_not_answer_leaves_open_whether_it_was_done() -> None:
    assert ACTION.probe(ACTION.freeze(TO, FactReader(behind())), {}, behind("-dead")) is ActionStatus.UNKNOWN


def test_the_plan_says_what_nothing_takes_back() -> None:
    frozen = ACTION.freeze(TO, FactReader(behind()))
    shown = ACTION.preview(frozen)
    assert "from 30 (4.3) to 31 (4.4) for good" in shown.what
    assert shown.live == "metadata.version 31"
    assert ACTION.gate_for(frozen) is Gate.TYPED
    assert "no longer starts" in ACTION.inverse(frozen).text
