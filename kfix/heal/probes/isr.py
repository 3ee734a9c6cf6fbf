"""Probes about in-sync replicas, and about what could be elected instead of them."""

from collections.abc import Collection

from kfix.core.args import ArgKind, Args
from kfix.core.derive.elections import UNCLEAN
from kfix.core.derive.versions import CAPS_MIN_ISR
from kfix.core.numbers import whole_number
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import BrokerRegistration, PartitionReading, ResourceKind
from kfix.core.snapshot.snapshot import Mode
from kfix.core.wording import ago
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.base import gaps, partition_probe, probe, state_probe, state_words
from kfix.heal.probes.moves import ids


@state_probe("a member of the ISR is registered", "a registered member of the ISR", facts=("isr", "live_isr"))
def partition_has_live_isr(_args: Args, reading: PartitionReading) -> bool | None:
    """At least one in-sync replica is registered: with it no election can lose an acknowledged record."""
    return None if reading.live_isr is None else bool(reading.live_isr)


@state_probe("at least n live replicas are in sync", "at least {n} registered members of the ISR", n=ArgKind.INT)
def isr_at_least(args: Args, reading: PartitionReading) -> bool | None:
    """At least n replicas are in sync and registered. A dead broker that is still in the ISR does not count."""
    return None if reading.live_isr is None else len(reading.live_isr) >= args.number("n")


@partition_probe("all assigned replicas are in the ISR")
def isr_full(_args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    wanted = "ISR = replicas"
    isr, assignment = reading.isr, reading.assignment
    if isr is None or assignment is None:
        return judge(None, gaps(reading, "state or assignment unknown"), wanted)
    full = set(isr) == set(assignment.replicas)
    return judge(full, f"ISR {list(isr)} of {list(assignment.replicas)}", wanted)


#: The errors of a broker that does not have the replica, or whose replica is offline. Any other error leaves it open.
_OFFLINE = frozenset({"KAFKA_STORAGE_ERROR", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"})


@partition_probe("every registered member of the ISR answers for its replica: none is offline")
def isr_replica_online(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """A broker whose log directory failed stays registered, and Kafka counts its replica as offline. An election
    through the API called "unclean" passes over it; if it was the only one in sync, the election is truly unclean.
    Kafka chooses among all of them, so all must answer, not only the first.
    """
    wanted = "every registered member of the ISR reports its log end offset"
    live = reading.live_isr
    if not live:
        return judge(None if live is None else False, state_words(reading), wanted)
    ends = reader.log_ends(args.tp(), live)
    errors = {b: "no answer" if (end := ends.get(b)) is None else end.error for b in live}
    bad = {b: error for b, error in errors.items() if error}
    if bad:
        good = False if any(error in _OFFLINE for error in bad.values()) else None
        return judge(good, "; ".join(f"broker {b}: {error}" for b, error in bad.items()), wanted)
    shown = ", ".join(f"broker {b} ends at {ends[b].end}" for b in live)
    return judge(True, f"{state_words(reading)}; {shown}", wanted)


@partition_probe(
    "there is no leader, and no member of the ISR is registered or, on KRaft, runs", facts=("leader", "isr", "live_isr")
)
def isr_is_dead(_args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """There is no leader and no live in-sync replica: only then may a replica outside the ISR be elected.

    While one member of the ISR is alive it holds every acknowledged record, and electing another replica would lose
    some. On KRaft a broker that runs may be fenced, so that it is not alive by the record: its heartbeats are lost, and
    it leads again as soon as they arrive. So no member of the ISR or of the ELR may fetch metadata, or answer at its
    address. Where both are empty, the last known leader may not, since Kafka elects it when it registers. An empty ISR
    without any answer about the ELR leaves it open who would lead.
    """
    wanted = "no leader and no registered member of the ISR"
    live, leaderless = reading.live_isr, reading.leaderless
    if live is None or leaderless is None:
        return judge(None, state_words(reading), wanted)
    if live or not leaderless or reader.identity().mode is not Mode.KRAFT:
        return judge(leaderless and not live, state_words(reading), wanted)
    eligible = reading.eligible
    if not reading.isr and eligible is None:
        return judge(None, f"{state_words(reading)}, and who may lead is unknown", wanted)
    holders = () if eligible is None else eligible.replicas or eligible.last_known
    for broker in dict.fromkeys((*(reading.isr or ()), *holders)):
        why = _why_it_runs(broker, reader.registration(broker))
        if why:
            return judge(False, f"{why}; {state_words(reading)}", f"{wanted}, and none that runs")
    return judge(True, state_words(reading), wanted)


def _why_it_runs(broker: int, found: BrokerRegistration) -> str:
    """Returns what shows that the process of a broker runs although it is not alive by the record, "" for nothing."""
    if found.answers:
        return f"broker {broker} runs, although it is fenced: its address answers"
    if found.fetched is not None and found.fetches:
        return f"broker {broker} runs, although it is fenced: it fetched metadata {ago(found.fetched)} ago"
    return ""


MIN_ISR = "min.insync.replicas"


@partition_probe("there is a leader, and at least min.insync.replicas live replicas are in sync")
def min_isr_satisfied(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """Producers with acks=all can write: there is a leader, and `min.insync.replicas` of the topic is met."""
    led_by = () if reading.leaderless or reading.state is None else (reading.state.leader,)
    replicas = 0 if reading.assignment is None else len(reading.assignment.replicas)
    least, shown = min_isr(reader, args.tp().topic, led_by if replicas else (), replicas)
    wanted = f"a leader and at least {'an unknown number of' if least is None else least} in sync ({MIN_ISR})"
    live = reading.live_isr
    if least is None or live is None or reading.leaderless is None:
        return judge(None, f"{state_words(reading)}, {MIN_ISR} {shown}", wanted)
    return judge(not reading.leaderless and len(live) >= least, state_words(reading), wanted)


def min_isr(reader: ClusterReader, topic: str, leaders: Collection[int], replicas: int) -> tuple[int | None, str]:
    """`min.insync.replicas` as the strictest of these leaders applies it to so many replicas: as a number, None where
    it is unknown or no number, and as it is read.

    A topic without a value of its own has the default of the broker that leads it, and brokers may differ
    (docs/facts/defaults.md).
    """
    own = reader.configs(ResourceKind.TOPIC, topic, (MIN_ISR,)).get(MIN_ISR)
    asked = () if own is None or own.own else tuple(leaders)
    defaults = [reader.configs(ResourceKind.BROKER, str(broker), (MIN_ISR,)).get(MIN_ISR) for broker in asked]
    found = [None if each is None else each.value for each in (defaults or [own])]
    numbers = [None if text is None else whole_number(text) for text in found]
    known = [number for number in numbers if number is not None]
    if len(known) == len(found):
        least = max(known)
        capped = least > replicas and leaders and all(reader.follows(CAPS_MIN_ISR, broker) for broker in leaders)
        return (replicas if capped else least), str(least)
    return None, next(text or "unknown" for text, number in zip(found, numbers, strict=True) if number is None)


@partition_probe("of the remaining replicas none is dead and min.insync.replicas are in sync", replicas=ArgKind.BROKERS)
def enough_stay(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """When replicas are removed, enough of the remaining ones are alive and in sync: producers with acks=all can write.

    A remaining replica on a dead broker blocks the whole move: it ends only when every replica of the target is in
    sync. Added replicas count: none is removed before they are in sync.
    """
    replicas = args.brokers("replicas")
    # Any of those that stay may lead, now or after the next election.
    heirs = [b for b in replicas if b in (reading.registered or ())]
    least, shown = min_isr(reader, args.tp().topic, heirs, len(replicas))
    wanted = f"of {ids(replicas)} at least {'an unknown number' if least is None else max(least, 1)} in sync, none dead"
    live, assigned = reading.live_isr, reading.assignment
    if least is None or live is None or assigned is None or reading.registered is None:
        return judge(None, f"{state_words(reading)}, {MIN_ISR} {shown}", wanted)
    dead = [b for b in replicas if b not in reading.registered]
    good = [b for b in replicas if b in live or b not in assigned.replicas]
    observed = f"{state_words(reading)}; {ids(good)} of {ids(replicas)}" + (f", {ids(dead)} dead" if dead else "")
    return judge(not dead and len(good) >= max(least, 1), observed, wanted)


@probe("every replica of every partition of the topic is alive and in sync", {"topic": ArgKind.TOPIC})
def topic_in_sync(args: Args, reader: ClusterReader) -> Answer:
    topic = args.text("topic")
    wanted = f"every replica of {topic} alive and in sync"
    assigned = reader.assignments(topic)
    readings = [reader.recorded(tp) for tp in sorted(assigned)]
    if not readings:
        return judge(False, f"{topic} does not exist", wanted)
    unknown = [r for r in readings if r.live_isr is None or r.assignment is None]
    if unknown:
        return judge(None, f"{unknown[0].tp}: {state_words(unknown[0])}", wanted)
    short = [r for r in readings if r.assignment is not None and set(r.live_isr or ()) != set(r.assignment.replicas)]
    if short:
        text = f"{len(short)} of {len(readings)} partitions have a replica that is dead or out of sync; {short[0].tp}: "
        return judge(False, text + state_words(short[0]), wanted)
    return judge(True, f"{len(readings)} partitions, each with all replicas in sync", wanted)


@probe(
    "every partition of the topic has a leader and at least n live replicas in sync",
    {"topic": ArgKind.TOPIC, "n": ArgKind.INT},
)
def topic_isr_at_least(args: Args, reader: ClusterReader) -> Answer:
    """Every partition of the topic has a leader and n live replicas in sync: min.insync.replicas may be set to n."""
    topic, least = args.text("topic"), args.number("n")
    wanted = f"every partition of {topic} with a leader and at least {least} live replicas in sync"
    readings = [reader.recorded(tp) for tp in sorted(reader.assignments(topic))]
    if not readings:
        return judge(False, f"{topic} does not exist", wanted)
    short = [r for r in readings if r.leaderless or (r.live_isr is not None and len(r.live_isr) < least)]
    if short:
        first = f"{short[0].tp}: {state_words(short[0])}"
        return judge(False, f"{len(short)} of {len(readings)} partitions do not; {first}", wanted)
    unknown = [r for r in readings if r.leaderless is None or r.live_isr is None]
    if unknown:
        return judge(None, f"{unknown[0].tp}: {state_words(unknown[0])}", wanted)
    fewest = min(len(r.live_isr or ()) for r in readings)
    return judge(True, f"{len(readings)} partitions, at least {fewest} in sync", wanted)


@probe(
    "on KRaft, every partition of the topic (of any with an empty name) has a leader, so unclean elections elect none",
    {"topic": ArgKind.TEXT},
)
def every_partition_led(args: Args, reader: ClusterReader) -> Answer:
    """On KRaft, every partition of the topic has a leader that is alive: then unclean elections may be allowed.

    With `unclean.leader.election.enable` the controller elects a live replica of each partition without a leader,
    whatever it lacks, every five minutes and when a broker registers (docs/facts/kraft.md). With ZooKeeper it does so
    at once, which is what a person asks for who sets it there.
    """
    wanted = "a leader: without one, Kafka would elect a replica that may lack records"
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "a cluster on ZooKeeper", wanted)
    topic = args.text("topic")
    tps = sorted(reader.assignments(topic)) if topic else []
    readings = [reader.recorded(tp) for tp in tps] if topic else list(reader.every_partition().values())
    bad = [each for each in readings if each.leaderless]
    if bad:
        observed = f"{len(bad)} of {len(readings)} partitions have none; {bad[0].tp}: {state_words(bad[0])}"
        return judge(False, observed, wanted)
    unknown = [each for each in readings if each.leaderless is None]
    if unknown or not readings:
        observed = f"{unknown[0].tp}: {state_words(unknown[0])}" if unknown else "there is no partition"
        return judge(None, observed, wanted)
    return judge(True, f"all {len(readings)} partitions have one", wanted)


@probe(
    "on KRaft, every partition of the topic (of any with an empty name) has a leader, and no eligible leader replicas",
    {"topic": ArgKind.TEXT},
)
def elr_not_needed(args: Args, reader: ClusterReader) -> Answer:
    """On KRaft, every partition has a leader and no eligible leader replicas: then min.insync.replicas may be set.

    Setting it, even to the same value, makes Kafka 4 forget them. A partition without a leader then stays dead even
    with all of its brokers back; and where the topic is deleted later, the controller of 4.3.1 fails whenever one of
    these brokers registers after a crash (docs/facts/kraft.md). ZooKeeper, and Kafka 3.9, keep no such replicas.
    """
    wanted = (
        "a leader, and no eligible leader replica outside the ISR: setting min.insync.replicas makes Kafka forget it"
    )
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "ZooKeeper keeps no eligible replicas", wanted)
    topic = args.text("topic")
    tps = sorted(reader.assignments(topic)) if topic else []
    readings = [reader.recorded(tp) for tp in tps] if topic else list(reader.every_partition().values())
    bad = [r for r in readings if r.eligible_needed]
    if bad:
        return judge(False, f"{len(bad)} of {len(readings)} partitions do not; {_eligible_words(bad[0])}", wanted)
    unknown = [r for r in readings if r.eligible_needed is None]
    if unknown or not readings:
        words = (
            f"{len(unknown)} of {len(readings)} partitions unknown; " + _eligible_words(unknown[0]) if unknown else ""
        )
        return judge(None, words or "there is no partition", wanted)
    return judge(True, f"all {len(readings)} partitions do", wanted)


def _eligible_words(reading: PartitionReading) -> str:
    if reading.eligible is None:
        return f"{reading.tp}: {state_words(reading)}"
    eligible = f"eligible {list(reading.eligible.replicas)}, last known leader {list(reading.eligible.last_known)}"
    return f"{reading.tp}: {state_words(reading)}, {eligible}"


@partition_probe("on KRaft, the last known leader of the partition is one of its replicas")
def last_known_is_replica(_args: Args, reading: PartitionReading, _reader: ClusterReader) -> Answer:
    """On KRaft, the last known leader of the partition is one of its replicas: then its brokers may register.

    Otherwise the active controller of Kafka 4.3 fails at the registration of a replica, and gives its leadership up at
    each attempt (docs/facts/kraft.md). ZooKeeper, and Kafka 3.9, keep no last known leader.
    """
    wanted = "a last known leader that is a replica: else the controller fails when a replica registers (KFX120)"
    if reading.state is None or reading.assignment is None:
        return judge(None, state_words(reading), wanted)
    if reading.eligible is None or not reading.eligible.last_known:
        return judge(True, "no last known leader is kept", wanted)
    last, replicas = reading.eligible.last_known, reading.assignment.replicas
    observed = f"last known leader {ids(last)}, replicas {ids(replicas)}"
    return judge(set(last) <= set(replicas), observed, wanted)


@partition_probe("on KRaft, the topic does not allow unclean elections, which a start would trigger")
def no_unclean_at_start(args: Args, reading: PartitionReading, reader: ClusterReader) -> Answer:
    """On KRaft, no broker that registers makes Kafka elect another replica than the one that holds every record.

    With `unclean.leader.election.enable` the controller elects the first live replica of the assignment, which may lack
    records: every five minutes, when a broker registers, and where the ISR is empty also before the broker that was
    started for its records can lead (docs/facts/kraft.md). The active controller's setting counts, not the brokers';
    where it did not report it, the answer is unknown. Where every replica is in the ISR, whoever starts has every
    record. On ZooKeeper such a partition is never left without a leader while a replica is alive.
    """
    wanted = f"{UNCLEAN} false: with true, Kafka may elect a replica that lacks records"
    if reader.identity().mode is not Mode.KRAFT:
        return judge(True, "a cluster on ZooKeeper", wanted)
    isr, assigned = reading.isr, reading.assignment
    if isr and assigned is not None and set(isr) >= set(assigned.replicas):
        return judge(True, f"every replica is in the ISR {list(isr)}", wanted)
    if assigned is not None and len(assigned.replicas) == 1:
        return judge(True, f"broker {assigned.replicas[0]} has the only replica", wanted)
    found = reader.configs(ResourceKind.TOPIC, args.tp().topic, (UNCLEAN,)).get(UNCLEAN)
    value = None if found is None else found.value
    good = None if value is None else value.lower() != "true"
    return judge(good, f"topic {args.tp().topic}: {UNCLEAN} {value or 'unknown'}", wanted)
