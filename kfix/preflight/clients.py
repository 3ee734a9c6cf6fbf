"""Which requests clients send, from request logs of brokers, and which of them Kafka 4 refuses (KIP-896)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from kfix.core.errors import UsageError
from kfix.core.wording import several, some
from kfix.diagnose.brokerlog.files import lines

#: {API key: (its name, the lowest version that Kafka 4 takes)}, those of clients, from `ApiKeys` of Kafka 4.4.0.
_LEAST: Final[Mapping[int, tuple[str, int]]] = {
    0: ("Produce", 3),
    1: ("Fetch", 4),
    2: ("ListOffsets", 1),
    8: ("OffsetCommit", 2),
    9: ("OffsetFetch", 1),
    19: ("CreateTopics", 2),
    20: ("DeleteTopics", 1),
    23: ("OffsetForLeaderEpoch", 2),
    29: ("DescribeAcls", 1),
    30: ("CreateAcls", 1),
    31: ("DeleteAcls", 1),
    32: ("DescribeConfigs", 1),
    34: ("AlterReplicaLogDirs", 1),
    35: ("DescribeLogDirs", 1),
    38: ("CreateDelegationToken", 1),
    39: ("RenewDelegationToken", 1),
    40: ("ExpireDelegationToken", 1),
    41: ("DescribeDelegationToken", 1),
}
_BY_NAME: Final[Mapping[str, int]] = {name.lower(): key for key, (name, _) in _LEAST.items()}
#: What `kafka.request.logger` writes at DEBUG before the header of a request: an object whose keys have no fixed order.
_REQUEST: Final = "Completed request:"
_KEY, _API_VERSION = re.compile(r'"requestApiKey":([0-9]{1,5})'), re.compile(r'"requestApiVersion":([0-9]{1,5})')
_CLIENT: Final = re.compile(r'"clientId":"((?:[^"\\]|\\.)*)"')
#: The header before Kafka 2.8.
_OLD_HEADER: Final = re.compile(
    r"RequestHeader\(apiKey=([A-Z_]+), apiVersion=([0-9]{1,5}), clientId=(.*?), correlationId="
)
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}")
_SWITCH_ON: Final = (
    "--bootstrap-server HOST:PORT --entity-type broker-loggers --entity-name ID --alter "
    "--add-config kafka.request.logger=DEBUG"
)
#: What a follower calls itself; it is upgraded, too.
_FOLLOWER: Final = re.compile(r"broker-[0-9]+-fetcher-")


class OldRequest(NamedTuple):
    """A client that sends a version which Kafka 4 refuses, and the lowest that it takes."""

    client: str
    api: str
    version: int
    least: int


@dataclass(frozen=True, slots=True)
class Requests:
    """What request logs show: {(client id, API key, version): number of requests}, and from when to when."""

    counted: Mapping[tuple[str, int, int], int]
    first: str
    last: str
    files: tuple[str, ...]

    @property
    def text(self) -> str:
        number = several(sum(self.counted.values()), "request")
        return f"{number} from {self.first} to {self.last} in {some(self.files)}"


def requests_of(paths: Sequence[Path]) -> Requests:
    """Reads request logs line by line. Raises UsageError for a file that cannot be read, or that holds no request."""
    counted: Counter[tuple[str, int, int]] = Counter()
    first = last = ""
    for path in paths:
        before, trouble = counted.total(), list[str]()
        for line in lines(path, trouble):
            found = _header(line) if _REQUEST in line else None
            if found is not None:
                counted[found] += 1
                if seen := _TIME.search(line):
                    first, last = min(first or seen[0], seen[0]), max(last, seen[0])
        if trouble:
            raise UsageError(f"{path}: {trouble[0]}")
        if counted.total() == before:
            raise UsageError(f"{path}: no request is logged here", hint=f"kafka-configs.sh {_SWITCH_ON}")
    unknown = "an unknown time"
    return Requests(counted, first or unknown, last or unknown, tuple(map(str, paths)))


def _header(line: str) -> tuple[str, int, int] | None:
    """Returns client id, API key (-1: not one of `_LEAST`) and version."""
    key, version, client = _KEY.search(line), _API_VERSION.search(line), _CLIENT.search(line)
    if key and version:
        return client[1] if client else "", int(key[1]), int(version[1])
    old = _OLD_HEADER.search(line)
    return None if old is None else (old[3], _BY_NAME.get(old[1].replace("_", "").lower(), -1), int(old[2]))


def refused_since_4(requests: Requests) -> tuple[OldRequest, ...]:
    """Returns the clients that Kafka 4 refuses, by client id; the brokers' own requests are left out."""
    return tuple(sorted(_refused(requests)))


def _refused(requests: Requests) -> Iterator[OldRequest]:
    for client, key, version in requests.counted:
        name, least = _LEAST.get(key, ("", 0))
        if version < least and not _FOLLOWER.match(client):
            yield OldRequest(client, name, version, least)
