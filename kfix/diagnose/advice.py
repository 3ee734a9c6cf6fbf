"""Remedies that reduce the risk of one failure, with commands to paste; none of them changes anything by itself."""

import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Final

from kfix.core.derive.coordinator import INTERNAL_TOPICS
from kfix.core.diagnosis.finding import Remedy
from kfix.core.diagnosis.forecast import FailureForecast, Forecast, LatentRisk, LatentRiskKind
from kfix.core.wording import brokers_named, several

#: Topics with a command of their own, per kind of risk; the text names the others.
_MOST_COMMANDS: Final = 3


def remedies_of(forecast: Forecast, failure: FailureForecast) -> tuple[Remedy, ...]:
    """Returns the remedies, safest first."""
    return tuple(_remedies(failure, forecast.options))


def _remedies(failure: FailureForecast, at: str) -> Iterator[Remedy]:
    totals = Counter(risk.kind for risk in failure.risks)
    shown: Counter[LatentRiskKind] = Counter()
    for risk in failure.risks:
        shown[risk.kind] += 1
        rest = totals[risk.kind] - _MOST_COMMANDS
        if shown[risk.kind] <= _MOST_COMMANDS:
            last = shown[risk.kind] == _MOST_COMMANDS and rest > 0
            yield _REMEDIES[risk.kind](risk, at, f"; {several(rest, 'more topic')} likewise" if last else "")


def _diverged(risk: LatentRisk, at: str, _more: str) -> Remedy:
    text = (
        f"ZooKeeper's record of {several(risk.count, 'partition')} differs from the controller's memory: have the "
        "controller read the record again while all replicas are alive"
    )
    if risk.count > 1:
        return Remedy(text, f"kfix diagnose --only KFX201 {at}")
    key = shlex.quote(f"KFX201:{risk.tp}")
    return Remedy(text, f"kfix runbook plan metadata-divergence --finding {key} {at}", "metadata-divergence")


def _out_of_sync(risk: LatentRisk, at: str, _more: str) -> Remedy:
    text = (
        f"{several(risk.count, 'partition')} of these {'has' if risk.count == 1 else 'have'} replicas on "
        f"{brokers_named(risk.brokers)} that would survive and are not in sync today: bring them back into the ISR "
        "first"
    )
    return Remedy(text, f"kfix diagnose {at}")


def _one_rack(risk: LatentRisk, at: str, more: str) -> Remedy:
    partitions = several(risk.count, "partition")
    text = f"All replicas of {partitions} of {risk.topic} are in one rack: spread them over the racks{more}"
    return Remedy(text, f"kfix runbook plan spread-replicas -p {_topic(risk)} {at}", "spread-replicas")


def _few_replicas(risk: LatentRisk, at: str, more: str) -> Remedy:
    name = "raise-offsets-rf" if risk.topic in INTERNAL_TOPICS else "raise-topic-rf"
    text = (
        f"{risk.topic} has partitions with {several(risk.replicas, 'replica')}: raise its replication factor to "
        f"{risk.factor}{more}"
    )
    return Remedy(text, f"kfix runbook plan {name} -p {_topic(risk)} -p rf={risk.factor} {at}", name)


def _min_isr_is_rf(risk: LatentRisk, _at: str, _more: str) -> Remedy:
    text = (
        f"min.insync.replicas is equal to the replication factor in {several(risk.count, 'partition')}: the loss of "
        "any replica stops acks=all producers there"
    )
    return Remedy(text, "kfix explain KFX603")


def _unclean(_risk: LatentRisk, _at: str, _more: str) -> Remedy:
    return Remedy("Disable unclean elections where records matter more than availability", "kfix explain KFX604")


def _topic(risk: LatentRisk) -> str:
    return shlex.quote(f"topic={risk.topic}")


_REMEDIES: Final = {
    LatentRiskKind.DIVERGED: _diverged,
    LatentRiskKind.OUT_OF_SYNC: _out_of_sync,
    LatentRiskKind.ONE_RACK: _one_rack,
    LatentRiskKind.FEW_REPLICAS: _few_replicas,
    LatentRiskKind.MIN_ISR_IS_RF: _min_isr_is_rf,
    LatentRiskKind.UNCLEAN: _unclean,
}
