"""The rungs of the coordinator: its address, its leadership, what it has loaded, stable offsets, and commits."""

from collections.abc import Iterator

from kfix.core.diagnosis.finding import Evidence, Rung
from kfix.core.snapshot.group_reading import SHARE_GROUP
from kfix.core.wording import ids, several, some
from kfix_diagnostics._evidence import (
    assignment_row,
    live_row,
    log_source,
    probe_words,
    state_row,
    view_rows,
)
from kfix_diagnostics._words import error_name
from kfix_diagnostics.ladder.asked import (
    NO_ANSWER,
    NO_LEADER,
    NOT_ALLOWED,
    PASTED_ERRORS,
    Asked,
    clear,
    fails,
    refused,
    unread,
)

_UNSTABLE = 88


def address(asked: Asked) -> Rung:
    name, reading, probe = "address", asked.latest, asked.probe
    if reading is not None and reading.endpoint is not None and reading.unconnected is not None:
        where = f"broker {reading.coordinator} at {reading.endpoint}"
        if not reading.unconnected:
            return clear(name, f"{where} accepts connections from here")
        said = f"the coordinator is {where}, an address that cannot be reached from here: {reading.unconnected}"
        return fails(name, asked.of_group("KFX110") or said)
    if probe is not None and probe.answers and probe.coordinator is not None:
        return clear(name, f"broker {probe.coordinator} responds to kfix at {asked.case.address(probe.coordinator)}")
    if probe is not None and probe.find_error:
        return unread(name, "no broker is named as the coordinator, so there is no address")
    return unread(name, f"the coordinator was not asked for: {asked.why_unread('group coordinator')}", asked.again())


def leader(asked: Asked) -> Rung:
    name, probe = "leader", asked.probe
    if probe is not None and probe.find_error == 0:
        return clear(name, f"broker {probe.coordinator} leads {asked.tp}{_via(asked)}", _leader_rows(asked))
    found = asked.of_partition(NO_LEADER) or asked.of_group(PASTED_ERRORS)
    if found is not None:
        return fails(name, found, _leader_rows(asked))
    if probe is None or probe.find_error is None:
        return unread(
            name, f"no finding concerns the leader of {asked.tp}, but the coordinator was not probed", asked.again()
        )
    if probe.find_error == NO_ANSWER:
        return unread(name, f"the coordinator is unknown, because no broker could be asked for it: {probe.error}")
    if probe.find_error in NOT_ALLOWED:
        return unread(name, f"the coordinator is unknown, because kfix has no right to ask: {_words(asked)}")
    return fails(name, f"its coordinator does not respond: {_words(asked)}", _leader_rows(asked))


def loaded(asked: Asked) -> Rung:
    name, probe = "loaded", asked.probe
    if probe is None or probe.find_error != 0 or probe.fetch_error is None:
        return unread(name, "there is no coordinator to ask")
    silent = asked.of_partition(("KFX106", "KFX118"))
    if probe.fetch_error in NOT_ALLOWED:
        return unread(
            name, f"the state of the coordinator is unknown, because kfix has no right to ask: {_words(asked)}"
        )
    if probe.fetch_error == NO_ANSWER and asked.latest is not None and asked.latest.unconnected:
        return unread(name, "the coordinator's address cannot be reached from here")
    if probe.fetch_error:
        why = f": {probe.error}" if probe.error else ""
        return fails(name, silent or f"its coordinator does not respond: {_words(asked)}{why}", _leader_rows(asked))
    return _served(asked)


def _served(asked: Asked) -> Rung:
    """Returns the rung of a coordinator that answers OffsetFetch without an error, which may be an empty answer."""
    name, probe, emptied = "loaded", asked.probe, asked.of_group("KFX109")
    if emptied is not None:
        return fails(name, emptied)
    if any(log.withheld and log.partition == asked.tp.partition for log in asked.case.offsets_logs):
        said = f"its coordinator cannot advance the high watermark of {asked.tp}, and serves old offsets or none"
        return fails(name, asked.of_partition(("KFX304",)) or said, _log_rows(asked))
    own = ""
    if probe is not None and probe.committed is not None and probe.group == asked.group:
        own = f", {_offsets(probe.committed)}"
    return clear(name, f"OffsetFetch succeeds{own}{_via(asked)}", _log_rows(asked))


def stable_offsets(asked: Asked) -> Rung:
    name, reading = "stable offsets", asked.latest
    found = asked.of_group("KFX108")
    if found is not None:
        return fails(name, found)
    if reading is not None and reading.group_type == SHARE_GROUP:
        return clear(name, "a share group commits no offsets")
    if reading is not None and reading.partitions is not None and "stable offsets" not in reading.errors:
        held = [str(tp) for tp, each in reading.partitions.items() if each.commit_error == _UNSTABLE]
        if held:
            return fails(
                name, f"an open transaction holds back the committed offset of {some(held)} ({error_name(_UNSTABLE)})"
            )
        return clear(name, f"none of {several(len(reading.partitions), 'committed offset')} waits for a transaction")
    log = next(
        (log for log in asked.case.offsets_logs if log.partition == asked.tp.partition and log.stable >= 0), None
    )
    if log is not None and log.stable >= log.log_end:
        return clear(name, f"no transaction is open in {asked.tp}", _log_rows(asked))
    return unread(name, asked.why_unread("stable offsets", "group offsets", "group coordinator"))


def commits(asked: Asked) -> Rung:
    name, case = "commits", asked.case
    found = asked.of_partition(("KFX304",))
    if found is not None:
        return fails(name, found)
    if asked.probe is not None and asked.probe.find_error:
        return unread(name, "there is no coordinator to take them")
    isr, least = case.isr(asked.tp), case.min_isr(asked.tp)
    if least is None or not isr:
        return unread(name, f"min.insync.replicas or the ISR of {asked.tp} was not read")
    said = f"ISR {ids(isr)} of {asked.tp}, min.insync.replicas {least}"
    if len(isr) < least:
        return fails(name, f"commits and joins are refused: {said}", state_row(case, asked.tp))
    return clear(name, said)


def _offsets(committed: int) -> str:
    return f"offsets of {several(committed, 'partition')}"


def _words(asked: Asked) -> str:
    assert asked.probe is not None
    return refused((asked.probe.find_error, asked.probe.fetch_error)) or probe_words(
        asked.probe.find_error, asked.probe.fetch_error
    )


def _via(asked: Asked) -> str:
    probe = asked.probe
    if probe is None or probe.group == asked.group:
        return ""
    return f" (probed with {probe.asked_for}, which shares the partition)"


def _leader_rows(asked: Asked) -> Iterator[Evidence]:
    case, tp = asked.case, asked.tp
    yield Evidence("hash", f"group {asked.group}", f"{tp} of {several(case.offsets_partitions, 'partition')}")
    if asked.probe is not None:
        said = probe_words(asked.probe.find_error, asked.probe.fetch_error)
        yield Evidence("coordinator probe", "coordinator", f"{said}{_via(asked)}")
    yield from state_row(case, tp)
    yield from view_rows(case, tp)
    yield from assignment_row(case, tp)
    yield from live_row(case)
    node = case.controller
    if node is not None:
        who = "none" if node.broker is None else f"broker {node.broker}"
        yield Evidence(case.zookeeper_name, "controller", f"{who}, epoch {node.epoch}")


def _log_rows(asked: Asked) -> Iterator[Evidence]:
    """Yields what the log of the offsets partition says of this group, and what was read of it."""
    for log in (log for log in asked.case.offsets_logs if log.partition == asked.tp.partition):
        if log.error:
            yield Evidence(log_source(log), f"group {asked.group}", f"not read: {log.error}")
            continue
        found = next((g for g in log.groups if g.name == asked.group), None)
        part = "every record" if log.whole else f"records {log.first} to {log.end - 1} of {log.log_end}"
        part = part if log.end > log.first else f"none of {log.log_end - log.start} records"
        said = _offsets(found.offsets) if found is not None else "not named"
        yield Evidence(log_source(log), f"group {asked.group}", f"{said} ({part} read)")
