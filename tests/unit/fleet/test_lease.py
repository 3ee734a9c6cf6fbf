"""The lease of a store: it holds until its time is over or its process is gone, and nobody renews another one's."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from kfix.core.errors import HeldError
from kfix.fleet.store import lease
from kfix.fleet.store.lease import HOLDS, LEASE, SKEW, _commit, _commit_mine, _last, _Lease, _opened, held_lease
from kfix.fleet.store.places import StoreLocation, place_of
from kfix.fleet.store.whoami import Holder, this_process


@pytest.fixture
def store(tmp_path: Path) -> StoreLocation:
    return place_of(tmp_path)


def taken(store: StoreLocation, holder: Holder, until: float) -> None:
    _commit(_opened(store / LEASE), holder, until)


def last(store: StoreLocation) -> _Lease | None:
    return _last(store / LEASE, _opened(store / LEASE))


def is_mine(found: _Lease | None) -> bool:
    me = this_process()
    return found is not None and (found.holder.pid, found.holder.host) == (me.pid, me.host)


ELSEWHERE = replace(this_process(), host="another-host")


def test_a_lease_that_holds_keeps_everybody_else_out_and_is_released_at_its_end(store: StoreLocation) -> None:
    with held_lease(store):
        assert is_mine(last(store))
        with pytest.raises(HeldError, match="another audit is running"), held_lease(store):
            raise AssertionError
    found = last(store)
    assert found is not None
    assert (is_mine(found), found.until, found.holds) == (True, 0.0, False)
    with held_lease(store):
        pass


@pytest.mark.parametrize(("ago", "held"), [(-100.0, True), (SKEW - 30, True), (SKEW + 30, False), (9999.0, False)])
def test_a_lease_ends_with_its_time_and_what_two_clocks_may_differ(
    store: StoreLocation, ago: float, held: bool
) -> None:
    taken(store, ELSEWHERE, time.time() - ago)
    if held:
        with pytest.raises(HeldError, match="another audit is running"), held_lease(store):
            raise AssertionError
        return
    with held_lease(store):
        assert is_mine(last(store))


def test_a_lease_that_another_process_has_taken_over_is_not_renewed(
    store: StoreLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RENEWED", 3600.0)
    me, later = this_process(), time.time() + HOLDS
    taken(store, me, later)
    _commit_mine(store / LEASE, me, later + 60)
    assert last(store) == _Lease(me, later + 60)
    taken(store, ELSEWHERE, later)
    _commit_mine(store / LEASE, me, later + 120)
    assert last(store) == _Lease(ELSEWHERE, later)
