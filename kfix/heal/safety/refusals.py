"""Why a plan is refused: another cluster, a cut network, or stale facts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kfix.core.diagnosis.finding import Confidence, Finding
from kfix.core.errors import RefusedError
from kfix.core.harmless import lines
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.snapshot import ClusterIdentity
from kfix.heal.model.facts import Fact, FactJson, show_value
from kfix.heal.model.plan import Plan
from kfix.heal.probes.facts import read_facts

# Refuses every change during a network partition: the fault is not in Kafka, which recovers with the network.
#
# Why: docs/adr/011, docs/facts/network-partitions.md.

#: The checks that report a cut network, one per kind of cut.
CODES = frozenset({"KFX801", "KFX802", "KFX803", "KFX804", "KFX807", "KFX813"})
_SURE = frozenset({Confidence.CERTAIN, Confidence.LIKELY})


def cuts_in(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings, folded ones included, that report a cut with a confidence above "possible"."""
    return tuple(f for each in findings for f in each.walk() if f.code in CODES and f.cause.confidence in _SURE)


def refuse_while_cut(findings: Iterable[Finding], at: str = "") -> None:
    """Raises RefusedError, which names the cut and the remedy, if the findings report one; `at` ends its command."""
    for finding in cuts_in(findings):
        if finding.unsettled:
            raise RefusedError(
                lines(finding.summary, "kfix changes nothing while the network may be partitioned"),
                hint=f"diagnose again in a few seconds: kfix diagnose{at}",
            )
        raise RefusedError(
            lines(
                f"{finding.key}: {finding.summary}",
                "no election, no reassignment and no other change while the network is cut: "
                "each could lose records or make recovery harder",
            ),
            hint=f"repair the network; Kafka recovers by itself within seconds. Then check: kfix diagnose{at}",
        )


# Refuses to carry out a plan on another cluster, or over another security protocol, than it was made for.
#
# Another listener may have other permissions or lead to other addresses. The SASL user may differ, because a second
# operator has another login.


def refuse_elsewhere(plan: Plan, here: ClusterIdentity, subject: str) -> None:
    """Raises RefusedError if `here` is not the plan's cluster, or is reached over another protocol or SASL mechanism.

    `subject` names the plan or the run.
    """
    refuse_other_cluster(plan, here, subject)
    before, now = plan.cluster.security, here.security
    if (now.protocol, now.mechanism) == (before.protocol, before.mechanism):
        return
    way = "without --command-config" if before.protocol == "PLAINTEXT" else "with the plan's --command-config FILE"
    raise RefusedError(
        f"{subject} was made over {before}, this connection uses {now}; nothing was changed",
        hint=f"repeat the command {way}",
    )


def refuse_other_cluster(plan: Plan, here: ClusterIdentity, subject: str) -> None:
    """Raises RefusedError if `here` is not the plan's cluster."""
    if here.name != plan.cluster.name:
        raise RefusedError(f"{subject} is for cluster {plan.cluster.name}, this is {here.name}; nothing was changed")


@dataclass(frozen=True, slots=True)
class Drift:
    key: str
    was: FactJson
    is_: FactJson


class PlannedFacts:
    """The facts of a plan, updated only by the run's own changes."""

    def __init__(self, facts: Iterable[Fact], moved: Mapping[str, FactJson] | None = None) -> None:
        """`moved` holds the facts that the run's own changes had set before this process took over."""
        self._facts = {f.key: replace(f, value=moved[f.key]) if moved and f.key in moved else f for f in facts}

    def compare(self, keys: Iterable[str], reader: ClusterReader) -> tuple[dict[str, Fact], tuple[Drift, ...]]:
        """Returns the facts as they are now, and those that differ. Raises UnreachableError if they cannot be read."""
        now = read_facts(reader, keys)
        drifts = (Drift(key, self._facts[key].value, fact.value) for key, fact in now.items())
        return now, tuple(d for d in drifts if d.was != d.is_)

    def refresh(self, keys: Iterable[str], reader: ClusterReader) -> Mapping[str, Fact]:
        """Reads the facts that a change of this run may have altered. Their new values are expected from then on."""
        now = read_facts(reader, [key for key in keys if key in self._facts])
        self._facts |= now
        return now


def table(drifts: tuple[Drift, ...]) -> str:
    """Formats one line per fact: its key, its value in the plan, its value now."""
    rows = [("fact", "was", "is"), *((d.key, show_value(d.was), show_value(d.is_)) for d in drifts)]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return lines(*(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows))
