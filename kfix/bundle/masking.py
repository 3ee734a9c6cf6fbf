"""What a bundle leaves out: the values of secrets, and on request the names of hosts."""

import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from kfix.core.endpoint import parse_endpoint
from kfix.core.kafka.security import Security
from kfix.core.properties.parsing import Property
from kfix.core.snapshot.snapshot import Endpoint, Snapshot

#: The only client properties whose values are included.
SHOWN: Final = frozenset(
    (
        *("bootstrap.servers", "zookeeper.connect", "security.protocol", "sasl.mechanism", "sasl.mechanisms"),
        *("ssl.protocol", "ssl.enabled.protocols", "ssl.cipher.suites", "ssl.endpoint.identification.algorithm"),
        *("ssl.keystore.type", "ssl.truststore.type", "zookeeper.ssl.client.enable", "sasl.kerberos.service.name"),
    )
)
_LEFT_OUT: Final = "(left out)"
#: A shorter secret would also be a part of words.
_SHORTEST: Final = 4
#: Settings of brokers whose values are addresses.
_ADDRESSES: Final = frozenset(
    (
        *("listeners", "advertised.listeners", "zookeeper.connect"),
        *("controller.quorum.voters", "controller.quorum.bootstrap.servers"),
    )
)
_BEFORE_HOST: Final = re.compile(r"^(?:\d+@)?(?:[A-Za-z0-9_]+://)?")


def properties_text(values: Mapping[str, Property]) -> str:
    """Returns the keys of client properties, and the values of those in `SHOWN`."""
    return "".join(f"{key}={each.value if key in SHOWN else _LEFT_OUT}\n" for key, each in values.items())


def secrets_of(values: Mapping[str, Property], security: Security) -> frozenset[str]:
    """Returns the texts that no file of a bundle may contain."""
    words = {each.value for key, each in values.items() if key not in SHOWN}
    words |= {part for word in words for part in re.findall(r"[\"']([^\"']+)[\"']", word)}
    words |= {security.password, security.tls.key_password, security.tls.key}
    if security.oauth is not None:
        words.add(security.oauth.client_secret)
    return frozenset(word for word in words if len(word) >= _SHORTEST)


def hosts_of(snapshot: Snapshot, more: Iterable[Endpoint] = ()) -> tuple[str, ...]:
    """Returns the names of hosts in a snapshot and of this host, each once, in the order of their first occurrence."""
    found = dict.fromkeys(each.host for each in (*more, *_endpoints(snapshot)))
    own = socket.gethostname()
    return tuple(host for host in (*found, own, own.partition(".")[0]) if host)


def _endpoints(value: Any) -> Iterator[Endpoint]:
    """Yields the addresses anywhere in a snapshot."""
    if isinstance(value, Endpoint):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _endpoints(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _listed(each) if key in _ADDRESSES and isinstance(each, str) else _endpoints(each)
    elif isinstance(value, tuple | list | frozenset):
        for each in value:
            yield from _endpoints(each)


def _listed(text: str) -> Iterator[Endpoint]:
    for part in text.partition("/")[0].split(",") if "://" not in text else text.split(","):
        endpoint = parse_endpoint(_BEFORE_HOST.sub("", part.strip()))
        if endpoint is not None:
            yield endpoint


class Mask:
    """Replaces each secret by the same words, and each host by `host-N`."""

    def __init__(self, secrets: Iterable[str], hosts: Iterable[str] = ()) -> None:
        self._words = dict.fromkeys(secrets, _LEFT_OUT)
        self._hosts = {host: f"host-{number}" for number, host in enumerate(dict.fromkeys(hosts), 1)}
        #: A secret as JSON has it, too.
        self._words |= {word.replace("\\", "\\\\").replace('"', '\\"'): _LEFT_OUT for word in self._words}
        self._secret = _any_of(self._words)
        self._host = _any_of(self._hosts)

    def __call__(self, text: str) -> str:
        if self._secret is not None:
            text = self._secret.sub(lambda match: self._words[match[0]], text)
        if self._host is None:
            return text
        whole = re.compile(rf"(?<![\w.-])(?:{self._host.pattern})(?![\w-]|\.\w)")
        return whole.sub(lambda match: self._hosts[match[0]], text)


def _any_of(words: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
