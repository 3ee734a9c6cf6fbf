"""The reports of the KRaft controllers while the brokers still run with ZooKeeper, as in a migration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kfix.core.collect.broker import BrokerAnswers
from kfix.core.collect.quorum import QuorumQuestion
from kfix.core.deadline import Deadline
from kfix.core.ledger import Ledger
from kfix.core.snapshot.quorum import QuorumView
from kfix.core.snapshot.snapshot import ZooKeeperView
from kfix.core.target import Target

_ADDRESSES = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")


def ask_migration(
    view: ZooKeeperView | None, answers: Iterable[BrokerAnswers], target: Target, deadline: Deadline, ledger: Ledger
) -> QuorumView | None:
    """Returns the quorum that the settings of the brokers name; None if ZooKeeper records no migration.

    Brokers with ZooKeeper do not know DescribeQuorum, so each controller is asked itself. A controller that does not
    respond is a fact about the migration, not a failed source.
    """
    if view is None or not view.migrating:
        return None
    found = list(answers)
    settings: Mapping[str, str] = next((a.configs for a in found if any(map(a.configs.get, _ADDRESSES))), {})
    cluster_id = next((a.cluster_id for a in found if a.cluster_id), "")
    question = QuorumQuestion(target, settings, deadline, ledger, cluster_id)
    question.wait_for_active()
    return question.answer({}, {}, None, {})
