"""For how long brokers have been gone, in words: a bound, and which of the two it is."""

from __future__ import annotations

from collections.abc import Iterable

from kfix.core.derive.casefile import CaseFile
from kfix.core.wording import ago, at_least, at_most


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
