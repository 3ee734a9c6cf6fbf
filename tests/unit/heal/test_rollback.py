"""What a rollback of finished moves takes back: the good copies only if everything is to be reverted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kfix.core.args import Args
from kfix.core.errors import RefusedError
from kfix.core.snapshot.snapshot import Assignment, TopicPartition
from kfix.heal.rollback import make_rollback
from tests.unit.heal.stage import Stage, created

TP = TopicPartition("orders", 0)


@pytest.fixture
def grown(tmp_path: Path) -> Stage:
    """Topic orders has one replica more than before."""
    stage = Stage("weak-topic", tmp_path, runbook="raise-topic-rf")
    stage.run(stage.plan(Args({"topic": "orders"})))
    return stage


def test_a_rollback_of_everything_moves_finished_copies_back(grown: Stage) -> None:
    undo = make_rollback(grown.last_run, grown.cluster, created(grown.cluster.clock.now()), everything=True)
    assert [step.action for step in undo.steps] == ["reassign.move"] * 6
    assert undo.steps[-1].args.brokers("replicas") == grown.cluster.records.assignments[TP].replicas[:2]


def test_a_rollback_keeps_finished_copies_and_names_the_option_that_does_not(grown: Stage) -> None:
    with pytest.raises(RefusedError, match="finished, and its copies are in sync; --all reverts it as well"):
        make_rollback(grown.last_run, grown.cluster, created(grown.cluster.clock.now()), everything=False)


@pytest.mark.parametrize("own", [True, False])
def test_only_a_move_of_the_run_itself_is_cancelled(grown: Stage, own: bool) -> None:
    now = grown.cluster.records.assignments[TP].replicas
    adding = now[2:] if own else (7,)
    grown.cluster.records.assignments[TP] = Assignment((*now[:2], *adding), adding=adding)
    undo = make_rollback(grown.last_run, grown.cluster, created(grown.cluster.clock.now()), everything=True)
    assert [step.action for step in undo.steps if step.target == str(TP)] == (["reassign.cancel"] if own else [])
    assert any("started by somebody else" in text for text in undo.warnings) is not own
