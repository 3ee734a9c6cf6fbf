"""How a client of a cluster is let in, as far as others may know it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """How kfix was let in: Kafka's security protocol, the SASL mechanism and user, "" without SASL. No secret is here.

    `protocol` is "" where no live cluster was read.
    """

    protocol: str = ""
    mechanism: str = ""
    user: str = ""

    def __str__(self) -> str:
        mechanism = f" with {self.mechanism}" if self.mechanism else ""
        return f"{self.protocol or 'an unknown security protocol'}{mechanism}"
