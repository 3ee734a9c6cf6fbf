"""Partitions that lack replicas, and the brokers that are missing from their ISR.

Keys stay when one of two brokers comes back: a finding is about one broker, or about all of them under one key.
"""

from collections.abc import Iterable, Iterator, Sequence

from kfix.core.derive.checks import CaseFile, Rows
from kfix.core.derive.coordinator import INTERNAL_TOPICS
from kfix.core.derive.grouping import grouped
from kfix.core.derive.partition_facts import PartitionFacts
from kfix.core.derive.versions import CAPS_MIN_ISR
from kfix.core.diagnosis.finding import Blocked, Cause, Confidence, Evidence, Finding, Remedy, Severity
from kfix.core.wording import ago, are, brokers_named, continued, does, has, ids, per_topic, several, them
from kfix_diagnostics._advice import diagnose_again, runbook, start
from kfix_diagnostics._bans import no_election, no_restart, starts
from kfix_diagnostics._evidence import partition_rows
from kfix_diagnostics._explained import code_of, explained_by, find_out_why, running
from kfix_diagnostics._failed_dirs import SEE, failed_at, keys_of, lacking_rows
from kfix_diagnostics._words import because, not_alive

Missing = tuple[int, ...]
LAG_CODE, LEFT_OUT_CODE = "KFX808", "KFX810"
#: The end of a sentence about what not to do.
NO_RESTART = "do not restart the brokers that are in sync because of it"
#: The finding about partitions without a leader whose in-sync replicas a pasted text shows as likely dead.
LIKELY_DEAD = "KFX107:likely dead"


def by_missing(rows: Rows, case: CaseFile) -> dict[Missing, Rows]:
    """Returns the rows by missing broker; a row that lacks two brokers belongs to both.

    The brokers that a pasted text shows as likely dead are one group: they are one cause. In such a text those that are
    missing from the same partitions are one group, too: it is not watched, so that its keys need not stay.
    """
    away = tuple(sorted({b for row in rows for b in missing_from(row, case) if b in case.background.likely.dead}))
    groups = grouped(
        (group, row)
        for row in rows
        for group in dict.fromkeys(away if b in away else (b,) for b in missing_from(row, case))
    )
    if case.snapshot.pasted is not None:
        alike = grouped((tuple(row.tp for row in found), missing) for missing, found in groups.items())
        groups = {tuple(sorted(b for m in all_of for b in m)): groups[all_of[0]] for all_of in alike.values()}
    return {missing: tuple(found) for missing, found in sorted(groups.items())}


def all_missing(rows: Rows, case: CaseFile) -> dict[Missing, Rows]:
    """Returns the rows that lack a broker by all missing brokers, and those that lack none by ()."""
    lacking = {id(row): missing for row in rows if (missing := missing_from(row, case))}
    away = tuple(sorted({broker for missing in lacking.values() for broker in missing}))
    whole = tuple(row for row in rows if id(row) not in lacking)
    groups: dict[Missing, Rows] = {(): whole} if whole else {}
    if away:
        groups[away] = tuple(row for row in rows if id(row) in lacking)
    return groups


def missing_from(row: PartitionFacts, case: CaseFile) -> Missing:
    """Returns the replicas that are not in the ISR; an observer or one that is still being added is not missing."""
    assignment, isr, text = case.assignment(row.tp), case.isr(row.tp), case.snapshot.pasted
    aside = (*assignment.adding, *(text.observers.get(row.tp, ()) if text is not None else ()))
    return tuple(sorted(b for b in assignment.replicas if b not in isr and b not in aside))


def being_added(row: PartitionFacts, case: CaseFile) -> bool:
    """Returns whether a reassignment under way adds replicas that are not in sync yet."""
    return not set(case.assignment(row.tp).adding) <= set(case.isr(row.tp))


def may_be_capped(rows: Rows, case: CaseFile) -> bool:
    """Returns whether all replicas are in sync, and nothing shows whether the leaders require more than there are."""
    follows = case.background.settings.releases.follows
    return all(row.n_isr >= row.n_replicas and follows(CAPS_MIN_ISR, row.leader) is None for row in rows)


def object_of(missing: Missing) -> str:
    """Returns the object of the finding; no broker is missing where the replication factor itself is too low."""
    return f"without {brokers_named(missing)}" if missing else "replication factor"


def fail_for(what: str, rows: Rows, case: CaseFile) -> str:
    """Returns `fail for orders-3`; `may fail` if it is unknown whether writes fail where every replica is in sync."""
    if not may_be_capped(rows, case):
        return f"fail for {what}"
    return f"may fail for {what}, if the brokers are older than Kafka 3.7; newer ones require no more than all replicas"


def under_min_isr(
    missing: Missing,
    rows: Rows,
    case: CaseFile,
    *,
    fails: str,
    blocked: Blocked,
    never: Iterable[str],
    evidence: Iterable[Evidence] = (),
    last_resort: str = "",
    kept_up: Sequence[int] = (),
) -> Finding:
    """Returns the finding of KFX301 or KFX304. `kept_up` are brokers that must not be restarted."""
    tps, unsure = tuple(row.tp for row in rows), may_be_capped(rows, case)
    minima = ", ".join(map(str, sorted({row.min_isr for row in rows})))
    return Finding(
        severity=Severity.WARNING if unsure else Severity.CRITICAL,
        obj=object_of(missing),
        about="missing replicas" if missing else "",
        summary=f"{fails}: fewer replicas are in sync than min.insync.replicas requires "
        f"(first partition: ISR {ids(case.isr(tps[0]))}, minimum {minima})",
        cause=cause_of(missing, rows, case),
        evidence=(*partition_rows(case, tps[0]), *evidence),
        blocked=Blocked() if unsure else blocked,
        remedies=tuple(_enough(missing, rows, case, last_resort)),
        never=tuple(never),
        forbids=(no_election(tps), *((no_restart(kept_up),) if kept_up else ())),
        partitions=tps,
        follows=explained(missing, rows, case),
    )


def _enough(missing: Missing, rows: Rows, case: CaseFile, last_resort: str) -> Iterator[Remedy]:
    yield from bring_back(missing, rows, case)
    if missing:
        names = "names the broker to start and " if case.away(missing) or case.live is None else ""
        yield runbook(case, "under-min-isr", f"The runbook {names}verifies recovery{last_resort}")
        return
    growing = [row.tp for row in rows if being_added(row, case)]
    if growing:
        yield Remedy(f"Wait for the reassignment of {per_topic(growing)}, which adds the missing replicas")
    if len(growing) < len(rows):
        yield from more_replicas(rows, case)


def explained(missing: Missing, rows: Rows, case: CaseFile) -> tuple[str, ...]:
    """Returns the keys of a network cut, or of dead and silent brokers where no other broker is missing too.

    Likewise for failed log directories and for leaders that do not re-add replicas, if that explains every missing
    replica.
    """
    if missing and set(failed := failed_at(missing, rows, case)) == set(missing):
        return keys_of(failed)
    if missing and set(kept_out := left_out_at(missing, rows, case)) == set(missing):
        return lag_keys(kept_out, case)
    if case.cut is not None and case.cut.explains(missing):
        return explained_by(missing, case)
    if missing and case.background.likely.dead.keys() >= set(missing):
        return (LIKELY_DEAD,)
    away = {*case.dead, *case.shut_out, *case.silent}
    return explained_by(missing, case) if missing and away.issuperset(missing) else ()


def left_out_at(missing: Iterable[int], rows: Rows, case: CaseFile) -> Missing:
    """Returns those of the missing brokers whose replicas have all records of all rows that lack them (KFX810)."""
    found = {(each.tp, each.broker) for each in case.left_out} if case.cut is None else set()
    if not found:
        return ()
    lacking = lacking_rows(missing, rows, case)
    return tuple(b for b, tps in lacking.items() if tps and all((tp, b) in found for tp in tps))


def same_partitions(missing: Missing, groups: dict[Missing, Rows], case: CaseFile) -> tuple[str, ...]:
    """Returns the keys of findings about live brokers that the same partitions lack: they are reported once."""
    mine = {id(row) for row in groups[missing]}
    return tuple(
        f"KFX302:{object_of(other)}"
        for other, rows in groups.items()
        if other < missing and len(mine) <= len(rows) and not explained(other, rows, case)
        and mine <= {id(row) for row in rows}
    )  # fmt: skip


def lag_keys(missing: Missing, case: CaseFile) -> tuple[str, ...]:
    """Returns the keys of findings about the progress of these replicas (KFX808, KFX810)."""
    found = [f"{LAG_CODE}:broker {lag.broker} {lag.pace}" for lag in case.lags if lag.broker in missing]
    found += [f"{LEFT_OUT_CODE}:broker {each.leader}" for each in case.left_out if each.broker in missing]
    return tuple(dict.fromkeys(found))


def cause_of(missing: Missing, rows: Rows, case: CaseFile) -> Cause:
    dead = case.away(missing) if case.live is not None else ()
    lagging = [b for b in missing if b not in dead]
    if not missing:
        growing = all(being_added(row, case) for row in rows)
        few = "the topic has fewer replicas than min.insync.replicas requires"
        sure = Confidence.POSSIBLE if may_be_capped(rows, case) else Confidence.CERTAIN
        return Cause("a reassignment is still adding the missing replicas" if growing else few, sure)
    if case.live is None:
        return _likely_cause(missing, case)
    if not lagging:
        word = "fenced" if case.kraft and set(dead) <= set(case.shut_out) else not_alive(case)
        return Cause(f"{brokers_named(dead)} {are(len(dead))} {word}", Confidence.CERTAIN)
    known = _known_cause(lagging, rows, case)
    if known is not None:
        return known
    leaders = sorted({row.leader for row in rows})
    who = f"{brokers_named(lagging)} {are(len(lagging))} alive but"
    if len(leaders) == 1 and _in_sync_elsewhere(lagging, leaders[0], case):
        return Cause(
            f"{who} out of sync only with leader {leaders[0]}: the link between them or that leader is at fault",
            Confidence.POSSIBLE,
        )
    return Cause(f"{who} out of sync: stuck, too slow, or still catching up", Confidence.POSSIBLE)


def _likely_cause(missing: Missing, case: CaseFile) -> Cause:
    """Returns what a text without a list of brokers suggests."""
    likely, who = case.background.likely, f"{brokers_named(missing)} {are(len(missing))}"
    if likely.dead.keys() >= set(missing):
        return Cause(f"{who} likely dead: {because(missing, likely.dead)}")
    if likely.alive.keys() >= set(missing):
        return Cause(f"{who} likely alive, but out of sync here: {because(missing, likely.alive)}", Confidence.POSSIBLE)
    return Cause(f"{who} dead or lagging; this text does not show which", Confidence.UNKNOWN)


def _known_cause(lagging: list[int], rows: Rows, case: CaseFile) -> Cause | None:
    """Returns why live brokers are out of sync, where something else shows it: a disk, a hang, a cut, a fresh start."""
    if (failed := failed_at(lagging, rows, case)) and set(failed) == set(lagging):
        return Cause(f"a log directory of {brokers_named(failed)} failed, {SEE}")
    if set(left_out_at(lagging, rows, case)) == set(lagging):
        text = f"{brokers_named(lagging)} {has(len(lagging))} all records, and the leader does not add"
        return Cause(f"{text} {them(len(lagging))} to the ISR, see {LEFT_OUT_CODE}")
    if hanging := [b for b in lagging if b in case.silent]:
        return Cause(f"{_hang(hanging)}, see KFX402")
    if case.cut is not None and case.cut.explains(lagging):
        return Cause(f"the network is cut, see {code_of(case.cut)}")
    fresh = [b for b in lagging if case.restarting(b)]
    if fresh == lagging:
        return Cause(f"{came_back(fresh, case)} and {are(len(fresh))} catching up")
    return None


def came_back(brokers: Sequence[int], case: CaseFile) -> str:
    """Returns when live brokers came back, or within which time they may have: `broker 2 came back 26 s ago`."""
    ages = [age for b in brokers if (age := case.back_for(b)) is not None]
    if ages:
        return f"{brokers_named(brokers)} came back {ago(min(ages))} ago"
    bounds = [age for b in brokers if (age := case.troubled_at_most(b)) is not None]
    within = f" within the last {ago(max(bounds))}" if bounds else ""
    return f"{brokers_named(brokers)} may have restarted{within}"


def bring_back(missing: Missing, rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    if case.live is None:
        gone = [b for b in missing if b in case.background.likely.dead]
        if gone:
            text = f"If not running, {continued(start(gone, case))}. Replicas catch up and rejoin the ISR by themselves"
            yield starts(Remedy(text), gone)
        yield diagnose_again(
            case, f"Diagnose the cluster itself, which shows whether {brokers_named(missing)} {are(len(missing))} alive"
        )
        return
    dead = case.away(missing)
    lagging = [b for b in missing if b not in dead]
    if up := running(dead, case):
        yield find_out_why(up, case)
        dead = tuple(b for b in dead if b not in up)
    if dead:
        text = f"{start(dead, case)}. Replicas catch up and rejoin the ISR without further action"
        yield starts(Remedy(text), dead)
    hanging = [b for b in lagging if b in case.silent]
    if hanging:
        yield Remedy(f"Find out why {_hang(hanging)}: see KFX402")
    lagging = [b for b in lagging if b not in hanging]
    if failed := failed_at(lagging, rows, case):
        yield Remedy(f"Repair the failed log directory of {brokers_named(failed)}: {SEE}")
    if kept_out := left_out_at(lagging, rows, case):
        yield Remedy(f"Have the leader add {brokers_named(kept_out)} to the ISR: see {LEFT_OUT_CODE}")
    lagging = [b for b in lagging if b not in failed and b not in kept_out]
    if lagging and case.cut is not None and case.cut.explains(lagging):
        yield Remedy(f"Repair the network: see {code_of(case.cut)}")
    elif lagging:
        yield Remedy(
            f"Find out why {brokers_named(lagging)} {'lags' if len(lagging) == 1 else 'lag'}: network, disk, "
            "garbage collection, or a left-over throttle"
        )


def more_replicas(rows: Rows, case: CaseFile) -> Iterator[Remedy]:
    """Yields how all replicas together can be enough: more of them, or a lower minimum where there are no brokers."""
    topic, wanted = rows[0].topic, max(row.min_isr for row in rows if row.topic == rows[0].topic)
    brokers = wanted + 1 if case.live is None else len(case.assigned | case.live)
    rest = len({row.topic for row in rows}) - 1
    also = f", and likewise {several(rest, 'more topic')}" if rest else ""
    if brokers >= wanted:
        rf = min(wanted + 1, brokers)
        name = "raise-offsets-rf" if topic in INTERNAL_TOPICS else "raise-topic-rf"
        yield runbook(
            case, name, f"Raise the replication factor of {topic} to {rf}{also}", f"topic={topic}", f"rf={rf}"
        )
        return
    least = max(min(row.n_replicas for row in rows if row.topic == topic) - 1, 1)
    why = f"{several(brokers, 'broker')} cannot hold {wanted} replicas"
    text = f"Lower min.insync.replicas of {topic} to {least}{also}: {why}"
    yield runbook(case, "durable-defaults", text, f"topic={topic}", f"min_isr={least}")


def _hang(brokers: list[int]) -> str:
    return f"{brokers_named(brokers)} {does(len(brokers))} not respond"


def _in_sync_elsewhere(lagging: list[int], leader: int, case: CaseFile) -> bool:
    """Returns whether they are in sync with another leader, so not slow (docs/facts/network-partitions.md)."""
    return any(
        f.leader not in (leader, *lagging) and f.n_isr > 1 and set(lagging) <= set(case.isr(f.tp)) for f in case.samples
    )
