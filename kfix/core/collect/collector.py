"""Takes a snapshot: the order in which sources are read, and how the responses become one `Snapshot`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kfix import __version__
from kfix.core.collect.authority import ZooKeeperAnswer, ask_zookeeper, discover, note_unread
from kfix.core.collect.bootstrap import Bootstrap, Bootstrapped, unlisted_brokers, unreachable
from kfix.core.collect.broker import BrokerAnswers, ask_broker, topic_ids
from kfix.core.collect.fleet_facts import fleet_facts
from kfix.core.collect.kraft import newest_of, offsets_of
from kfix.core.collect.options import CollectOptions
from kfix.core.collect.quorum import QuorumQuestion, ask_fenced, kraft_settings
from kfix.core.collect.rights import with_rights
from kfix.core.collect.source import Known, read_all
from kfix.core.collect.sources import SOURCES
from kfix.core.collect.tasks import Brokers, Questions, Task, as_finished
from kfix.core.derive.quorum import listed_alive
from kfix.core.derive.record import recorded_by
from kfix.core.derive.vantage import broker_called, vantage_of
from kfix.core.errors import UnreachableError, UsageError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.metadata import Shared
from kfix.core.ledger import Ledger
from kfix.core.snapshot.memory import Memory
from kfix.core.snapshot.naming import PartitionNames
from kfix.core.snapshot.snapshot import (
    ClusterIdentity,
    Endpoint,
    Mode,
    Snapshot,
    ZooKeeperView,
)
from kfix.core.target import Target
from kfix.core.timing import Deadline
from kfix.core.zookeeper.connect import Connect

#: Share of the deadline for the first round, so that a hung broker leaves time for the second.
_FIRST_ROUND = 0.6
#: Timeout in seconds for brokers that are not registered: most are dead, and a dead host does not respond at all.
_UNLISTED_SECONDS = 1.5
#: Least timeout in seconds for the intended cluster, if the servers belong to several.
_LEAST_SECONDS = 1.0


def collect(target: Target, options: CollectOptions | None = None) -> Snapshot:
    """Returns a snapshot of the cluster within `target.timeout` seconds; failed sources are listed in `sources`.

    Raises UnreachableError only if no broker and no ZooKeeper server responds.
    """
    options = options or CollectOptions()
    first, servers = _collect_once(target, options)
    cluster = meant(servers, first.cluster.id, target.expected_id)
    if not first.cluster.id or cluster == first.cluster.id:
        return first
    # The first server that answered belongs to another cluster than the intended one.
    left = max(_LEAST_SECONDS, target.timeout - first.seconds)
    second, _ = _collect_once(replace(target, bootstrap=tuple(servers[cluster]), timeout=left), options)
    others = {str(e): other for other, of in servers.items() if other != cluster for e in of}
    identity = replace(second.cluster, bootstrap=target.bootstrap_text)
    return replace(second, cluster=identity, foreign=dict(sorted((others | dict(second.foreign)).items())))


def meant(servers: Mapping[str, Sequence[Endpoint]], read: str, expected: str = "") -> str:
    """Returns the id of the intended cluster among the clusters of these bootstrap servers.

    It is `expected`, from an inventory, or the cluster of most servers. If no other cluster has more servers, it is
    `read`, the cluster of the first server that answered.
    """
    if expected in servers:
        return expected
    largest = max(servers, key=lambda cluster: len(servers[cluster]), default=read)
    return largest if len(servers.get(largest, ())) > len(servers.get(read, ())) else read


def _collect_once(target: Target, options: CollectOptions) -> tuple[Snapshot, Mapping[str, Sequence[Endpoint]]]:
    """Returns a snapshot of the cluster of the first server that answers, and {cluster id: its bootstrap servers}."""
    collection = _Collection(target, options)
    try:
        return collection.run()
    finally:
        collection.close()


class _Collection:
    def __init__(self, target: Target, options: CollectOptions) -> None:
        self._target = target
        self._options = options
        self._questions = Questions()
        self._names = PartitionNames()
        self._ledger = Ledger()
        self._shared = Shared(self._names)
        self._deadline = Deadline.after(target.timeout)
        self._first = Deadline.after(target.timeout * _FIRST_ROUND)
        self._lines: dict[int, BrokerConnection] = {}
        self._tasks: dict[int, Task[BrokerAnswers]] = {}
        self._addresses: dict[int, Endpoint] = {}
        self._answers: dict[int, BrokerAnswers] = {}
        self._memory: Memory | None = None
        self._quorum: QuorumQuestion | None = None
        self._fenced: dict[int, Endpoint] | None = None
        self._cluster_id = ""
        #: {address: id of another cluster} of registered brokers.
        self._foreign: dict[str, str] = {}

    def close(self) -> None:
        for line in self._lines.values():
            line.close()

    def run(self) -> tuple[Snapshot, Mapping[str, Sequence[Endpoint]]]:
        """Returns the snapshot, and {cluster id: the bootstrap servers that have answered as its brokers}."""
        taken_at = time.time()
        asked_zookeeper = self._ask_zookeeper(self._target.zookeeper) if self._target.zookeeper else None
        bootstrap = Bootstrap(self._questions, self._target, self._first, self._ledger)
        bootstrapped = bootstrap.first()
        if bootstrapped is None and asked_zookeeper is None:
            raise unreachable(self._questions, self._target)
        mode, authority = self._read_brokers(bootstrapped, asked_zookeeper)
        cluster_id = authority.cluster_id or (self._cluster_id if self._quorum is not None else "")
        self._drop_foreign(cluster_id)
        self._ask_unlisted(bootstrap, authority)
        self._drop_foreign(cluster_id)
        if not self._options.vantage:  # A vantage records all addresses that it does not reach.
            patience = self._deadline.within(min(_UNLISTED_SECONDS, self._deadline.left / 2))
            bootstrap.keep_hung(self._addresses.values(), patience)
        if not self._answers and (authority.view is None or authority.left_over):
            raise self._nothing_read(authority, bootstrapped)
        cluster_id = cluster_id or next((a.cluster_id for a in self._answers.values() if a.cluster_id), "")
        known = self._known(taken_at, mode, authority.view, cluster_id)
        dead = self._retract_dead(known)
        snapshot = self._snapshot(known, cluster_id, authority, dead)
        foreign = bootstrap.foreign() | (self._quorum.foreign if self._quorum is not None else {}) | self._foreign
        snapshot = replace(snapshot, foreign=dict(sorted(foreign.items())))
        if self._options.vantage:
            tried = {broker_called(b): task.error for b, task in dead.items()}
            tried |= bootstrap.unanswered(self._addresses.values())
            snapshot = replace(snapshot, vantages=(vantage_of(snapshot, self._options.vantage, tried),))
        seconds = round(time.time() - taken_at, 3)
        return replace(snapshot, seconds=seconds, traffic=self._ledger.totals()), bootstrap.servers()

    def _read_brokers(
        self, bootstrapped: Bootstrapped | None, asked: Callable[[], ZooKeeperAnswer] | None
    ) -> tuple[Mode, ZooKeeperAnswer]:
        """Reads the brokers that the bootstrap server and ZooKeeper list, and the mode of the cluster.

        Raises UsageError if ZooKeeper and the brokers belong to different clusters.
        """
        self._cluster_id = "" if bootstrapped is None else bootstrapped.metadata.cluster_id
        mode, asked = self._named_by(bootstrapped, asked)
        if bootstrapped is not None:
            self._ask(bootstrapped.metadata.brokers, bootstrapped)
        if mode is Mode.UNKNOWN:
            mode, asked = self._named_by_others()
        authority = asked() if asked is not None else ZooKeeperAnswer("", None, "")
        note_unread(authority.unread, self._questions)
        if authority.view is not None:
            self._ask({i: r.endpoint for i, r in authority.view.registrations.items() if r.endpoint is not None})
        self._gather()
        taken_over = authority.view is not None and authority.view.controller.is_kraft
        if mode is Mode.ZOOKEEPER and (configs := kraft_settings(self._answers.values(), taken_over=taken_over)):
            # The brokers decide: a ZooKeeper that is left over after a migration shows nothing about them.
            mode, _ = self._ask_authority(configs)
            self._ask_again(b for b, each in self._answers.items() if each.configs.get("process.roles"))
            self._questions.retract(f"zookeeper {authority.connect}")
            authority = ZooKeeperAnswer("", None, "")
        if authority.cluster_id and self._cluster_id not in ("", authority.cluster_id):
            raise UsageError(
                f"two clusters: the brokers of --bootstrap-server are of cluster {self._cluster_id}, ZooKeeper is of "
                f"{authority.cluster_id}",
                hint="give only one of the two options; kfix finds the other address itself",
            )
        return mode, authority

    def _nothing_read(self, authority: ZooKeeperAnswer, bootstrapped: Bootstrapped | None) -> UnreachableError:
        if not authority.left_over:
            return unreachable(self._questions, self._target, bootstrapped)
        return UnreachableError(
            f"zookeeper {authority.connect}: is left over from a migration to KRaft and shows nothing about the "
            "cluster: its last controller was a KRaft one, and no broker is registered",
            hint="give the brokers instead: --bootstrap-server HOST:PORT",
        )

    def _ask(self, brokers: Mapping[int, Endpoint], bootstrapped: Bootstrapped | None = None) -> None:
        for broker, endpoint in brokers.items():
            if broker in self._tasks:
                continue
            if bootstrapped is not None and bootstrapped.broker == broker:
                line = bootstrapped.connection
            else:
                line = BrokerConnection(endpoint, self._target.security, ledger=self._ledger)
            self._lines[broker] = line
            self._addresses[broker] = endpoint
            kraft = self._quorum is not None
            ask = partial(ask_broker, line, broker, self._first, self._shared, kraft=kraft)
            self._tasks[broker] = self._questions.start(f"broker {broker}", ask)
        if bootstrapped is not None and bootstrapped.broker is None:
            bootstrapped.connection.close()

    def _ask_again(self, brokers: Iterable[int]) -> None:
        """Asks brokers once more that were asked before any of them was known to run on KRaft."""
        again = {broker: self._addresses[broker] for broker in brokers}
        for broker in again:
            self._lines[broker].close()
            del self._tasks[broker], self._answers[broker]
        self._ask(again)
        self._gather()

    def _named_by(
        self, bootstrapped: Bootstrapped | None, asked: Callable[[], ZooKeeperAnswer] | None
    ) -> tuple[Mode, Callable[[], ZooKeeperAnswer] | None]:
        kraft = (
            bootstrapped is not None and discover(bootstrapped.configs, self._target.zookeeper_access)[0] is Mode.KRAFT
        )
        if asked is not None and not kraft:
            return Mode.ZOOKEEPER, asked
        return self._ask_authority(bootstrapped.configs) if bootstrapped is not None else (Mode.UNKNOWN, None)

    def _named_by_others(self) -> tuple[Mode, Callable[[], ZooKeeperAnswer] | None]:
        """Uses the first broker that responds if the bootstrap server has no configs, such as a load balancer."""
        silent = []
        for task in as_finished(self._tasks.values(), self._first):
            answer = task.result(self._first)
            if answer is None:
                continue
            mode, asked = self._ask_authority(answer.configs)
            if mode is not Mode.UNKNOWN:
                return mode, asked
            silent.append(task.name)
        if silent:
            self._questions.failed(
                "zookeeper", f"{silent[0]} does not report the address of ZooKeeper: give --zookeeper"
            )
        return Mode.UNKNOWN, None

    def _ask_authority(self, configs: Mapping[str, str]) -> tuple[Mode, Callable[[], ZooKeeperAnswer] | None]:
        mode, connect = discover(configs, self._target.zookeeper_access)
        if mode is Mode.KRAFT and self._quorum is None:
            self._quorum = QuorumQuestion(self._target, configs, self._first, self._ledger, self._cluster_id)
        if connect is None:
            return mode, None
        return mode, self._ask_zookeeper(connect)

    def _ask_zookeeper(self, connect: Connect) -> Callable[[], ZooKeeperAnswer]:
        return ask_zookeeper(self._questions, connect, self._target, self._first, self._names, self._ledger)

    def _ask_unlisted(self, bootstrap: Bootstrap, authority: ZooKeeperAnswer) -> None:
        # Without ZooKeeper the cluster id is not confirmed yet, so no earlier snapshots are used.
        remembered = self._recalled(authority.cluster_id).brokers if authority.view is not None else {}
        by_bootstrap = bootstrap.unlisted(self._addresses.values())
        views = (answer.view for answer in self._answers.values())
        found = unlisted_brokers(authority.view, views, remembered, by_bootstrap, self._addresses)
        if self._quorum is not None and (newest := newest_of(self._answers)) is not None:
            brokers = Brokers(self._questions, self._lines, self._first)
            self._fenced, _ = brokers.once("fenced brokers", lambda: ask_fenced(self._lines[newest], self._first))
            found |= {b: e for b, e in (self._fenced or {}).items() if b not in self._addresses}
        if found:
            self._first = self._deadline.within(min(_UNLISTED_SECONDS, self._deadline.left / 2))
            self._ask(found)
            self._gather()
            # If a broker does not list this id, its address has been reused.
            for broker in [b for b in found if b in self._answers and not self._is_itself(b)]:
                del self._answers[broker]
                self._tasks[broker].error = f"another broker responds at {found[broker]}"

    def _is_itself(self, broker: int) -> bool:
        """Returns whether this broker answered at its address; on KRaft a fenced one does not list itself."""
        answer = self._answers[broker]
        # Only the broker itself describes its settings.
        return broker in answer.view.alive or (self._quorum is not None and bool(answer.configs))

    def _recalled(self, cluster_id: str) -> Memory:
        if self._memory is None:
            self._memory = self._options.recall(cluster_id) if cluster_id else Memory()
        return self._memory

    def _gather(self) -> None:
        for broker, task in self._tasks.items():
            if broker in self._answers:
                continue
            answer = task.result(self._first)
            if answer is not None:
                self._answers[broker] = answer
                for problem in answer.problems:
                    self._questions.failed(problem.partition(":")[0], problem)

    def _drop_foreign(self, cluster_id: str) -> None:
        """Drops the answers of brokers of another cluster, if its id is known."""
        if not cluster_id:
            return
        for broker in [b for b, answer in self._answers.items() if answer.cluster_id not in ("", cluster_id)]:
            other = self._answers.pop(broker).cluster_id
            where = str(self._addresses[broker])
            if self._quorum is not None:
                self._foreign[where] = other
            self._questions.failed(f"broker {broker}", f"{where} is a broker of another cluster, {other}")

    def _known(self, taken_at: float, mode: Mode, zookeeper: ZooKeeperView | None, cluster_id: str) -> Known:
        answers = dict(self._answers)
        views = {broker: answer.view for broker, answer in sorted(answers.items())}
        quorum, record = self._quorum, recorded_by(zookeeper, None, views)
        live = frozenset(zookeeper.registrations if zookeeper is not None else views)
        if quorum is not None:
            offsets = offsets_of(answers)
            quorum.ask_again({b: self._addresses[b] for b in answers}, offsets)
            seen = quorum.seen(offsets)
            live = listed_alive(views, seen) or live
            record = recorded_by(None, seen, views)
        return Known(
            brokers=Brokers(self._questions, {b: self._lines[b] for b in views}, self._deadline),
            target=self._target,
            options=self._options,
            ledger=self._ledger,
            mode=mode,
            taken_at=taken_at,
            answers=answers,
            addresses=dict(sorted(self._addresses.items())),
            views=views,
            live=live,
            record=record,
            memory=self._recalled(cluster_id),
            zookeeper=zookeeper,
            quorum=quorum,
            fenced=self._fenced,
        )

    def _retract_dead(self, known: Known) -> dict[int, Task[BrokerAnswers]]:
        """A broker that is not registered and does not respond is dead: a fact, not a failed source."""
        if known.zookeeper is None and known.quorum is None:
            return {}
        dead = {b: task for b, task in self._tasks.items() if b not in known.live and b not in known.views}
        for task in dead.values():
            self._questions.retract(task.name)
        return dead

    def _snapshot(self, known: Known, cluster_id: str, authority: ZooKeeperAnswer, dead: Collection[int]) -> Snapshot:
        unanswered = ((b, task) for b, task in sorted(self._tasks.items()) if b not in known.views)
        # A dead broker that accepts connections is frozen.
        silent = {
            b: task.error or "is of another cluster"
            for b, task in unanswered
            if b not in dead or (task.hung and self._lines[b].accepted)
        }
        bootstrap = self._target.bootstrap_text or ",".join(map(str, self._addresses.values()))
        fields = read_all((*SOURCES, fleet_facts) if self._options.fleet_facts else SOURCES, known)
        return Snapshot(
            taken_at=known.taken_at,
            kfix=__version__,
            cluster=ClusterIdentity(cluster_id, known.mode, bootstrap, authority.connect),
            reached_by=self._target.reached_by,
            views=known.views,
            zookeeper=known.zookeeper,
            ensemble=authority.ensemble,
            broker_configs={b: a.configs for b, a in known.answers.items()},
            topic_ids=topic_ids(known.answers.values()),
            groups_complete=len(known.listed) == len(known.live) and bool(known.live),
            samples=(self._options.before,) if self._options.before is not None else (),
            addresses=known.addresses,
            silent=silent,
            memory=known.memory,
            sources=with_rights(self._questions.sources(), self._target.security.principal),
            **fields,
        )
