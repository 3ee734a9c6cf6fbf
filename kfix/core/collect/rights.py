"""The rights that a snapshot lacks: requests that brokers refuse, and topics that they leave out without an error.

With an authorizer, a broker leaves topics that the client may not describe out of its metadata. The log directories,
which need only a right on the cluster, name them (docs/security.md).
"""

from collections.abc import Iterable
from dataclasses import replace

from kfix.core.collect.logs import ask_log_ends
from kfix.core.errors import UnreachableError
from kfix.core.kafka import requests
from kfix.core.kafka.codes import CLUSTER, TOPIC, name_of, with_right
from kfix.core.kafka.connection import BrokerConnection
from kfix.core.snapshot.snapshot import Source
from kfix.core.timing import Deadline

#: The source that fails if it is unknown whether an open transaction hangs.
TRANSACTION_LOG = "transaction log"
AUTHORIZER = "authorizer.class.name"
#: Most topics that a message names, and most that are requested.
_MOST = 3
_MOST_ASKED = 100
#: {start of a source: the refused request}, if it needs another right than Describe.
_REQUESTS = {
    "configs of broker": requests.DESCRIBE_CONFIGS,
    "settings of controller": requests.DESCRIBE_CONFIGS,
    "topic configs": requests.DESCRIBE_CONFIGS,
    "offsets log": requests.FETCH,
    TRANSACTION_LOG: requests.FETCH,
}


def with_rights(sources: Iterable[Source], principal: str) -> tuple[Source, ...]:
    """Returns the sources; if a right was missing, the error ends with the right and the command that grants it."""
    return tuple(source if source.ok else replace(source, error=_explained(source, principal)) for source in sources)


def refuse_hidden(line: BrokerConnection, known: frozenset[str], deadline: Deadline) -> None:
    """Raises UnreachableError if the broker has other topics than the known ones, or does not report them."""
    _, dirs = line.call(requests.describe_log_dirs(with_room=False), deadline)
    if not dirs:  # Version 1 has no error field.
        raise UnreachableError(f"log directories: {name_of(CLUSTER)}")
    unknown = {tp.topic: tp for each in dirs for tp in each.sizes if tp.topic not in known}
    if not unknown:
        return
    # A topic that was created in the meantime is not hidden.
    ends = ask_log_ends(line, tuple(unknown[topic] for topic in sorted(unknown)[:_MOST_ASKED]), deadline)
    hidden = [tp.topic for tp, end in sorted(ends.items()) if end.error == name_of(TOPIC)]
    if hidden:
        more = f" and {len(unknown) - _MOST} more" if len(unknown) > _MOST else ""
        raise UnreachableError(f"{name_of(TOPIC)} for {', '.join(hidden[:_MOST])}{more}")


def _explained(source: Source, principal: str) -> str:
    refused = next((api for begin, api in _REQUESTS.items() if source.name.startswith(begin)), requests.METADATA)
    return with_right(source.error, refused, principal)
