"""The log directory of the only voter: planned from what was read, written once, and looked up after a lost answer."""

from __future__ import annotations

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.heal.actions.base import ActionStatus
from kfix.heal.actions.new_log import MetadataLogWrite
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.model.plan import Gate
from kfix.heal.probes.facts import FactReader, read_facts
from kfix.heal.probes.registry import ask

GIVEN = Args({"copies": "/disks/102,/disks/1", "into": "/disks/new", "node": 102, "lost": "100,101", "unread": ""})


def frozen(args: Args = GIVEN, incident: str = "quorum-majority-lost") -> Args:
    return MetadataLogWrite().freeze(args, FactReader(INCIDENTS[incident]().cluster))


def test_the_plan_names_the_copy_its_end_and_an_epoch_far_above_all() -> None:
    args = frozen()
    assert [args[name] for name in ("seed", "from_node", "epoch", "end", "fence", "applied")] == [
        "/disks/102",
        102,
        5,
        100,
        100_007,
        99,
    ]
    shown = MetadataLogWrite().preview(args)
    assert "up to offset 100, then epoch 100007" in shown.what
    assert shown.estimate.max_loss == "changes of metadata after offset 99 that only the lost controllers 100,101 had"
    assert MetadataLogWrite().gate_for(args) is Gate.TYPED


def test_what_is_lost_and_what_becomes_valid_is_said() -> None:
    args = frozen().with_(applied=97, unread="3")
    loss = MetadataLogWrite().preview(args).estimate.max_loss
    assert "and the nodes 3, which were not read, had" in loss
    assert "2 records after offset 97, which no broker has applied, become valid" in loss


def test_it_is_written_once_and_proved() -> None:
    cluster, action = INCIDENTS["quorum-majority-lost"]().cluster, MetadataLogWrite()
    args = frozen()
    assert all(ask(call, cluster).passed for call in action.guards(args))
    assert action.probe(args, {}, cluster) is ActionStatus.NOT_STARTED
    assert action.apply(args, cluster).accepted
    assert action.probe(args, {}, cluster) is ActionStatus.DONE
    assert all(ask(call, cluster).passed for call in action.proves(args))
    assert not any(ask(call, cluster).passed for call in action.guards(args))
    assert "exists already" in action.apply(args, cluster).message
    assert action.probe(args.with_(node=101), {}, cluster) is ActionStatus.UNKNOWN
    assert not action.inverse(args).reversible


def test_the_plan_is_stale_once_a_copy_or_a_broker_has_changed() -> None:
    cluster = INCIDENTS["quorum-majority-lost"]().cluster
    keys = MetadataLogWrite().reads(frozen())
    before = read_facts(cluster, keys)
    cluster.disks["/disks/1"] = cluster.disks["/disks/1"]._replace(end=101)
    cluster.silence(3)
    now = read_facts(cluster, keys)
    assert all(before[key].value != now[key].value for key in keys)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"copies": "disks/102"}, "'disks/102' is not an absolute path"),
        ({"into": "new"}, "'new' is not an absolute path"),
        ({"lost": "one"}, "lost='one' is not a list of node ids"),
        ({"copies": "/disks/102,/disks/7"}, "/disks/7 was not read whole: does not exist"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        frozen(Args({**GIVEN, **given}))
