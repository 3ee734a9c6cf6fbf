"""A migration from ZooKeeper to KRaft in which the KRaft controller has taken over (docs/facts/zookeeper.md)."""

from __future__ import annotations

from kfix.model.cluster.snapshot import ControllerNode


def why_unchanged(controller: ControllerNode) -> str:
    """Returns why nothing may be changed through ZooKeeper's record; empty where no KRaft controller owns it.

    That controller writes ZooKeeper after its own log, so the record may be behind. It is no broker, and a deleted
    `/controller` would be a step of the way back to ZooKeeper.
    """
    if not controller.is_kraft:
        return ""
    return (
        f"KRaft controller {controller.broker} has taken over (kraftControllerEpoch {controller.kraft_epoch} in "
        "/controller): a migration from ZooKeeper to KRaft is under way, and kfix changes nothing by what ZooKeeper "
        "records. Once a broker runs on KRaft, give its address (--bootstrap-server)"
    )
