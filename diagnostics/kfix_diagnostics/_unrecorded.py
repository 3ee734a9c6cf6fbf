"""Partitions that brokers know and ZooKeeper lacks: whether brokers serve them, or only old metadata names them."""

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.partition_facts import PartitionFacts


def is_served(row: PartitionFacts, case: CaseFile) -> bool:
    """Returns whether a registered broker that holds a replica still knows a partition that ZooKeeper lacks.

    A broker without a replica, or one that is cut off, may have missed that the topic was deleted: only its metadata is
    stale then. Where no replica answered, the topic counts as served.
    """
    views = case.views_of(row.tp)
    registered = views.keys() - set(case.shut_out)
    replicas = {b for view in views.values() for b in view.replicas}
    return bool(registered) and (bool(registered & replicas) or not replicas & case.views.keys())
