"""How findings name things: every check uses the same words."""

from collections.abc import Iterable, Mapping, Sequence

from kfix.core.derive.casefile import CaseFile
from kfix.core.wording import ago, at_least, at_most, brokers_named, either

# For how long brokers have been gone, in words: a bound, and which of the two it is.


def been_gone(brokers: Iterable[int], case: CaseFile, *, calm: bool = False) -> str:
    """Returns the end of `broker 3 has`: `been gone for at least 2 min`; "" if nothing bounds the time of all of them.

    `calm`: they may be restarting, because they have not been gone for longer than this.
    """
    found = [case.absence(broker) for broker in brokers]
    least, most = _least(each.at_least for each in found), _most(each.at_most for each in found)
    unsynced = _least(each.unsynced for each in found)
    if least is not None and most is not None and ago(least) == ago(most):
        return f"been gone for about {ago(least)}"
    if calm and most is not None:
        return f"been gone for {at_most(most)}"
    if unsynced is not None and (least is None or unsynced > least + 1):
        return f"been out of sync for {at_least(unsynced)}"
    if least is not None:
        return f"been gone for {at_least(least)}{f' and {at_most(most)}' if most is not None else ''}"
    return f"been gone for {at_most(most)}" if most is not None else ""


def left_ago(brokers: Iterable[int], case: CaseFile) -> str:
    """Returns the end of `broker 3 left`: ` at least 2 min ago`; "" if nothing shows when all of them left."""
    found = [case.absence(broker) for broker in brokers]
    least, most = _least(each.at_least for each in found), _most(each.at_most for each in found)
    if least is None:
        return ""
    return f" about {ago(least)} ago" if most is not None and ago(least) == ago(most) else f" {at_least(least)} ago"


def _least(bounds: Iterable[float | None]) -> float | None:
    known = [*bounds]
    return None if None in known else min((age for age in known if age is not None), default=None)


def _most(bounds: Iterable[float | None]) -> float | None:
    known = [*bounds]
    return None if None in known else max((age for age in known if age is not None), default=None)


#: Up to this many partitions are reported one by one; more of one kind are one finding.
MANY = 20

_ERRORS = {
    -1: "no answer",
    5: "5 LEADER_NOT_AVAILABLE",
    6: "6 NOT_LEADER_OR_FOLLOWER",
    7: "7 REQUEST_TIMED_OUT",
    14: "14 COORDINATOR_LOAD_IN_PROGRESS",
    15: "15 COORDINATOR_NOT_AVAILABLE",
    16: "16 NOT_COORDINATOR",
    19: "19 NOT_ENOUGH_REPLICAS",
    20: "20 NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    88: "88 UNSTABLE_OFFSET_COMMIT",
}


def not_alive(case: CaseFile) -> str:
    """Returns what is said of a dead broker: on KRaft its registration stays."""
    return "not alive" if case.kraft else "not registered"


def error_name(code: int) -> str:
    return _ERRORS.get(code, f"error {code}")


def start_any(brokers: Iterable[int], frozen: Iterable[int]) -> str:
    """Returns `Start broker 1 or 2`, and which of them is frozen: its process has to be ended first."""
    ids = tuple(brokers)
    hung = [b for b in ids if b in set(frozen)]
    return f"Start {either(ids)}" + (f" (end the frozen process of {brokers_named(hung)} first)" if hung else "")


def because(brokers: Sequence[int], signs: Mapping[int, str]) -> str:
    """Returns `it leads 3 partitions`, or `broker 1 leads 3 partitions` for the first of several."""
    return f"{'it' if len(brokers) == 1 else f'broker {brokers[0]}'} {signs[brokers[0]]}"
