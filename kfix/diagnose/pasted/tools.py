"""Smaller tools: the facts in their outputs, and outputs that contain no fact for a diagnosis, which a note names."""

from __future__ import annotations

import re
from typing import Final

from kfix.diagnose.pasted.gathered import RPK, Gathered, number
from kfix.diagnose.pasted.lines import PastedLine

_UNUSED: Final = (
    ("kafka-configs", re.compile(r"(?:Dynamic configs|All configs|Default configs|Configs|Quota configs) for ")),
    ("kafka-acls", re.compile(r"Current ACLs for resource|\(principal=\S+, host=\S+, operation=")),
    ("kafka-get-offsets", re.compile(r"[\w.\-]{1,249}:\d{1,10}:\d{0,19}$")),
    (
        "kafka-reassign-partitions",
        re.compile(r"Status of partition reassignment:|Reassignment of partition \S+ (?:is|completed)|"
                   r"Current partition replica assignment|Proposed partition reassignment configuration"),
    ),
    ("kafka-transactions", re.compile(r"TransactionalId\s+(?:Coordinator|ProducerId)|ProducerId\s+ProducerEpoch\s")),
    ("kafka-features", re.compile(r"Feature: \S+\s+SupportedMinVersion:")),
    ("kafka-leader-election", re.compile(r"(?:Successfully completed|Valid replica already elected) "
                                         r".*(?:leader election|partitions)")),
)  # fmt: skip
_HANGING: Final = re.compile(r"Topic\s+Partition\s+ProducerId\s+ProducerEpoch\s+CoordinatorEpoch\s+StartOffset")
_TRANSACTION: Final = re.compile(
    r"(?P<topic>[\w.-]{1,249})\s+(?P<partition>\d+)\s+(?P<producer>\d+)\s+(?P<epoch>\d+)\s+(?P<coordinator>-?\d+)\s+"
    r"(?P<start>\d+)(?:\s+-?\d+)*$"
)
_VERSIONS: Final = re.compile(r"\S+:\d+ \(id: (?P<broker>\d+) rack: \S+(?: isFenced: \w+)?\) -> (?P<error>ERROR: .*)?")
_API: Final = re.compile(r"\w+\(\d+\): (?:\d+|UNSUPPORTED)|\)$")
#: A row of kafka-cluster.sh list-endpoints: the id of a node, its address, rack, state and kind.
_ENDPOINT: Final = re.compile(r"(?P<id>\d+)\s+\S+\s+\d+\s+\S+\s+(?:(?P<fenced>fenced)|unfenced)\s+broker$")
_PODS: Final = re.compile(r"(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE")
_POD: Final = re.compile(
    r"(?:\S+\s+)?(?P<pod>[a-z0-9][\w.-]*-\d+)\s+(?P<ready>\d+)/(?P<wanted>\d+)\s+(?P<status>[A-Z]\S*)\s+\d"
)
_ANY_POD: Final = re.compile(r"\S+\s+(?:\S+\s+)?\d+/\d+\s+[A-Z]\S*\s+\d")
_WAITS_FOR_POD: Final = re.compile(
    r"(?:message: )?.*\b[Pp]od (?:resource )?(?P<pod>[\w-]+-\d+)(?: in namespace \S+)? to (?:become|be) ready"
)
_CONTAINER: Final = re.compile(
    r"(?P<name>\S+)\s.*?\s(?P<status>Up\b(?: [^()]*?\((?:un)?healthy\)| [^()]*?\(Paused\))?|"
    r"(?:[Ee]xited|Restarting) \((?P<code>\d+)\)(?: [\w ]+? ago)?|Exit (?P<old>\d+)|Dead|Created|"
    r"running|restarting|paused)"
    r"(?:\s.*?(?P<last>\S+))?$|-{9,}$"
)
_DOWN: Final = re.compile(r"[Ee]xit|[Rr]estarting|Dead|.*(?:unhealthy|[Pp]aused)")
#: Containers of nodes, and parts of the names of others that are named after Kafka, too.
_OF_NODES: Final = re.compile(r"kafka|broker|controller|zookeeper|\bzk")
_OTHER_CONTAINER: Final = re.compile(
    r"(?:^|[-_])(?:ui|exporter|connect|init|setup|create|rest|proxy|registry|ksql|akhq|kafdrop|mirror|cli|console|producer|"
    r"consumer|topics?|manager)(?:[-_\d]|$)"
)
#: How a supervisor reports that a process ended, and that it is there again.
_ENDED: Final = re.compile(
    r"(?P<unit>[\w@.-]*(?:kafka|zookeeper)[\w@.-]*\.service): Main process exited, (?P<how>code=\w+, status=\S+)|"
    r"(?P<container>[\w.-]*(?:kafka|zookeeper|broker|controller)[\w.-]*) (?P<exited>exited with code [1-9]\d*)|"
    r".*[Oo]ut of memory: Killed process \d+ \((?P<killed>java)\)|.*\bReason:\s+(?P<reason>OOMKilled)$"
)
_DESCRIBED_POD: Final = re.compile(r"\bdescribe pods?[ /](?P<pod>[a-z0-9][\w.-]*)")
_BACK: Final = re.compile(r"(?:systemd\S*: )?Started .*?(?P<unit>[\w@.-]*(?:kafka|zookeeper)[\w@.-]*\.service)")
_BACK_OFF: Final = re.compile(r".*Back-off restarting failed container(?: \S+ in pod (?P<pod>[\w.-]+?-\d+)_\S+)?")
#: Gauges of a broker that are 0 while all is well.
_GAUGE: Final = re.compile(
    r"kafka\S*(?:offline_?partitions_?count|under_?replicated_?partitions|under_?min_?isr_?partition_?count|"
    r"offline_?log_?directory_?count)\S*\s+(?!0(?:\.0+)?$)\d[\d.e+]*$",
    re.IGNORECASE,
)
_RPK_HEAD: Final = re.compile(
    r"CLUSTER HEALTH OVERVIEW$|redpanda\.[\da-f-]{36}$|PARTITION\s+LEADER\s+EPOCH\s|"
    r"ID\s+HOST\s+PORT(?!.*\sENDPOINT_TYPE)(?:\s|$)|NAME\s+PARTITIONS\s+REPLICAS$|SUMMARY$"
)
#: A rule below a heading, a row of numbers, a named value.
_RPK_ROW: Final = re.compile(r"={3,}$|-?\d+\*?\s+\S|[\w.-]+\s+\d+(?:\s+\d+)?$|[A-Z][\w -]*(?: \(\d+\))?:?(?:\s|$)")
_ELECTION: Final = re.compile(
    r"Error completing leader election \(\w+\) for partition: (?P<tp>[\w.-]+-\d+): (?P<error>[^\s:]+)"
)
_MOVE_FAILED: Final = re.compile(
    r"Reassignment of partition (?P<tp>[\w.-]+-\d+) failed|"
    r"There is no active reassignment of partition (?P<absent>[\w.-]+-\d+), but (?P<detail>replica set is .*?)\.?$"
)


_DOCKER_PS, _COMPOSE_PS = "docker ps", "docker compose ps"
_OF_DOCKER: Final = frozenset({_DOCKER_PS, _COMPOSE_PS})
_ENDPOINTS: Final = "kafka-cluster list-endpoints"
_HEADS: Final = (
    (_HANGING, "kafka-transactions"),
    (_PODS, "kubectl get pods"),
    (re.compile(r"ID\s+HOST\s+PORT\s.*ENDPOINT_TYPE"), _ENDPOINTS),
    (re.compile(r"CONTAINER ID\s+IMAGE\s"), _DOCKER_PS),
    (re.compile(r"NAME\s+(?:IMAGE\s+)?COMMAND\s+SERVICE\s|Name\s+Command\s+State\b"), _COMPOSE_PS),
)


class ToolsFormat:
    """Reads the rows below the first line of a table, and lines that are complete by themselves."""

    name = "other tools"

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._table = ""

    def take(self, line: PastedLine) -> bool:
        for head, name in _HEADS:
            if head.match(line.text):
                self._table = name
                return self._used(name)
        if _RPK_HEAD.match(line.text) or (self._table == RPK and _RPK_ROW.match(line.text)):
            self._table = RPK
            self._gathered.unused[RPK] += 1
            return True
        return self._row(line) or self._alone(line) or self._unused(line)

    def _row(self, line: PastedLine) -> bool:
        if self._table == "kafka-transactions" and (found := _TRANSACTION.match(line.text)):
            detail = (
                f"producer id {found['producer']}, producer epoch {found['epoch']}, coordinator epoch "
                f"{found['coordinator']}, start offset {found['start']}"
            )
            tp = f"{found['topic']}-{found['partition']}"
            self._gathered.complain("hanging", tp, -1, line, detail=detail)
            return self._used(self._table)
        if self._table == "kubectl get pods" and _ANY_POD.match(line.text):
            pod = _POD.match(line.text)
            if pod is not None and pod["ready"] != pod["wanted"] and pod["status"] != "Completed":
                self._gathered.complain("pod", pod["pod"], -1, line, detail=f"{pod['pod']} ({pod['status']})")
            return self._used(self._table)
        if self._table == _ENDPOINTS and (found := _ENDPOINT.match(line.text)):
            broker = number(found["id"], "broker")
            if found["fenced"]:
                self._gathered.say_dead(broker, "is fenced")
                self._gathered.complain("gone", "", -1, line, broker=broker)
            else:
                self._gathered.say_alive(broker, "is not fenced")
            return self._used(self._table)
        if self._table in _OF_DOCKER and (found := _CONTAINER.match(line.text)):
            self._container(found, line)
            return self._used(self._table)
        return self._table == "kafka-broker-api-versions" and _API.match(line.text) is not None

    def _container(self, found: re.Match[str], line: PastedLine) -> None:
        name = found["last"] if self._table == _DOCKER_PS else found["name"]
        status = found["status"] or ""
        ended_well = "0" in {found["code"], found["old"]}  # A container that had one thing to do.
        if (
            name
            and _DOWN.match(status)
            and not ended_well
            and _OF_NODES.search(line.text)
            and not _OTHER_CONTAINER.search(name)
        ):
            self._gathered.complain("process", name, -1, line, detail=f"{name} ({status})")

    def has_row(self, line: PastedLine) -> bool:
        """Returns whether the line is a row of the open table of containers: its name may be that of a command."""
        return self._table in _OF_DOCKER and _CONTAINER.match(line.text) is not None

    def _process(self, line: PastedLine) -> bool:
        """Reads what supervisors and the kernel report of processes and pods."""
        if ended := _ENDED.match(line.text):
            name = ended["unit"] or ended["container"] or ended["killed"] or ""
            how = ended["how"] or ended["exited"] or ended["reason"] or "killed by the kernel: out of memory"
            described = _DESCRIBED_POD.search(self._gathered.command.text) if ended["reason"] else None
            if described is None:
                self._gathered.complain("process", name, -1, line, detail=f"{name or 'a container'} ({how})")
            else:
                self._gathered.add_to_pod(described["pod"], how, line)
        elif back := _BACK.match(line.text):
            self._gathered.settle("process", back["unit"], line)
        elif pod := _BACK_OFF.match(line.text):
            name = pod["pod"] or "a pod"
            self._gathered.complain("pod", name, -1, line, detail=f"{name} (its container ends again and again)")
        else:
            return False
        return self._used("events of processes")

    def _alone(self, line: PastedLine) -> bool:
        if self._process(line):
            return True
        if broker := _VERSIONS.match(line.text):
            self._table = "kafka-broker-api-versions"
            if broker["error"]:
                self._gathered.complain(
                    "unreachable", "", -1, line, broker=number(broker["broker"], "broker"), detail=broker["error"][:80]
                )
            else:
                self._gathered.say_alive(number(broker["broker"], "broker"), f"answered ({line.where})")
            return self._used(self._table)
        if election := _ELECTION.match(line.text):
            self._gathered.complain("election", election["tp"], -1, line, detail=election["error"].rpartition(".")[2])
            return self._used("kafka-leader-election")
        if move := _MOVE_FAILED.match(line.text):
            self._gathered.complain("reassignment", move["tp"] or move["absent"], -1, line, detail=move["detail"] or "")
            return self._used("kafka-reassign-partitions")
        if pod := _WAITS_FOR_POD.match(line.text):
            self._gathered.complain("pod", "", -1, line, detail=pod["pod"])
            return self._used("status of an operator")
        return False

    def _unused(self, line: PastedLine) -> bool:
        if _GAUGE.match(line.text):
            self._gathered.skip(line, "ERROR")
            return True
        tool = next((name for name, pattern in _UNUSED if pattern.match(line.text)), None)
        if tool is not None:
            self._gathered.unused[tool] += 1
        return tool is not None

    def _used(self, name: str) -> bool:
        self._gathered.formats[name] += 1
        return True

    def end_block(self) -> None:
        self._table = ""
