"""Which cluster is read where the bootstrap servers are of several."""

from __future__ import annotations

from kfix.core.collect.collector import meant
from kfix.core.snapshot.snapshot import Endpoint

A, B, C = (Endpoint("b", port) for port in (1, 2, 3))


def test_the_cluster_of_most_servers_is_meant_whichever_answered_first() -> None:
    servers = {"mine": [A, B], "other": [C]}
    assert [meant(servers, read) for read in servers] == ["mine", "mine"]


def test_of_two_clusters_with_as_many_servers_the_first_one_to_answer_is_meant() -> None:
    servers = {"mine": [A], "other": [C]}
    assert [meant(servers, read) for read in servers] == ["mine", "other"]


def test_the_cluster_that_the_inventory_names_is_meant_if_a_server_is_of_it() -> None:
    servers = {"mine": [A], "other": [B, C]}
    assert meant(servers, "other", "mine") == "mine"
    assert meant({"other": [B, C]}, "other", "mine") == "other"


def test_servers_that_did_not_answer_decide_nothing() -> None:
    assert meant({}, "mine") == "mine"
    assert meant({}, "", "mine") == ""
