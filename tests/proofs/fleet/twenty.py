"""Twenty days of whole audits with a known history: a broker dies and returns, gaps, a part of the fleet, a rename.

Cluster `a` (team-a) loses its broker 6 on DOWN and is not read on UNREAD. On PART only `b` (team-b), which grows, is
audited. Cluster `old` is named `new` from RENAMED on. The audit of REPEATED is done twice.
"""

from kfix.core.inventory.model import Inventory
from kfix.fleet.engines.embedded import EmbeddedEngine
from tests.unit.fleet.audit_runs import again, cluster, day_of, entry
from tests.unit.fleet.audit_runs import audited_without_scenarios as audited

DAYS = 20
DOWN = frozenset({3, 4, 5, 9, 14, 15, 16, 19})
UNREAD = frozenset({4, 15})
PART = 11
RENAMED = 10
REPEATED = 7
INVENTORY = Inventory({n: entry(n, owner=o) for n, o in (("a", "team-a"), ("b", "team-b"), ("old", ""), ("new", ""))})


def is_down(number):
    return number in DOWN


def deaths(number):
    return sum(is_down(n) != is_down(n - 1) for n in range(1, number + 1))


def clusters(number):
    found = [cluster("b", number, partitions=60 + 6 * number)]
    if number != PART:
        found.append(cluster("old" if number < RENAMED else "new", number, partitions=30))
        if number not in UNREAD:
            found.append(cluster("a", number, dead=int(is_down(number)), partitions=60, deaths=deaths(number)))
    return found


def twenty_days(root, days=DAYS, engine=None):
    """Writes the store and returns its last audit."""
    engine = engine or EmbeddedEngine(1)
    for number in range(days):
        failed = {"a": "no broker answered"} if number in UNREAD else {}
        last = audited(root, clusters(number), engine, number=number, failed=failed, inventory=INVENTORY)
        if number == REPEATED:
            last = again(root, engine, number=number, inventory=INVENTORY)
    return last


def days_of(*numbers):
    return tuple(map(day_of, numbers))
