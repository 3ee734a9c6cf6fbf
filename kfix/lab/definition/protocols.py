"""How the brokers of a lab are secured: the words of `--security` and `--mechanism`, and which fit together."""

from dataclasses import dataclass

from kfix.core.errors import UsageError

PLAINTEXT, TLS, MTLS = "plaintext", "tls", "mtls"
#: {word of --security: Kafka's protocol, which is the name of the listener, too}.
PROTOCOLS = {
    PLAINTEXT: "PLAINTEXT",
    TLS: "SSL",
    MTLS: "SSL",
    "sasl_plaintext": "SASL_PLAINTEXT",
    "sasl_ssl": "SASL_SSL",
}
SASL_PROTOCOL = "SASL_PLAINTEXT"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER = "OAUTHBEARER"
GSSAPI = "GSSAPI"
MECHANISMS = ("PLAIN", *SCRAM, OAUTHBEARER, GSSAPI)
#: The principal of a secured lab's clients, and that of its controllers among themselves.
USER, CONTROLLER_USER = "kfix", "controller"


#: The words of --zookeeper-security.
DIGEST, SASL = "digest", "sasl"
KEEPER_SECURITY = (PLAINTEXT, TLS, MTLS, DIGEST, SASL)


def check_keeper_security(word: str, *, zones: bool) -> None:
    """Raises UsageError."""
    if word not in KEEPER_SECURITY:
        raise UsageError(f"--zookeeper-security {word}: no such security", hint=f"one of {', '.join(KEEPER_SECURITY)}")
    if word != PLAINTEXT and zones:
        raise UsageError("--zookeeper-security and --zones exclude each other", hint="omit one of them")


def check_security(security: str, mechanism: str | None, *, sasl: bool, zones: bool, acls: bool) -> None:
    """Raises UsageError."""
    if security not in PROTOCOLS:
        raise UsageError(f"--security {security}: no such security", hint=f"one of {', '.join(PROTOCOLS)}")
    if mechanism is not None and mechanism not in MECHANISMS:
        raise UsageError(f"--mechanism {mechanism}: no such mechanism", hint=f"one of {', '.join(MECHANISMS)}")
    with_sasl = security.startswith("sasl_")
    if mechanism is not None and not with_sasl:
        raise UsageError(f"--mechanism needs SASL, not --security {security}", hint="--security sasl_ssl")
    if security != PLAINTEXT and zones:
        raise UsageError("--security and --zones exclude each other", hint="omit one of them")
    if sasl and security != PLAINTEXT and not with_sasl:
        raise UsageError(f"--sasl needs SASL, not --security {security}", hint="--security sasl_ssl, or omit --sasl")
    if acls and not with_sasl and security != MTLS:
        raise UsageError(
            f"--acls needs clients with a name, and --security {security} has none",
            hint="--security mtls, sasl_plaintext or sasl_ssl",
        )


# The least rights of kfix on a cluster with an authorizer (docs/security.md).

CLUSTER = "kafka-cluster"


@dataclass(frozen=True)
class Right:
    """An operation that is allowed on a resource: `resource` is CLUSTER, TOPIC or GROUP; a `name` of * is all of them.
    Both are the words of kafka-acls.
    """

    operation: str
    resource: str
    name: str = "*"

    def __str__(self) -> str:
        return f"{self.operation} on {self.resource} {self.name}"


#: What `kfix diagnose` and `kfix snapshot` need.
READING: tuple[Right, ...] = (
    Right("DESCRIBE", "CLUSTER", CLUSTER),
    Right("DESCRIBE_CONFIGS", "CLUSTER", CLUSTER),
    Right("DESCRIBE", "TOPIC"),
    Right("DESCRIBE_CONFIGS", "TOPIC"),
    Right("DESCRIBE", "GROUP"),
)
