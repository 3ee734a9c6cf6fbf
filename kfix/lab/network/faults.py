"""Network faults: cut, isolate, slow, heal. A fault is recorded first, so that `heal` and `down` know it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kfix.core.errors import LabError, UsageError
from kfix.lab.definition.recipes import ON
from kfix.lab.definition.state import KINDS, LinkCut, Slow, no_such
from kfix.lab.network import filters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kfix.lab.definition.state import Network, Zone
    from kfix.lab.definition.store import Store

_LEAST_KBIT, _MOST_DELAY_MS = 8, 10_000


def cut(store: Store, one: str, other: str, *, one_way: bool = False, only: str = "") -> tuple[LinkCut, ...]:
    """Returns the new cuts: what `one` sends no longer arrives at `other`, nor, without `one_way`, the reverse."""
    network = network_of(store)
    _check_kind(store, only)
    for name in (one, other):
        _known(network, name)
    if one == other:
        raise UsageError(f"a zone cannot be cut from itself: {one}", hint="name two zones")
    return _add(store, (LinkCut(one, other, only), *(() if one_way else (LinkCut(other, one, only),))))


def isolate(store: Store, name: str, only: str = "") -> tuple[LinkCut, ...]:
    """Cuts a zone from every other zone, in both directions; the observer still reaches it."""
    network = network_of(store)
    _check_kind(store, only)
    _known(network, name)
    others = [zone.name for zone in network.zones if zone.name != name]
    return _add(store, (LinkCut(a, b, only) for other in others for a, b in ((name, other), (other, name))))


def slow(store: Store, zone: str, kbit: int, delay_ms: int = 0) -> None:
    if kbit < _LEAST_KBIT or not 0 <= delay_ms <= _MOST_DELAY_MS:
        raise UsageError(f"--kbit is at least {_LEAST_KBIT}, --delay 0 to {_MOST_DELAY_MS} milliseconds")
    network = network_of(store)
    _known(network, zone)
    others = tuple(each for each in network.slow if each.zone != zone)
    try:
        _keep(store, replace(network, slow=(*others, Slow(zone, kbit, delay_ms))))
    except LabError as problem:
        _keep(store, replace(network, slow=others))
        if delay_ms:
            problem.hint = "this kernel has no netem, which delays packets: omit --delay"
        raise


def heal(store: Store) -> int:
    """Removes all cuts and slow links and returns their number."""
    network = network_of(store)
    _keep(store, replace(network, cuts=(), slow=()))
    return len(network.cuts) + len(network.slow)


def _check_kind(store: Store, only: str) -> None:
    mode = store.load().spec.recipe.mode
    if only and only not in KINDS[mode]:
        raise UsageError(f"--only {only}: {ON[mode]} one of {', '.join(KINDS[mode])}")


def network_of(store: Store) -> Network:
    network = store.load().network
    if network is None:
        raise UsageError(f"lab {store.name!r} has no zones", hint="kfix lab up --zones 3 starts a lab with zones")
    return network


def sentences(network: Network | None) -> tuple[str, ...]:
    """Returns a sentence for each fault of the network."""
    if network is None:
        return ()
    whole = set(network.cuts)
    found: list[str] = []
    for each in network.cuts:
        back = LinkCut(each.target, each.source, each.only)
        what = f" ({each.only} only)" if each.only else ""
        if back not in whole:
            found.append(f"{each.target} receives nothing from {each.source}{what}")
        elif each.source < each.target:
            found.append(f"{each.source} and {each.target} are cut from each other{what}")
    for link in network.slow:
        delay = f", {link.delay_ms} ms delay" if link.delay_ms else ""
        found.append(f"{link.zone} is slow: {link.kbit} kbit/s{delay}")
    return tuple(found)


def _add(store: Store, cuts: Iterable[LinkCut]) -> tuple[LinkCut, ...]:
    network = network_of(store)
    new = tuple(each for each in cuts if each not in network.cuts)
    _keep(store, replace(network, cuts=(*network.cuts, *new)))
    return new


def _keep(store: Store, network: Network) -> None:
    filters.apply(store.update(lambda state: replace(state, network=network)))


def zone_of_broker(store: Store, broker_id: int) -> str:
    """Returns the name of the zone. Raises UsageError if the lab has no zones or no such broker."""
    network_of(store)
    state = store.load()
    broker = state.broker(broker_id)
    if broker is None or broker.zone is None:
        raise no_such(state, "broker", broker_id)
    return broker.zone


def zone_of(store: Store, name: str) -> Zone:
    return _known(network_of(store), name)


def _known(network: Network, name: str) -> Zone:
    zone = network.zone(name)
    if zone is None:
        names = ", ".join(each.name for each in network.zones)
        raise UsageError(f"the lab has no zone {name!r}", hint=f"its zones: {names}")
    return zone
