"""A diagnosis as Prometheus metrics for node_exporter's textfile collector, one file per cluster.

The label `cluster` is the name in the inventory (`-c`), or else the cluster's id. An unknown value is absent, never 0:
if a source was not read, or findings are not shown, only numbers above 0 are given. If the cluster could not be
diagnosed at all, `kfix_diagnosis_success` is 0 and the only metric. A cluster has at most 17 series, and one per check
that found something.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kfix import __version__
from kfix.core.diagnosis.finding import Diagnosis
from kfix.diagnose.report.verdict import UNREAD, cut_short, exit_code, known_counts
from kfix.front.exposition import Family, exposition

_LOOKED_AT: Final = {
    "partitions": "Number of partitions.",
    "topics": "Number of topics.",
    "brokers": "Number of brokers that answered.",
    "registered": "Number of live brokers; absent if unknown.",
}
_SUCCESS: Final = "1: the cluster was diagnosed; 0: it was not, and nothing is known about it."


def findings_metrics(diagnosis: Diagnosis) -> str:
    return exposition(_families(diagnosis))


def failure_metrics(cluster: str) -> str:
    """Returns the metrics of a diagnosis that failed; `cluster` is the requested cluster, "" if unknown."""
    return exposition([Family("kfix_diagnosis_success", _SUCCESS, [({"cluster": cluster}, 0)])])


def _families(diagnosis: Diagnosis) -> Iterator[Family]:
    label = {"cluster": diagnosis.profile or diagnosis.cluster}

    def one(name: str, text: str, value: float) -> Family:
        return Family(f"kfix_diagnosis_{name}", text, [(label, value)])

    yield one("success", _SUCCESS, 1)
    checks = Counter(f.code for f in diagnosis.counted() if f.code != UNREAD)
    about = {**label, "id": diagnosis.cluster, "kfix": __version__}
    yield Family("kfix_diagnosis_info", "The diagnosis that the metrics describe.", [(about, 1)])
    yield one("timestamp_seconds", "Time of the snapshot; alert on its age.", diagnosis.taken_at)
    yield one("exit_code", "0: healthy, 20: warnings, 21: critical, 22: unknown.", exit_code(diagnosis))
    yield one("unread_sources", "Sources that were not read; their state is unknown.", len(diagnosis.could_not_read))
    yield Family(
        "kfix_diagnosis_findings",
        "Findings by severity, consequences of other findings included.",
        # Zeros as well, so that alerts resolve, but no zero that is a guess.
        [({**label, "severity": severity.word}, n) for severity, n in known_counts(diagnosis).items() if n is not None],
    )
    yield Family(
        "kfix_diagnosis_check_findings",
        "Findings of one check, consequences of other findings included.",
        [({**label, "code": code}, n) for code, n in sorted(checks.items())],
    )
    if diagnosis.muted or not diagnosis.hidden.muted:
        yield one("muted_findings", "Findings that the inventory mutes; not counted otherwise.", len(diagnosis.muted))
    hidden = "Warnings and worse that --only, --topic or --min-severity left out; not counted otherwise."
    yield one("hidden_findings", hidden, len(diagnosis.hidden.alarms))
    yield one("maintenance", "1: in a maintenance window; findings raise no alert.", int(bool(diagnosis.maintenance)))
    if not diagnosis.hidden.runs:
        yield one("unfinished_runs", "Runs of this host that changed it and were cut short.", len(cut_short(diagnosis)))
    for name, text in _LOOKED_AT.items():
        if name in diagnosis.looked_at:
            yield one(name, text, diagnosis.looked_at[name])
