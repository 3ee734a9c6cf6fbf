"""Whether Kafka may elect a replica outside the ISR by itself, on KRaft: there no broker's setting decides.

The active controller elects by the topic's own value, and without one by its own setting: its properties, the dynamic
ones of its node id, and the cluster-wide dynamic ones. A broker reports its own setting instead (docs/facts/kraft.md).
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from kfix.core.snapshot.snapshot import Snapshot

UNCLEAN: Final = "unclean.leader.election.enable"
_CONTROLLER: Final = "controller"


def controller_settings(snapshot: Snapshot) -> dict[int, Mapping[str, str]]:
    """Returns {controller: its settings}, of those that reported them.

    A node that is broker and controller in one process has the same settings as both.
    """
    if snapshot.quorum is None:
        return {}
    both = {
        node: configs
        for node, configs in snapshot.broker_configs.items()
        if _CONTROLLER in (role.strip() for role in configs.get("process.roles", "").split(","))
    }
    return dict(sorted((both | {n: c for n, c in snapshot.quorum.controller_settings.items() if c}).items()))


def unclean_by_default(snapshot: Snapshot) -> bool | None:
    """Returns whether the active controller elects uncleanly for topics without their own value; None if unknown."""
    quorum = snapshot.quorum
    return None if quorum is None or not quorum.read else _unclean_at({quorum.leader}, snapshot)


def unclean_elsewhere(snapshot: Snapshot) -> bool | None:
    """Returns the same for every other controller; None if they differ, or if one is unknown."""
    quorum = snapshot.quorum
    if quorum is None or not quorum.read:
        return None
    return _unclean_at({each.node for each in quorum.voters} - {quorum.leader}, snapshot)


def _unclean_at(controllers: AbstractSet[int], snapshot: Snapshot) -> bool | None:
    settings = controller_settings(snapshot)
    values = {settings.get(node, {}).get(UNCLEAN) for node in controllers}
    value = values.pop() if len(values) == 1 else None
    return None if value is None else value.lower() == "true"


def unclean_of(topic: str, default: bool | None, snapshot: Snapshot) -> bool | None:
    """Returns whether the active controller elects uncleanly for this topic; None if that is unknown.

    `default` is the result of `unclean_by_default`. If the topic's own value is not known, the value that a broker
    reports counts if it is true, or if the controller has the same default.
    """
    own = snapshot.quorum.topic_settings if snapshot.quorum is not None else None
    if own is not None:
        value = own.get(topic, {}).get(UNCLEAN)
        return default if value is None else value.lower() == "true"
    shown = snapshot.topic_configs.get(topic, {}).get(UNCLEAN)
    if shown is None:
        return default
    if shown.lower() == "true":
        return True
    return False if default is False else None
