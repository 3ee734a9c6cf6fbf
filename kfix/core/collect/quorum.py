"""Reads the quorum of a KRaft cluster: every controller at its own listener, and the metadata offset of each broker.

Only the active controller answers DescribeQuorum, the others with NOT_LEADER_OR_FOLLOWER (docs/facts/kraft.md).
Requests that a broker would forward go last, over a separate connection with its own timeout: a lost quorum never
answers them.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from kfix.core.collect.broker import CONTROLLER_SETTINGS, BrokerAnswers, ask_controller_settings
from kfix.core.collect.quorum_rows import DEPOSED_MS, clock_ahead, just_elected, now_of, replica_rows, unsustained
from kfix.core.collect.tasks import Questions, Task, as_finished, wait
from kfix.core.derive.quorum import quorum_lost
from kfix.core.endpoint import parse_endpoint
from kfix.core.errors import UnreachableError
from kfix.core.kafka import kraft_messages, requests
from kfix.core.kafka.codes import name_of, with_right
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.kafka.kraft_messages import DescribedQuorum, Features
from kfix.core.ledger import Ledger
from kfix.core.numbers import broker_id
from kfix.core.snapshot.quorum import METADATA_FEATURE, ControllerAnswer, QuorumView
from kfix.core.snapshot.snapshot import Assignment, Endpoint, TopicPartition
from kfix.core.target import Target
from kfix.core.timing import Deadline

SOURCE = "KRaft quorum"
_NOT_ACTIVE = 6
#: Seconds that kfix waits for the active controller.
_FIRST = 0.25
#: Seconds until a newly elected controller is asked again.
_SETTLES = 0.02
#: Timeout in seconds for a request that a broker forwards to the active controller.
_FORWARDED = 1.5
#: Seconds between two readings of the metadata offsets: an active controller writes a record every 0.5 s.
_APART = 1.6
#: Seconds for the settings of the active controller, and of the others, after everything else was read.
_ACTIVE_SETTINGS, _OTHER_SETTINGS = 1.0, 0.25

T = TypeVar("T")
Offsets = dict[int, int]


class QuorumQuestion:
    """The requests to the controllers, all started at once; `configs` are the settings of any broker.

    `cluster_id` is the brokers', "" if it is unknown. Answers of controllers of another cluster are ignored.
    """

    def __init__(
        self, target: Target, configs: Mapping[str, str], deadline: Deadline, ledger: Ledger, cluster_id: str = ""
    ) -> None:
        self._target = target
        self._cluster_id = cluster_id
        #: {address: id of another cluster} of controllers.
        self.foreign: dict[str, str] = {}
        self._deadline = deadline
        self._ledger = ledger
        # A controller that does not respond is a fact about the quorum, not a missing source of the snapshot.
        self._aside = Questions()
        self._voters = voters_in(configs.get("controller.quorum.voters", ""))
        listed = [
            parse_endpoint(part.strip()) for part in configs.get("controller.quorum.bootstrap.servers", "").split(",")
        ]
        self._features: dict[Endpoint, Task[Features]] = {}
        self._asked: dict[Endpoint, Task[DescribedQuorum]] = {}
        self._settings: dict[int, Task[dict[str, str]]] = {}
        named = [*self._voters.values(), *(e for e in listed if e is not None)]
        #: Addresses of the option alone, maybe of another cluster; the brokers' own settings name no other.
        self._doubtful = frozenset(target.controllers) - frozenset(named)
        self._ask([*named, *target.controllers])
        self._active: DescribedQuorum | None = None
        self._forwarded: Task[tuple[int, DescribedQuorum]] | None = None
        self._later: Task[Offsets] | None = None
        self._began = 0.0
        # A broker's metadata that is read after the active controller has answered is newer.
        self._find_active()

    def ask_again(self, brokers: Mapping[int, Endpoint], offsets: Offsets) -> None:
        """Starts the requests that only a doubt needs: one through a broker, and the metadata offsets a second time."""
        self._began = time.monotonic()
        self._find_active()
        self._ask_settings()
        view = self.seen(offsets)
        behind = [b for b in brokers if view.doubtful(b)] if self._active is not None else list(brokers)
        if self._active is None and brokers:
            through = {b: brokers[b] for b in sorted(brokers, key=lambda b: -offsets.get(b, -1))}
            self._forwarded = self._aside.start("quorum through a broker", lambda: self._through(through))
        if behind:
            again = {b: brokers[b] for b in behind}
            self._later = self._aside.start("metadata offsets", lambda: self._offsets_later(again))

    def answer(self, offsets: Offsets) -> QuorumView:
        """Returns the view of all answers, after the requests of `ask_again` have ended."""
        forwarded = self._forwarded.result(self._deadline) if self._forwarded is not None else None
        through, why = -1, ""
        if self._forwarded is not None:
            why = self._forwarded.error.removeprefix(f"{self._forwarded.name}: ")
        later = (self._later.result(self._deadline) if self._later is not None else None) or {}
        self._find_active()
        if self._active is None:
            self._elected_meanwhile()
        # A voter that only the active controller names was asked a moment ago, and a deposed controller may have been
        # the first to answer.
        patience = self._deadline.within(_FIRST)
        wait(self._asked.values(), patience)
        wait(self._features.values(), patience)
        self._find_active()
        deposed = "" if forwarded is None else unsustained(forwarded[1], DEPOSED_MS)
        if self._active is None and forwarded is not None and not deposed:
            through, self._active = forwarded
        elif forwarded is not None and deposed:
            why = name_of(forwarded[1].error) if forwarded[1].error else deposed
        self._ask_settings()
        view = self.seen(offsets)
        return replace(
            view,
            through=through,
            forwarded=why if self._active is None else "",
            later=later,
            apart=round(time.monotonic() - self._began, 1) if later else 0.0,
            controller_settings=self._settings_so_far(view.leader),
        )

    def settings_unread(self, leader: int) -> str:
        """Returns why the active controller, which answered itself, did not report its settings, or ""."""
        return self._settings[leader].error if leader in self._settings else ""

    def _ask_settings(self) -> None:
        """Asks each controller, once, as soon as the node at its address is known."""
        for node, endpoint in self._answering().items():
            if node not in self._settings:
                ask = partial(ask_controller_settings, node=node, deadline=self._deadline)
                name = f"{CONTROLLER_SETTINGS} {node}"
                self._settings[node] = self._aside.start(name, partial(self._at_controller, endpoint, ask))

    def _settings_so_far(self, leader: int) -> dict[int, dict[str, str]]:
        """Returns {controller: settings} of those that have answered; waits longest for the active one."""
        if leader in self._settings:
            self._settings[leader].result(self._deadline.within(_ACTIVE_SETTINGS))
        wait(self._settings.values(), self._deadline.within(_OTHER_SETTINGS))
        return {node: found for node, task in self._settings.items() if (found := task.answer_so_far)}

    def reassignments(self, view: QuorumView, brokers: Mapping[int, Endpoint]) -> dict[TopicPartition, Assignment]:
        """Returns the reassignments, from the active controller itself if it can be reached.

        Raises UnreachableError if it cannot: a broker would hold the request until its controller answers.
        """
        active = self._active_answers()
        own = max(active, key=lambda e: active[e].epoch, default=None)
        if own is None and view.through not in brokers:
            raise UnreachableError("no active controller answers, and a broker would wait for one")
        endpoint = own or brokers[view.through]
        with self._line(endpoint, controller=own is not None) as line:
            deadline = self._deadline.within(_FORWARDED)
            error, found = line.call(requests.list_reassignments(), deadline)
        if error:
            raise UnreachableError(f"reassignments: {name_of(error)}")
        return found

    def _line(self, endpoint: Endpoint, *, controller: bool = False) -> BrokerConnection:
        return BrokerConnection(endpoint, self._target.security, ledger=self._ledger, controller=controller)

    def _ask(self, endpoints: Iterable[Endpoint]) -> None:
        for endpoint in endpoints:
            if endpoint not in self._asked:
                self._asked[endpoint] = self._described(endpoint)
                # Nothing waits for the features.
                features = partial(self._at_controller, endpoint, partial(ask_features, deadline=self._deadline))
                self._features[endpoint] = self._aside.start(f"features of {endpoint}", features)

    def _described(self, endpoint: Endpoint) -> Task[DescribedQuorum]:
        return self._aside.start(f"controller {endpoint}", partial(self._of_controller, endpoint))

    def _of_controller(self, endpoint: Endpoint) -> DescribedQuorum:
        with self._line(endpoint, controller=True) as line:
            found = describe_at(line, self._deadline)
            if endpoint in self._doubtful:
                self._refuse_another_cluster(endpoint, line)
            return found

    def _at_controller(self, endpoint: Endpoint, ask: Callable[[BrokerConnection], T]) -> T:
        with self._line(endpoint, controller=True) as line:
            return ask(line)

    def _refuse_another_cluster(self, endpoint: Endpoint, line: BrokerConnection) -> None:
        """Asks for the cluster id only in case of doubt: a controller reports it only to a client with `Alter` on it.

        Raises UnreachableError if the controller belongs to another cluster, or does not report its cluster.
        """
        version = kraft_messages.OWN_CLUSTER
        if not self._cluster_id or not line.supports(kraft_messages.DESCRIBE_CLUSTER, version, self._deadline):
            return
        found = line.call(kraft_messages.describe_own_cluster(), self._deadline)
        if found.error:
            why = f"{endpoint}: the cluster of this controller is unknown: {name_of(found.error)}"
            raise UnreachableError(with_right(why, kraft_messages.DESCRIBE_CLUSTER, self._target.security.principal))
        if found.cluster_id != self._cluster_id:
            self.foreign[str(endpoint)] = found.cluster_id
            raise UnreachableError(f"{endpoint}: is a controller of another cluster, {found.cluster_id}")

    def _through(self, brokers: Mapping[int, Endpoint]) -> tuple[int, DescribedQuorum]:
        """Asks the broker with the newest metadata: every broker would forward the request to the same controller."""
        broker, endpoint = next(iter(brokers.items()))
        with self._line(endpoint) as line:
            return broker, describe_at(line, self._deadline.within(_FORWARDED))

    def _offsets_later(self, brokers: Mapping[int, Endpoint]) -> Offsets:
        time.sleep(min(_APART, self._deadline.left / 2))
        aside = Questions()
        asked = {b: aside.start(f"broker {b}", partial(self._offset, e)) for b, e in brokers.items()}
        found = {b: task.result(self._deadline) for b, task in asked.items()}
        return {b: offset for b, offset in found.items() if offset is not None and offset >= 0}

    def _offset(self, endpoint: Endpoint) -> int:
        with self._line(endpoint) as line:
            return ask_features(line, self._deadline.within(_FORWARDED)).epoch

    def _find_active(self) -> None:
        """Finds the active controller among those that answer soon, and asks the voters that only it names."""
        patience = self._deadline.within(_FIRST)
        for task in as_finished(self._asked.values(), patience):
            if _is_active(task):
                break
        while not (best := self._active_answers()) and patience.left > 0 and (early := self._just_elected()):
            time.sleep(_SETTLES)
            again = {endpoint: self._described(endpoint) for endpoint in early}
            wait(again.values(), patience)
            self._asked |= {endpoint: task for endpoint, task in again.items() if task.answer_so_far is not None}
        if best:
            self._active = max(best.values(), key=lambda d: d.epoch)
            voters = {v.node for v in self._active.voters}
            self._ask(endpoint for node, endpoint in self._active.nodes if node in voters)

    def _active_answers(self) -> dict[Endpoint, DescribedQuorum]:
        """Returns the answers of active controllers: two if one was deposed a moment ago."""
        found = {e: task.answer_so_far for e, task in self._asked.items() if _is_active(task)}
        return {e: answer for e, answer in found.items() if answer is not None}

    def _just_elected(self) -> list[Endpoint]:
        answers = {e: task.answer_so_far for e, task in self._asked.items()}
        return [e for e, answer in answers.items() if answer is not None and just_elected(answer)]

    def _elected_meanwhile(self) -> None:
        """Asks the controllers that were not active again: an election takes as long as a snapshot."""
        for endpoint in [e for e, task in self._asked.items() if task.answer_so_far is not None]:
            del self._asked[endpoint]
            self._ask([endpoint])
        self._find_active()

    def _named(self) -> dict[Endpoint, int]:
        """Returns {address: node} of the controllers, from the brokers' settings and from the active controller."""
        named = {endpoint: node for node, endpoint in self._voters.items()}
        return named | {endpoint: node for node, endpoint in (self._active.nodes if self._active is not None else ())}

    def _answering(self) -> dict[int, Endpoint]:
        """Returns {node: the address at which it has answered} of the controllers; the active one names itself."""
        named, found = self._named(), {}
        for endpoint, task in self._asked.items():
            answer = task.answer_so_far
            if answer is not None and str(endpoint) not in self.foreign:
                found[answer.leader if _is_active(task) else named.get(endpoint, -1)] = endpoint
        return {node: endpoint for node, endpoint in found.items() if node >= 0}

    def seen(self, offsets: Offsets) -> QuorumView:
        """Returns the view of all answers so far."""
        named, active = self._named(), self._active
        own = {e: task for e, task in self._asked.items() if str(e) not in self.foreign}
        answers = tuple(_answer(named.get(e, -1), e, task, self._deadline) for e, task in own.items())
        reported = {e: task.answer_so_far for e, task in self._features.items() if str(e) not in self.foreign}
        levels = {e: found.supported.get(METADATA_FEATURE) for e, found in reported.items() if found is not None}
        supported = {named[e]: level for e, level in levels.items() if level is not None and e in named}
        view = QuorumView(
            controllers=tuple(sorted(answers)),
            supported=supported,
            migrating=tuple(sorted(str(e) for e, found in reported.items() if found is not None and found.migrates)),
            offsets=offsets,
            configured={node: str(e) for node, e in self._voters.items()},
            ignored_zookeeper="" if self._target.zookeeper is None else str(self._target.zookeeper),
        )
        if active is None:
            return view
        return replace(
            view,
            leader=active.leader,
            epoch=active.epoch,
            high_watermark=active.high_watermark,
            voters=replica_rows(active.voters, now_of(active)),
            observers=replica_rows(active.observers, now_of(active), {v.node for v in active.voters}),
            clock_ahead=clock_ahead(active),
        )


def kraft_settings(answers: Iterable[BrokerAnswers], *, taken_over: bool) -> Mapping[str, str] | None:
    """Returns the settings of a KRaft broker if every broker that reports its settings is one, otherwise None.

    After a KRaft controller has taken over, one broker suffices: a KRaft broker is not registered in ZooKeeper.
    """
    known = [a.configs for a in answers if a.configs]
    kraft = [configs for configs in known if configs.get("process.roles")]
    return kraft[0] if kraft and (taken_over or len(kraft) == len(known)) else None


def voters_in(text: str) -> dict[int, Endpoint]:
    """Returns {node: address} of `controller.quorum.voters`, such as 100@host:9093, without invalid parts."""
    found = {}
    for part in text.split(","):
        node, _, address = part.strip().partition("@")
        number, endpoint = broker_id(node), parse_endpoint(address)
        if number is not None and endpoint is not None:
            found[number] = endpoint
    return found


def ask_fenced(line: BrokerConnection, deadline: Deadline) -> dict[int, Endpoint] | None:
    """Returns the brokers that are registered and fenced, None if the broker cannot report them (before 4.0)."""
    newest = kraft_messages.NEWEST_CLUSTER
    if not line.supports(kraft_messages.DESCRIBE_CLUSTER, newest, deadline):
        return None
    found = line.call(kraft_messages.describe_cluster(newest), deadline)
    if found.error:
        raise UnreachableError(f"{line.endpoint}: brokers: {name_of(found.error)}")
    return {each.broker: each.endpoint for each in found.brokers if each.fenced}


def why_unread(view: QuorumView) -> str:
    """Returns why nothing is known about the quorum, "" if it was read or is known to be lost."""
    if view.read or quorum_lost(view):
        return ""
    if not view.controllers:
        return "no address of a controller is known: give --bootstrap-controller" + _and_through(view)
    reasons = dict.fromkeys(each.error or f"{each.address}: is not the active one" for each in view.controllers)
    return "; ".join(reasons) + _and_through(view)


def _and_through(view: QuorumView) -> str:
    return f"; through a broker: {view.forwarded}" if view.forwarded else ""


def describe_at(line: BrokerConnection, deadline: Deadline) -> DescribedQuorum:
    """Returns the quorum as this server describes it: a controller, or a broker that forwards the request."""
    version = line.newest(kraft_messages.DESCRIBE_QUORUM, kraft_messages.NEWEST_QUORUM, deadline)
    if version is None:
        raise UnreachableError(f"{line.endpoint}: does not support DescribeQuorum")
    found = line.call(kraft_messages.describe_quorum(version), deadline)
    return replace(found, heard_at=time.time())


def ask_features(line: BrokerConnection, deadline: Deadline) -> Features:
    return line.call(kraft_messages.describe_features(), deadline)


def _is_active(task: Task[DescribedQuorum]) -> bool:
    found = task.answer_so_far
    return found is not None and not unsustained(found, DEPOSED_MS)


def _answer(node: int, endpoint: Endpoint, task: Task[DescribedQuorum], deadline: Deadline) -> ControllerAnswer:
    if task.done:
        task.result(deadline)
    found = task.answer_so_far
    why = "" if found is None or found.error == _NOT_ACTIVE else f"{endpoint}: {name_of(found.error)}"
    if found is not None and not found.error:
        deposed = unsustained(found, DEPOSED_MS)
        why = f"{endpoint}: {deposed}" if deposed else ""
    if found is None:
        why = task.error or f"{endpoint}: no answer in time"
    # The error names the task, as every source does; the address is enough.
    why = why.removeprefix(f"{task.name}: ")
    return ControllerAnswer(node, str(endpoint), _is_active(task), "refused" in why, why)
