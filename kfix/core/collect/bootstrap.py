"""Finds the cluster: contacts all bootstrap servers in parallel, so that dead ones cost no time."""

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from kfix.core.collect.broker import ask_brokers, ask_configs
from kfix.core.collect.listeners import mistaken, wanted
from kfix.core.collect.tasks import Questions, as_finished
from kfix.core.endpoint import OWN_LIMIT, parse_endpoint
from kfix.core.errors import OwnLimitError, UnreachableError
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.metadata import MetadataResponse
from kfix.core.ledger import Ledger
from kfix.core.snapshot.snapshot import BrokerView, Endpoint, ZooKeeperView
from kfix.core.target import Target
from kfix.core.timing import Deadline


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """The first bootstrap server that responded. `metadata` has no partitions.

    `broker` is the id behind the connection, or None if the broker list lacks its address, as with a load balancer;
    then its `configs` cannot be read.
    """

    metadata: MetadataResponse
    connection: BrokerConnection
    broker: int | None
    configs: Mapping[str, str]


class Bootstrap:
    """Requests to all bootstrap servers. In a partitioned network, some brokers are only known by these addresses."""

    def __init__(self, questions: Questions, target: Target, deadline: Deadline, ledger: Ledger) -> None:
        self._questions = questions
        self._target = target
        self._deadline = deadline
        self._ledger = ledger
        self._won = threading.Lock()
        self._cluster_id = ""
        self._tasks = {e: questions.start(f"bootstrap {e}", partial(self._ask, e)) for e in target.bootstrap}

    def _ask(self, endpoint: Endpoint) -> tuple[int | None, str, Bootstrapped | None]:
        """Returns the ids of the broker and of its cluster. The first server to respond keeps its connection."""
        connection = BrokerConnection(endpoint, self._target.security, ledger=self._ledger)
        try:
            metadata = ask_brokers(connection, self._deadline)
            own = _own_id(endpoint, metadata)
            # The configs contain the ZooKeeper address, so that its bulk read can start while the brokers are being
            # read.
            configs = {} if own is None else ask_configs(connection, own, self._deadline)
        except BaseException:
            connection.close()
            raise
        if not self._won.acquire(blocking=False):
            connection.close()
            return own, metadata.cluster_id, None
        return own, metadata.cluster_id, Bootstrapped(metadata, connection, own, configs)

    def first(self) -> Bootstrapped | None:
        """Returns the first response, or None if no bootstrap server responds; the errors are in the sources."""
        for task in as_finished(self._tasks.values(), self._deadline):
            answer = task.result(self._deadline)
            if answer is not None and answer[2] is not None:
                self._retract()
                self._cluster_id = answer[1]
                return answer[2]
        return None

    def unlisted(self, known: Collection[Endpoint]) -> dict[int, Endpoint]:
        """Returns {broker id: address} of the servers that responded at an address not in `known`."""
        found = {}
        for endpoint, task in self._tasks.items():
            answer = task.result(self._deadline) if endpoint not in known and task.done else None
            if answer is not None and answer[0] is not None and self._cluster_id in ("", answer[1]):
                found[answer[0]] = endpoint
        self._retract()
        return found

    def foreign(self) -> dict[str, str]:
        """Returns {address: cluster id} of the servers that have answered as brokers of another cluster."""
        if not self._cluster_id:
            return {}
        return {str(e): cluster for cluster, of in self.servers().items() if cluster != self._cluster_id for e in of}

    def servers(self) -> dict[str, list[Endpoint]]:
        """Returns {cluster id: the servers that have answered as its brokers}."""
        found: dict[str, list[Endpoint]] = {}
        for endpoint, task in self._tasks.items():
            answer = task.answer_so_far
            if answer is not None and answer[1]:
                found.setdefault(answer[1], []).append(endpoint)
        return found

    def keep_hung(self, known: Collection[Endpoint], patience: Deadline) -> None:
        """Keeps the failure of each server that neither answers nor refuses at an address not in `known`.

        A broker may run there that no source names: a frozen broker without replicas loses its session and is then in
        no list of brokers, but clients that start at its address hang. Waits for pending requests at such addresses.
        """
        self._retract()
        for endpoint, task in self._tasks.items():
            if endpoint not in known:
                task.result(patience)
                if not task.hung:
                    self._questions.retract(task.name)

    def unanswered(self, known: Collection[Endpoint]) -> dict[str, str]:
        """Returns {address: error} of the addresses without a broker. Waits for pending requests."""
        tasks = {e: task for e, task in self._tasks.items() if e not in known}
        lost = {e: task for e, task in tasks.items() if task.result(self._deadline) is None}
        self._retract()
        return {str(e): task.error.removeprefix(f"{task.name}: ") for e, task in lost.items()}

    def _retract(self) -> None:
        """Removes the errors: every broker is read again at its own address, and `keep_hung` keeps the others."""
        for task in self._tasks.values():
            self._questions.retract(task.name)


def unreachable(questions: Questions, target: Target, responded: Bootstrapped | None = None) -> UnreachableError:
    """Returns the errors of all sources; `responded` is the answer of a broker that named no broker to read."""
    errors = [s.error for s in questions.sources() if not s.ok]
    if responded is not None and not responded.metadata.brokers:
        return UnreachableError(
            f"broker {responded.connection.endpoint} responds and names no broker, not even itself: no controller has "
            "sent it the metadata of the cluster",
            hint="give another broker, or --zookeeper; without a controller, start the controllers first",
        )
    if any(OWN_LIMIT in error for error in errors):
        return OwnLimitError(f"the cluster was {OWN_LIMIT}")
    error = UnreachableError(
        "the cluster cannot be reached: " + ("; ".join(errors) or "no address given"),
        hint="check the address, the security protocol (--command-config) and the network; nothing was read",
    )
    error.notes = partial(mistaken, wanted(target))
    return error


def _own_id(endpoint: Endpoint, metadata: MetadataResponse) -> int | None:
    return next((i for i, e in metadata.brokers.items() if e == endpoint), None)


# Brokers that neither ZooKeeper nor the first brokers list, for example because of a network partition.


def unlisted_brokers(
    view: ZooKeeperView | None,
    views: Iterable[BrokerView],
    remembered: Mapping[int, str],
    by_bootstrap: Mapping[int, Endpoint],
    asked: Mapping[int, Endpoint],
) -> dict[int, Endpoint]:
    """Returns {broker: possible address} from other brokers' metadata, bootstrap servers and earlier snapshots.

    Without ZooKeeper, only brokers that responded count: cluster membership is unknown.
    """
    if view is None:
        return _unasked(by_bootstrap, asked)
    listed = {b: e for each in views for b, e in each.alive.items()}
    known = {b: e for b, text in remembered.items() if (e := parse_endpoint(text)) is not None}
    found = _unasked({**known, **listed, **by_bootstrap}, asked)
    if not found.keys() & remembered.keys():
        return found
    # A remembered broker counts only while it has replicas.
    holders = {b for a in set(view.assignments.values()) for b in a.replicas}
    return {b: e for b, e in found.items() if b in holders or b not in remembered}


def _unasked(found: Mapping[int, Endpoint], asked: Mapping[int, Endpoint]) -> dict[int, Endpoint]:
    """Leaves out brokers that were read, and addresses that now belong to another broker."""
    taken: Collection[Endpoint] = set(asked.values())
    return {b: e for b, e in found.items() if b not in asked and e not in taken}
