"""Probes about brokers: which are registered, which are gone for good, and what room they have."""

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import BrokerRegistration, RegisteredAs
from kfix.core.wording import ago, several
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import about_brokers, about_registration
from kfix.heal.probes.base import probe
from kfix.heal.probes.moves import ids


@probe("the cluster answers and a broker is registered")
def cluster_reachable(_args: Args, reader: ClusterReader) -> Answer:
    registered = reader.registered_brokers()
    observed = f"{reader.identity().name}, registered brokers {sorted(registered)}"
    return judge(bool(registered), observed, "a registered broker")


@probe(
    "all of the brokers are registered",
    {"brokers": ArgKind.BROKERS},
    reads=lambda args: about_brokers(*args.brokers("brokers")),
)
def brokers_registered(args: Args, reader: ClusterReader) -> Answer:
    """Each of these brokers is registered: a move to an unregistered one would hang, a throttle on one would time out.

    Returns an inconclusive answer where no broker is named: an empty list does not mean "all of them".
    """
    wanted = args.brokers("brokers")
    registered = reader.registered_brokers()
    missing = tuple(b for b in wanted if b not in registered)
    observed = f"registered {ids(sorted(registered))}" + (f", missing {ids(missing)}" if missing else "")
    return judge(not missing if wanted else None, observed, f"brokers {ids(wanted)} registered")


@probe("at least n brokers are registered", {"n": ArgKind.INT})
def brokers_live_at_least(args: Args, reader: ClusterReader) -> Answer:
    """At least n brokers are registered: fewer cannot carry the replicas, or losing one more would stop producers."""
    registered, wanted = sorted(reader.registered_brokers()), args.number("n")
    observed = f"{len(registered)} registered: {ids(registered)}"
    return judge(len(registered) >= wanted, observed, f"at least {wanted} registered brokers")


@probe("the broker id is not registered", {"broker": ArgKind.BROKER})
def broker_unregistered(args: Args, reader: ClusterReader) -> Answer:
    """A broker id is not registered in a KRaft cluster; inconclusive before Kafka 4.0, which does not report it."""
    broker = args.number("broker")
    state = reader.registration(broker).state
    absent = None if state is RegisteredAs.UNREPORTED else state is RegisteredAs.ABSENT
    return judge(absent, f"broker {broker}: {state}", f"broker {broker} is not registered")


SHOW_TOPICS = "grant Describe on all topics (docs/security.md)"


@probe(
    "the broker is registered, fenced and gone for this long, and holds no replica",
    {"broker": ArgKind.BROKER, "dead_for": ArgKind.DURATION},
    reads=lambda args: about_registration(args.number("broker")),
)
def broker_is_gone(args: Args, reader: ClusterReader) -> Answer:
    """A broker id of a KRaft cluster is registered, and its broker is gone: what may be unregistered.

    It is fenced, nothing answers at its address, it is no voter of the quorum, and no replica is assigned to it. If the
    active controller knows when it last fetched metadata, that is longer ago than a restart takes. The answer is
    inconclusive where the brokers do not report who is registered (before Kafka 4.0), and where there are topics that
    this client may not describe: it may hold replicas of them.
    """
    broker, dead_for = args.number("broker"), args.seconds("dead_for")
    found = reader.registration(broker)
    why = why_not_gone(broker, found, dead_for)
    unknown = "" if why or not found.hidden else hidden_replicas(broker, found.hidden)
    fetched = "no fetch known" if found.fetched is None else f"last fetch {ago(found.fetched)} ago"
    observed = why or unknown or f"broker {broker}: {found.state}, {fetched}, {several(found.replicas, 'replica')}"
    gone = None if unknown or found.state is RegisteredAs.UNREPORTED else not why
    return judge(gone, observed, f"broker {broker} is fenced and gone for {ago(dead_for)}, and holds nothing")


def hidden_replicas(broker: int, why: str) -> str:
    return f"broker {broker} may hold replicas of topics that this client may not describe ({why}): {SHOW_TOPICS}"


def why_not_gone(broker: int, found: BrokerRegistration, dead_for: float) -> str:
    """Returns why the registration has to stay, "" if nothing needs it."""
    reasons = {
        f"broker {broker} is alive": found.state is RegisteredAs.ALIVE,
        f"broker {broker} is not registered": found.state is RegisteredAs.ABSENT,
        f"the brokers do not report whether broker {broker} is registered (Kafka 4.0 and later do)": (
            found.state is RegisteredAs.UNREPORTED
        ),
        f"broker {broker} runs: its address answers": found.answers,
        f"node {broker} is a voter of the quorum": found.voter,
        f"broker {broker} still holds {several(found.replicas, 'replica')}: move them first": found.replicas > 0,
        f"broker {broker} may be restarting: its last fetch was {ago(found.fetched)} ago": (
            found.fetched is not None and found.fetched < dead_for
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


@probe("the broker has 1.2 times this many bytes free", {"broker": ArgKind.BROKER, "bytes": ArgKind.BYTES})
def free_space(args: Args, reader: ClusterReader) -> Answer:
    """The answer is inconclusive where the broker does not report its free space (before Kafka 3.3), or where the size
    is unknown: a full disk takes every replica on it offline.
    """
    broker, size = args.number("broker"), args.number("bytes")
    free = reader.log_dirs(broker).free
    observed = f"broker {broker}: {'free space unknown' if free is None else f'{free} bytes free'}"
    if size < 0:
        return judge(None, f"{observed}; the size of the new replica is unknown", "1.2 times an unknown size free")
    needed = with_reserve(size)
    return judge(None if free is None else free > needed, observed, f"more than {needed} bytes free")


def with_reserve(size: int) -> int:
    """1.2 times the size, in whole numbers."""
    return size * 6 // 5


@probe(
    "the broker has 1.2 times this many bytes free, where its version reports free space",
    {"broker": ArgKind.BROKER, "bytes": ArgKind.BYTES},
)
def room_for(args: Args, reader: ClusterReader) -> Answer:
    """The broker does not report less than 1.2 times this many bytes free.

    Before Kafka 3.3 a broker does not report its free space: then the probe passes and its answer states so, because an
    unanswerable question must not block a move forever. `free_space` is the stricter probe. This one fails where the
    free space is known and too small, and is inconclusive where the broker does not answer at all.
    """
    broker, needed = args.number("broker"), with_reserve(args.number("bytes"))
    free = reader.log_dirs(broker).free
    wanted = f"more than {needed} bytes free, where the broker reports it"
    if free is None:
        return judge(True, f"broker {broker}: unknown: this version of Kafka does not report it (3.3 does)", wanted)
    return judge(free > needed, f"broker {broker}: {free} bytes free", wanted)
