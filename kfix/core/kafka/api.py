"""A Kafka API: a kind of request, declared with its response, and the requests made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, Self, TypeVar

from kfix.core.kafka.codec import ByteReader, Row, decoder, encoder

T = TypeVar("T")
_NEVER = 1 << 15


class Api(int):
    """The key of an API, with the declarations of its request and its response, as `codec` reads them.

    `reads`: whether it changes nothing in the cluster; a read-only connection refuses all other APIs. `flexible` is the
    first flexible version. `operations` is {error of an authorizer: refused operation}, if not Describe.
    """

    request: str
    response: str
    reads: bool
    flexible: int
    operations: Mapping[int, str]

    def __new__(
        cls,
        key: int,
        request: str,
        response: str,
        *,
        reads: bool = False,
        flexible: int = _NEVER,
        operations: Mapping[int, str] = MappingProxyType({}),
    ) -> Self:
        self = super().__new__(cls, key)
        self.request, self.response = request, response
        self.reads, self.flexible, self.operations = reads, flexible, operations
        return self

    def ask(self, version: int, values: Row, convert: Callable[..., T], client: str = "kfix") -> Request[T]:
        """Returns a request with these values; `convert` takes the response's values and returns the result."""
        answer = decoder(self.response, version, flexible=version >= self.flexible)
        return self.ask_raw(version, values, lambda r: convert(*answer.read(r)), client)

    def ask_raw(self, version: int, values: Row, decode: Callable[[ByteReader], T], client: str = "kfix") -> Request[T]:
        body = encoder(self.request, version, flexible=version >= self.flexible).write(values)
        return Request(self, version, body, decode, client)


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """`decode` reads the response, from the bytes after its header."""

    api_key: Api
    version: int
    body: bytes
    decode: Callable[[ByteReader], T] = field(repr=False, compare=False)
    client: str = "kfix"

    @property
    def flexible(self) -> bool:
        return self.version >= self.api_key.flexible
