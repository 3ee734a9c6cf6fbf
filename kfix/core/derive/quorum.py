"""Whether a KRaft cluster has an active controller, from the reports of its controllers and brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kfix.core.snapshot.quorum import ControllerAnswer, QuorumView
from kfix.core.snapshot.snapshot import BrokerView

#: In seconds. An active controller writes every 0.5 s, and a broker applies that at once.
_STANDS_STILL = 0.6
#: Part of the name of every error of an authorizer.
_REFUSED = "AUTHORIZATION_FAILED"


def quorum_lost(view: QuorumView) -> bool:
    """Returns whether no controller is active. Controllers that cannot be reached from here prove nothing.

    Either every voter was asked, and each is absent or answers that it is not the active one. Or the request that a
    broker forwards gets no answer, and no broker applies any metadata, which an active controller writes twice a
    second. A refusal is an answer, maybe of the active controller.
    """
    if view.read or view.advancing:
        return False
    unanswered = bool(view.forwarded) and _REFUSED not in view.forwarded
    stands_still = view.advancing is False and view.apart >= _STANDS_STILL and unanswered
    addresses = {each.address for each in view.controllers}
    voters = set(view.configured.values())
    settled = bool(voters) and voters <= addresses and all(each.answered or each.refused for each in view.controllers)
    return stands_still or settled


def fresh_views(views: Mapping[int, BrokerView], quorum: QuorumView | None) -> Mapping[int, BrokerView]:
    """Returns the views that are not known to be older; all of them if none is newer."""
    if quorum is None:
        return views
    fresh = {b: view for b, view in views.items() if not quorum.stale(b)}
    return fresh or views


def listed_alive(views: Mapping[int, BrokerView], quorum: QuorumView | None) -> frozenset[int] | None:
    """Returns the brokers that most views list as alive, on KRaft the unfenced ones; None if no view lists any.

    A view with older metadata does not count: it lists dead brokers as alive, and itself.
    """
    lists = [set(view.alive) for view in fresh_views(views, quorum).values() if view.alive]
    if not lists:
        return None
    votes = Counter(broker for alive in lists for broker in alive)
    return frozenset(b for b, n in votes.items() if 2 * n > len(lists))


def answering(view: QuorumView) -> tuple[ControllerAnswer, ...]:
    return tuple(each for each in view.controllers if each.answered)


def not_answering(view: QuorumView) -> tuple[ControllerAnswer, ...]:
    return tuple(each for each in view.controllers if not each.answered)


def majority(voters: int) -> int:
    """Returns how many of the voters have to be alive for an active controller."""
    return voters // 2 + 1


def absence(view: QuorumView, broker: int) -> float | None:
    """Returns the seconds since the broker last fetched metadata, None if the controller no longer knows it.

    The controller forgets an observer 5 minutes after its last fetch, and at each change of the active controller.
    """
    ages = [each.fetched for each in (*view.observers, *view.voters) if each.node == broker and each.fetched >= 0]
    return min(ages) if ages else None
