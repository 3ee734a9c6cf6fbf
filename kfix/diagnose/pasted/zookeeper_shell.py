"""Sessions of `zookeeper-shell` and `zkCli.sh`: a command with its path, then its output.

Braces are a znode only after its path. The argument of `set` or `create` is a command, not a state.
"""

import re
from typing import Final

from kfix.core.numbers import broker_id
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.zookeeper import records
from kfix.core.zookeeper.wire import NO_STAT, Node
from kfix.diagnose.pasted.gathered import NOBODY, BadRowError, Gathered, number, partition_view
from kfix.diagnose.pasted.json_text import JsonLines
from kfix.diagnose.pasted.lines import PastedLine

NAME: Final = "ZooKeeper shell"
_READS: Final = frozenset({"get", "ls", "ls2", "stat"})
_WRITES: Final = frozenset({"set", "create", "delete", "deleteall", "rmr"})
_COMMAND: Final = re.compile(
    r"(?:\[zk:[^\]]*\]\s*|.*(?:zookeeper-shell|zkCli)\S*\s(?:.*\s)?|\W*)"
    r"(?P<verb>get|ls2?|stat|set|create|delete|deleteall|rmr|sync|getAcl)(?:\s+-\w+)*\s+(?P<path>/[^\s{]*)"
)
_BARE_PATH: Final = re.compile(
    r"(?P<path>/(?:brokers|controller|config|admin|cluster|controller_epoch)(?:/[^\s{]*)?)(?=\s|$)"
)
_IDS: Final = re.compile(r"\[(?P<ids>\s*(?:\d+(?:\s*,\s*\d+)*)?\s*)\]$")
_STATE: Final = re.compile(r"/brokers/topics/(?P<topic>[^/\s]+)/partitions/(?P<partition>\d+)/state/?$")
_TOPIC: Final = re.compile(r"/brokers/topics/(?P<topic>[^/\s]+)/?$")
_TOPIC_CONFIG: Final = re.compile(r"/config/topics/(?P<topic>[^/\s]+)/?$")
_BROKER: Final = re.compile(r"/brokers/ids/(?P<id>\d+)/?$")
_MISSING: Final = re.compile(r"Node does not exist: (?P<path>/\S*)")
#: Other output of the shells: the stat of a znode, their greeting, and watch events.
_AROUND: Final = re.compile(
    r"(?:cZxid|ctime|mZxid|mtime|pZxid|cversion|dataVersion|aclVersion|ephemeralOwner|dataLength|numChildren)\s?=|"
    r"Connecting to \S+$|Welcome to ZooKeeper!|JLine support is|WATCHER::|WatchedEvent |Quitting|\[zk: [^\]]*\]\s*\w*$"
)


class ZooKeeperFormat:
    """Reads the output of commands; `chroot` paths are accepted, since only the end of a path counts."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._path = self._written = ""
        self._json = JsonLines()

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line is of this format. Raises BadRowError for a znode with another content."""
        text = line.text
        if self._json.open:
            return self._collect(text, line)
        before, brace, _ = text.partition("{")
        command = _COMMAND.match(before) or (_BARE_PATH.search(before) if _BARE_PATH.match(before) else None)
        if command is not None:
            verb = command.groupdict().get("verb") or "get"
            self._path = command["path"] if verb in _READS else ""
            self._written = command["path"] if verb in _WRITES else ""
            self._edited(self._written, line)
            after = text[command.end() :].strip()
            if not self._path or not after:
                return True
            text = after
            brace = "{" if text.startswith("{") else ""
        elif self._written:  # A path that a terminal has wrapped.
            self._edited(self._written + before.strip(), line)
            self._written = ""
        if self._path and _STATE.search(self._path + text) and not _STATE.search(self._path):
            self._path += text
            return True
        if brace and text.startswith("{") and self._path:
            return self._collect(text, line)
        return self._said(text, line) or command is not None or _AROUND.match(text) is not None

    def _edited(self, path: str, line: PastedLine) -> None:
        """Notes that a command writes the state of a partition, of which no broker is notified."""
        if found := _STATE.search(path):
            self._gathered.complain("edited", f"{found['topic']}-{found['partition']}", -1, line)

    def _said(self, text: str, line: PastedLine) -> bool:
        """Returns whether the line is an answer other than JSON: a list of brokers, or that a znode does not exist."""
        if self._path.rstrip("/").endswith("/brokers/ids") and (found := _IDS.match(text)):
            self._registered(found["ids"])
            return True
        missing = _MISSING.search(text)
        if missing is not None and missing["path"].rstrip("/").endswith("/controller"):
            self._gathered.controller = NOBODY
            self._gathered.complain("controller", "", -1, line)
        return missing is not None

    def end_block(self) -> None:
        """Reports a znode that is cut off."""
        self._path = ""
        if self._json.open:
            self._gathered.problems.append(f"{self._json.number}: the JSON of a znode is cut off")
            self._json.drop()

    def _collect(self, text: str, line: PastedLine) -> bool:
        whole = self._json.add(text, line.number)
        if whole is not None:
            path, self._path = self._path, ""
            try:
                self._znode(path, whole, line)
            except records.BadRecordError as error:
                what = "not JSON" if error.not_json else f"not the content of such a znode ({error.why})"
                raise BadRowError(what) from error
        return True

    def _registered(self, ids: str) -> None:
        self._gathered.registered = tuple(sorted(number(n.strip(), "broker") for n in ids.split(",") if n.strip()))
        self._path = ""

    def _znode(self, path: str, text: str, line: PastedLine) -> None:
        node = Node(text.encode("utf-8", "replace"), (), NO_STAT)
        gathered = self._gathered
        if found := _STATE.search(path):
            state = records.partition_state(node, "a state")
            tp = TopicPartition(found["topic"], number(found["partition"], "partition"))
            gathered.partition(
                tp, partition_view(state.leader, (), state.isr, epoch=state.leader_epoch), line, "state znode"
            )
        elif found := _TOPIC_CONFIG.search(path):
            gathered.configs.setdefault(found["topic"], {}).update(records.config(node, path))
        elif found := _TOPIC.search(path):
            assigned = records.assignments(node, found["topic"])
            gathered.assigned |= assigned
            gathered.stated[found["topic"]] = len(assigned)
            gathered.moves |= {tp: a for tp, a in assigned.items() if a.adding or a.removing}
        elif (found := _BROKER.search(path)) and (broker := broker_id(found["id"])) is not None:
            registration, _ = records.registration(node, broker, "PLAINTEXT")
            gathered.say_alive(broker, f"is registered (line {line.number})")
            if registration.endpoint is not None:
                gathered.endpoints[broker] = registration.endpoint
        elif path.rstrip("/").endswith("/controller"):
            controller = records.controller(node, None).broker
            if controller is not None:
                gathered.controls(controller, "controller", line)
                gathered.say_alive(controller, f"is the controller (line {line.number})")
