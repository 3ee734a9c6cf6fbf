"""How a client authenticates with a cluster, without any secret."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """How kfix connected: Kafka's security protocol, the SASL mechanism and user ("" without SASL). It holds no secret.

    `protocol` is "" if no live cluster was read.
    """

    protocol: str = ""
    mechanism: str = ""
    user: str = ""

    def __str__(self) -> str:
        mechanism = f" with {self.mechanism}" if self.mechanism else ""
        return f"{self.protocol or 'an unknown security protocol'}{mechanism}"
