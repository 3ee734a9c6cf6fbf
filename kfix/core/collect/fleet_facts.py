"""The sources that only the questions of a fleet need (docs/fleet-questions.md). They come after all others.

None of them fails a source of the snapshot: what was not read, and why, is part of the facts.
"""

from collections.abc import Callable, Mapping
from itertools import chain, islice
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kfix.core.collect.logs import MOST_OF_ALL
from kfix.core.collect.rights import AUTHORIZER
from kfix.core.collect.source import Known, LiveSource, source
from kfix.core.collect.sources import hidden_topics, offsets_sizes, reassignments
from kfix.core.collect.tasks import by_broker
from kfix.core.collect.transactions import newest_leaders
from kfix.core.derive.vantage import distinct
from kfix.core.errors import UnreachableError
from kfix.core.kafka import access_messages, requests
from kfix.core.kafka.access_messages import EVERYTHING, NO_AUTHORIZER, OF_TOPICS, AclFilter
from kfix.core.kafka.api import Api
from kfix.core.kafka.codes import CLUSTER, name_of, with_right
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.fleet_facts import (
    Acls,
    ApiRange,
    Certificate,
    EarlierEpoch,
    FleetFacts,
    LeaderLog,
    Quota,
    Setting,
    StoredLogDir,
    UnreadFact,
)
from kfix.core.snapshot.snapshot import Mode, TopicPartition
from kfix.core.timing import Deadline

T = TypeVar("T")
Q = TypeVar("Q")
#: The principals of everyone, and of a client without authentication.
ANYONE: Final = ("User:*", "User:ANONYMOUS")
#: Most earlier epochs of a log that are read: an epoch begins with each new leader.
MOST_EPOCHS: Final = 4
_SOURCES: Final = {2: "broker", 3: "cluster", 4: "file"}
_OPEN: Final = "allow.everyone.if.no.acl.found"
_BY_ZOOKEEPER: Final = (
    "not asked: a broker would ask ZooKeeper, and never answer if it has lost it; kafka-configs.sh shows them"
)


class FactPart(NamedTuple, Generic[T]):
    """What one source has read, and what it has not."""

    value: T
    unread: tuple[UnreadFact, ...] = ()


def _each(
    known: Known, fact: str, api: Api, asked: Mapping[int, Q], ask: Callable[[BrokerConnection, Q, Deadline], T]
) -> FactPart[dict[int, T]]:
    """Asks these brokers. Each without an answer is unread, with the right that was missing."""
    answers = known.brokers.aside().each(fact, asked, ask)

    def why(broker: int) -> str:
        error = answers.errors.get(broker, f"broker {broker} does not respond to kfix")
        return with_right(error, api, known.target.security.principal)

    return FactPart(
        answers.found, tuple(UnreadFact(fact, b, why(b)) for b in sorted(asked.keys() - answers.found.keys()))
    )


def _once(
    known: Known, fact: str, api: Api, ask: Callable[[BrokerConnection, None, Deadline], T]
) -> FactPart[T | None]:
    """Asks one broker after the other, until one has answered."""
    part: FactPart[dict[int, T]] = FactPart({}, (UnreadFact(fact, -1, "no broker responds to kfix"),))
    for broker in known.brokers.lines:
        part = _each(known, fact, api, {broker: None}, ask)
        if part.value:
            return FactPart(part.value[broker])
    return FactPart(None, tuple(each._replace(broker=-1) for each in part.unread))


@source(needs=(hidden_topics, offsets_sizes, reassignments))
def others(_: Known) -> None:
    """Waits for all other sources, since a slow disk keeps a connection busy; sends no request."""


@source(needs=(others,))
def leader_logs(known: Known) -> FactPart[dict[TopicPartition, LeaderLog]]:
    views = distinct(known.views)[0]
    leaders = newest_leaders(views)
    every = sorted({tp for view in views for tp in view})
    found = {tp: LeaderLog(-1, error="no leader") for tp in every if tp not in leaders}
    led = by_broker((leaders[tp].leader, tp) for tp in islice((tp for tp in every if tp in leaders), MOST_OF_ALL))
    part = _each(known, "leader_logs", requests.LIST_OFFSETS, led, ask_logs)
    found |= {tp: LeaderLog(b, *log[1:]) for b, logs in part.value.items() for tp, log in logs.items()}
    left_out = len(leaders) - MOST_OF_ALL
    more = (UnreadFact("leader_logs", -1, f"{left_out} partitions are beyond the limit of {MOST_OF_ALL}"),)
    return FactPart(found, (*part.unread, *(more if left_out > 0 else ())))


def ask_logs(
    line: BrokerConnection, tps: tuple[TopicPartition, ...], deadline: Deadline
) -> dict[TopicPartition, LeaderLog]:
    """Returns the logs of partitions that this broker leads."""
    asked = (
        requests.list_offsets(tps, requests.EARLIEST, replica=requests.CONSUMER),
        requests.list_offsets(tps, requests.LATEST, replica=requests.CONSUMER),
        requests.list_offsets(tps, requests.LATEST),
    )
    answers = line.call_many(asked, deadline)
    found = {}
    for tp in tps:
        rows = [each[tp] for each in answers if tp in each]
        whole = "" if len(rows) == len(asked) else "no answer"
        error = next((name_of(each.error) for each in rows if each.error), whole)
        if error:
            found[tp] = LeaderLog(-1, error=error)
        else:
            start, committed, end = rows
            found[tp] = LeaderLog(-1, committed.leader_epoch, start.offset, committed.offset, end.offset)
    return _with_epochs(line, found, deadline)


def _with_epochs(
    line: BrokerConnection, logs: dict[TopicPartition, LeaderLog], deadline: Deadline
) -> dict[TopicPartition, LeaderLog]:
    """Reads where the last epochs of these logs ended: each round asks for the epoch before."""
    asked = {tp: log.epoch - 1 for tp, log in logs.items() if not log.error and log.epoch > 0}
    for _ in range(MOST_EPOCHS):
        answers = line.call(requests.epoch_ends(asked), deadline) if asked else {}
        asked = {}
        for tp, answer in answers.items():
            if answer.error or min(answer.offset, answer.leader_epoch) < 0:
                continue
            log = logs[tp]
            logs[tp] = log._replace(earlier=(*log.earlier, EarlierEpoch(answer.leader_epoch, answer.offset)))
            if answer.offset > log.start and answer.leader_epoch > 0:
                asked[tp] = answer.leader_epoch - 1
    return logs


@source(needs=(others,))
def broker_settings(known: Known) -> FactPart[dict[int, tuple[Setting, ...]]]:
    asked = {b: b for b in known.addresses}
    return _each(known, "settings", requests.DESCRIBE_CONFIGS, asked, _ask_settings)


def _ask_settings(line: BrokerConnection, broker: int, deadline: Deadline) -> tuple[Setting, ...]:
    request = requests.describe_configs(requests.BROKER_RESOURCE, (str(broker),), None)
    described = line.call(request, deadline)
    found = described[0] if described else None
    if found is None or found.error:
        raise UnreachableError("an empty response" if found is None else name_of(found.error))
    own = ((key, value, _SOURCES.get(found.sources[key])) for key, value in sorted(found.values.items()))
    return tuple(Setting(key, value, where) for key, value, where in own if where is not None)


@source(needs=(others,))
def certificates(known: Known) -> FactPart[dict[int, Certificate]]:
    """Returns the certificates of the sessions that are open anyway; sends no request."""
    if not known.target.security.protocol.endswith("SSL"):
        return FactPart({})
    found = {b: line.certificate for b, line in known.brokers.lines.items()}
    missing = (b for b in known.addresses if found.get(b) is None)
    why = "the session is not open"
    shown = {b: each for b, each in found.items() if each is not None}
    return FactPart(shown, tuple(UnreadFact("certificates", b, why) for b in missing))


@source(needs=(others,))
def apis(known: Known) -> FactPart[dict[int, tuple[ApiRange, ...]]]:
    """Returns what each broker reported when its connection was opened; sends no request."""
    lines = known.brokers.lines
    found = {b: tuple(ApiRange(k, *versions) for k, versions in sorted(lines[b].ranges.items())) for b in lines}
    missing = (b for b in known.addresses if not found.get(b))
    shown = {b: each for b, each in found.items() if each}
    return FactPart(shown, tuple(UnreadFact("apis", b, f"broker {b} does not respond to kfix") for b in missing))


@source(needs=(broker_settings,))
def acls(known: Known) -> FactPart[Acls | None]:
    """Asks for the rules of everyone and those that allow everything, never for all rules."""
    if not any(answer.configs.get(AUTHORIZER) for answer in known.answers.values()):
        seen = any(answer.configs for answer in known.answers.values())
        return (
            FactPart(Acls(authorizer=False))
            if seen
            else FactPart(None, (UnreadFact("acls", -1, "no settings of a broker"),))
        )
    every = (setting for settings in known[broker_settings].value.values() for setting in settings)
    is_open = any(setting.key == _OPEN and setting.value.lower() == "true" for setting in every)
    filters = [*(AclFilter(principal=each) for each in ANYONE), EVERYTHING, *([OF_TOPICS] if is_open else [])]

    def ask(line: BrokerConnection, _: None, deadline: Deadline) -> Acls:
        found = line.call_many([access_messages.describe_acls(each) for each in filters], deadline)
        if found[0][0] == NO_AUTHORIZER:
            return Acls(authorizer=False)
        rules = [_allowed(*each) for each in found]
        return Acls(True, tuple(sorted({*rules[0], *rules[1], *rules[2]})), rules[3] if is_open else None)

    return _once(known, "acls", access_messages.DESCRIBE_ACLS, ask)


def _allowed(error: int, found: tuple[T, ...]) -> tuple[T, ...]:
    if error:
        raise UnreachableError(name_of(error))
    return found


@source(needs=(others,))
def quotas(known: Known) -> FactPart[tuple[Quota, ...] | None]:
    """Asks a KRaft broker. With ZooKeeper a broker would read them from there, as the settings of topics."""
    if known.mode is not Mode.KRAFT:
        return FactPart(None, (UnreadFact("quotas", -1, _BY_ZOOKEEPER),))

    def ask(line: BrokerConnection, _: None, deadline: Deadline) -> tuple[Quota, ...]:
        return _allowed(*line.call(access_messages.describe_quotas(), deadline))

    return _once(known, "quotas", access_messages.DESCRIBE_CLIENT_QUOTAS, ask)


@source(needs=(leader_logs, broker_settings, acls, quotas))
def log_dirs(known: Known) -> FactPart[dict[int, tuple[StoredLogDir, ...]]]:
    """Comes last, since a broker with a slow disk answers late."""
    return _each(known, "log_dirs", requests.DESCRIBE_LOG_DIRS, dict.fromkeys(known.addresses), _ask_dirs)


def _ask_dirs(line: BrokerConnection, _: None, deadline: Deadline) -> tuple[StoredLogDir, ...]:
    with_room = line.supports(requests.DESCRIBE_LOG_DIRS, requests.WITH_ROOM, deadline)
    error, found = line.call(requests.describe_log_dirs(with_room=with_room), deadline)
    if error or not found:  # Version 1 has no error field.
        raise UnreachableError(name_of(error or CLUSTER))
    return tuple(
        StoredLogDir(each.path, name_of(each.error) if each.error else "", each.total, each.usable, each.sizes)
        for each in sorted(found, key=lambda each: each.path)
    )


#: {field of `FleetFacts`: its source}
_FIELDS: Final[Mapping[str, LiveSource[FactPart[Any]]]] = {
    "leader_logs": leader_logs,
    "log_dirs": log_dirs,
    "settings": broker_settings,
    "certificates": certificates,
    "acls": acls,
    "apis": apis,
    "quotas": quotas,
}


@source(fills="fleet_facts", needs=(*_FIELDS.values(),))
def fleet_facts(known: Known) -> FleetFacts:
    """Returns the facts of all these sources; sends no request."""
    parts = {name: known[part] for name, part in _FIELDS.items()}
    unread = chain.from_iterable(part.unread for part in parts.values())
    return FleetFacts(**{name: part.value for name, part in parts.items()}, unread=tuple(unread))
