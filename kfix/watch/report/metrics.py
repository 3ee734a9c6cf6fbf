"""A watch as Prometheus metrics (docs/watch.md lists them).

An unknown value is absent, never 0: while the cluster does not answer, there is no number of findings. An alert on that
uses `kfix_watch_up == 0` or the age of the last complete snapshot.
"""

from collections import Counter
from collections.abc import Iterator

from kfix.core.diagnosis.finding import Severity
from kfix.front.exposition import Family, Sample, exposition
from kfix.watch.model import WatchState

_FALLS_BEHIND = "KFX123"


def watch_metrics(state: WatchState, now: float) -> str:
    """Returns the exposition text at `now` (seconds since the epoch) of the state after the last snapshot."""
    return exposition([*_of_cluster(state, now), *_of_reading(state), *_of_watch(state), *_of_canary(state)])


def _of_cluster(state: WatchState, now: float) -> Iterator[Family]:
    here = {"cluster": state.name}
    diagnosis = state.diagnosis if state.confirmed else None
    yield _gauge("up", "1: the last snapshot reached the cluster.", [(here, int(state.diagnosis is not None))])
    complete = [] if state.complete_at is None else [(here, state.complete_at)]
    yield _gauge("last_complete_snapshot_timestamp_seconds", "Time of the last snapshot with all sources.", complete)
    age = [] if state.complete_at is None else [(here, round(max(now - state.complete_at, 0.0), 3))]
    yield _gauge("last_complete_snapshot_age_seconds", "Time since the last snapshot with all sources.", age)
    at_work = int(bool(state.maintenance))
    yield _gauge("maintenance", "1: in a maintenance window; no new notification is sent.", [(here, at_work)])
    if diagnosis is None:
        return
    findings = Counter((f.code, f.severity.word) for f in diagnosis.counted())
    rows: list[Sample] = [
        ({**here, "code": code, "severity": severity}, n) for (code, severity), n in sorted(findings.items())
    ]
    yield _gauge("findings", "Findings of the last snapshot by code and severity, consequences included.", rows)
    of_severity = Counter(f.severity for f in diagnosis.counted())
    yield _gauge(
        "severity_findings",
        "Findings of the last snapshot by severity, also where there are none.",
        [({**here, "severity": each.word}, of_severity[each]) for each in Severity],
    )
    groups = {name for f in diagnosis.walk() for name in f.blocked.groups}
    yield _gauge("blocked_groups", "Consumer groups that cannot work and are known by name.", [(here, len(groups))])
    records: list[Sample] = [({**here, "group": name}, lag) for name, (lag, _) in sorted(state.lags.items())]
    yield _gauge("group_lag_records", "Records behind the committed offsets of a group.", records)
    seconds = [({**here, "group": name}, round(s, 1)) for name, (_, s) in sorted(state.lags.items()) if s is not None]
    time = "Time in which as many records arrived as the partition that lags most is behind."
    yield _gauge("group_lag_seconds", time, seconds)
    slow = {str(f.facts["group"]) for f in diagnosis.walk() if f.code == _FALLS_BEHIND}
    judged = {name for name, (_, s) in state.lags.items() if s is not None} | slow
    verdicts: list[Sample] = [({**here, "group": name}, int(name in slow)) for name in sorted(judged)]
    yield _gauge("group_falls_behind", "1: KFX123 reports the group; 0: two snapshots do not show it.", verdicts)
    muted = Counter(f.severity for each in diagnosis.muted for f in each.finding.counted())
    yield _gauge(
        "muted_findings",
        "Findings that the inventory mutes by severity, consequences included; not counted otherwise.",
        [({**here, "severity": each.word}, muted[each]) for each in Severity],
    )
    unread = len(diagnosis.could_not_read)
    yield _gauge("unread_sources", "Sources that the last snapshot could not read.", [(here, unread)])


def _of_reading(state: WatchState) -> Iterator[Family]:
    here = {"cluster": state.name}
    yield _counter("snapshots_total", "Snapshots taken since the watch began.", [(here, state.snapshots)])
    failures = "Times that the cluster did not answer since the watch began."
    yield _counter("failed_snapshots_total", failures, [(here, state.failures)])
    yield _gauge("snapshot_seconds", "Time that reading and judging took the last time.", [(here, state.reading)])
    by_server = [({**here, "server": cost.name}, cost) for cost in state.costs]
    yield _counter("requests_total", "Requests sent to a server.", [(labels, c.requests) for labels, c in by_server])
    connections = [(labels, float(c.connections)) for labels, c in by_server]
    yield _counter("connections_total", "Connections opened to a server.", connections)
    sent = [(labels, float(c.sent)) for labels, c in by_server]
    yield _counter("sent_bytes_total", "Bytes sent to a server, without TLS and TCP.", sent)
    received = [(labels, float(c.received)) for labels, c in by_server]
    yield _counter("received_bytes_total", "Bytes received from a server, without TLS and TCP.", received)


def _of_watch(state: WatchState) -> Iterator[Family]:
    here = {"cluster": state.name}
    yield _counter("process_cpu_seconds_total", "Processor time of the watch.", [(here, round(state.cpu, 3))])
    yield _gauge("process_resident_memory_bytes", "Memory of the watch.", [(here, state.memory)])
    if (ring := state.recorder) is not None:
        yield _gauge("recorder_bytes", "Size of the recording.", [(here, ring.size)])
        yield _gauge("recorder_seconds", "Time that the recording covers.", [(here, round(ring.hours * 3600, 1))])
        yield _gauge("recorder_paused", "1: nothing is recorded at present.", [(here, int(bool(ring.paused)))])
    sent: list[Sample] = []
    for receiver in state.receivers:
        for outcome, count in (("delivered", receiver.delivered), ("given_up", receiver.failed)):
            sent.append(({**here, "receiver": receiver.name, "outcome": outcome}, count))
    yield _counter("notifications_total", "Messages to a receiver of notifications by outcome.", sent)


def _of_canary(state: WatchState) -> Iterator[Family]:
    if (canary := state.canary) is None:
        return
    here = {"cluster": state.name}
    up: list[Sample] = [] if canary.up is None and not canary.error else [(here, int(bool(canary.up)))]
    yield _gauge("canary_up", "1: every try of the canary's last round worked.", up)
    yield _counter("canary_rounds_total", "Rounds of the canary since the watch began.", [(here, canary.rounds)])
    last: list[Sample] = [(here, canary.at)] if canary.rounds else []
    yield _gauge("canary_last_round_timestamp_seconds", "Time of the canary's last round.", last)
    rows = [({**here, "kind": each.kind, "partition": name}, each) for name, each in canary.counts.items()]
    success: list[Sample] = [
        ({**labels, "broker": str(each.broker)}, int(each.seconds is not None)) for labels, each in rows
    ]
    yield _gauge("canary_success", "1: the last try at this leader or coordinator worked.", success)
    yield _counter("canary_tries_total", "Tries of the canary.", [(labels, each.tries) for labels, each in rows])
    failures: list[Sample] = [(labels, each.failures) for labels, each in rows]
    yield _counter("canary_failures_total", "Tries of the canary that failed.", failures)
    for kind, name, text in (
        ("leader", "canary_end_to_end_seconds", "from the producer to the consumer"),
        ("coordinator", "canary_join_seconds", "until a member had joined its group"),
    ):
        own = [(labels, each) for labels, each in rows if each.kind == kind]
        latest = [(labels, each.seconds) for labels, each in own if each.seconds is not None]
        yield _gauge(name, f"Time of the last try {text}; absent if it failed.", latest)
        totals: list[Sample] = [(labels, round(each.total, 6)) for labels, each in own]
        yield _counter(f"{name}_total", f"Sum of the times of all tries that worked, {text}.", totals)


def _gauge(name: str, text: str, samples: list[Sample]) -> Family:
    return Family(f"kfix_watch_{name}", text, samples)


def _counter(name: str, text: str, samples: list[Sample]) -> Family:
    return Family(f"kfix_watch_{name}", text, samples, "counter")
