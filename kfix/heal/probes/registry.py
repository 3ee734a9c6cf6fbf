"""Every probe that a runbook may name: those that the modules below declare."""

from __future__ import annotations

from collections.abc import Mapping

from kfix.core.errors import UnreachableError
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, Verdict
from kfix.heal.model.plan import CheckCall
from kfix.heal.probes import (
    brokers,
    configs,
    coordinators,
    features,
    groups,
    isr,
    leadership,
    logs,
    moves,
    quorum,
    rolling,
    transactions,
    voters,
)
from kfix.heal.probes.base import Probe

_MODULES = (
    brokers,
    configs,
    coordinators,
    features,
    groups,
    isr,
    leadership,
    logs,
    moves,
    quorum,
    rolling,
    transactions,
    voters,
)
_FOUND = (each for module in _MODULES for each in vars(module).values() if isinstance(each, Probe))
ALL: Mapping[str, Probe] = {each.name: each for each in sorted(_FOUND, key=lambda probe: probe.name)}


def ask(call: CheckCall, reader: ClusterReader) -> Answer:
    """Asks one probe. A source that does not answer makes the answer inconclusive; any other exception is a bug."""
    try:
        return ALL[call.check].ask(call.args, reader)
    except UnreachableError as error:
        return Answer(Verdict.INCONCLUSIVE, str(error), ALL[call.check].summary)
