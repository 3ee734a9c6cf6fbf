"""SASL over an open connection: PLAIN, SCRAM as in RFC 5802, OAUTHBEARER as in RFC 7628, GSSAPI as in RFC 4752."""

import base64
import contextlib
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from typing import Any

from kfix.core.errors import UnreachableError
from kfix.core.kafka.api import Api, Request
from kfix.core.kafka.codes import name_of
from kfix.core.kafka.security import Security
from kfix.core.kerberos import Kerberos, KerberosError
from kfix.core.numbers import whole_number
from kfix.core.oauth.settings import OAuth

_CLIENT_KEY, _SERVER_KEY = b"Client Key", b"Server Key"
_MOST_ITERATIONS = 1_000_000
#: A broker does not report why it refuses a ticket.
_OLD_KEY = "; the key in the broker's keytab may not be that of the KDC, or the clocks differ: see the broker's log"
#: Tokens of Kerberos, and the two messages about the security layer.
_MOST_ROUNDS = 8

Exchange = Callable[[Request[Any]], Any]

SASL_HANDSHAKE = Api(17, "mechanism:str", "error:i16 mechanisms:strs", reads=True)
SASL_AUTHENTICATE = Api(36, "token:blob", "error:i16 message:str answer:blob", reads=True)


def handshake(mechanism: str) -> Request[tuple[int, list[str]]]:
    return SASL_HANDSHAKE.ask(1, (mechanism,), lambda error, offered: (error, offered))


def send_token(token: bytes) -> Request[tuple[int, str, bytes]]:
    return SASL_AUTHENTICATE.ask(0, (token,), lambda error, message, answer: (error, message, answer))


class AuthenticationError(UnreachableError):
    """The broker refused the authentication. The message never contains the password."""


def authenticate(security: Security, exchange: Exchange, where: str, seconds: float) -> None:
    """Authenticates the connection. Raises AuthenticationError. `seconds` limits requests elsewhere, as for a token."""
    error, offered = exchange(handshake(security.mechanism))
    if error and not offered:
        raise AuthenticationError(f"{where}: {name_of(error)}: this listener does not use SASL (security.protocol)")
    if error:
        raise AuthenticationError(
            f"{where}: {name_of(error)}: the broker offers {', '.join(offered)}, not {security.mechanism}"
        )
    if security.mechanism == "PLAIN":
        _send(exchange, f"\0{security.username}\0{security.password}".encode(), where, security)
        return
    if security.oauth is not None:
        _oauth(security, security.oauth, exchange, where, seconds)
        return
    if security.kerberos is not None:
        _gssapi(security, security.kerberos, exchange, where, seconds)
        return
    try:
        _scram(security, exchange, where)
    except ValueError:  # Not UTF-8, or not base64.
        raise AuthenticationError(f"{where}: invalid SCRAM response of the broker") from None


def _send(exchange: Exchange, token: bytes, where: str, security: Security) -> bytes:
    error, message, answer = exchange(send_token(token))
    if error:
        hint = _OLD_KEY if security.kerberos is not None else ""
        raise AuthenticationError(
            f"{where}: authentication refused for user {security.username!r}: {message or name_of(error)}{hint}"
        )
    return bytes(answer)


def _oauth(security: Security, settings: OAuth, exchange: Exchange, where: str, seconds: float) -> None:
    from kfix.core.oauth.tokens import token_of  # noqa: PLC0415 - imports urllib

    token = token_of(settings, seconds, where)
    extensions = "".join(f"{key}={value}\x01" for key, value in settings.extensions)
    answer = _send(exchange, f"n,,\x01auth=Bearer {token}\x01{extensions}\x01".encode(), where, security)
    if not answer:
        return
    # A broker that refuses the token gives the reason, waits for one more message, and then ends the authentication.
    with contextlib.suppress(AuthenticationError):
        _send(exchange, b"\x01", where, security)
    raise AuthenticationError(
        f"{where}: the broker refused the token{_status(answer)}: check its issuer, audience and expiry, and the clocks"
    )


def _gssapi(security: Security, settings: Kerberos, exchange: Exchange, where: str, seconds: float) -> None:
    from kfix.core.kerberos import GssClient  # noqa: PLC0415 - only Kerberos needs it

    try:
        client = GssClient(settings, where.rpartition(":")[0].strip("[]"), seconds)
        challenge: bytes | None = None
        for _ in range(_MOST_ROUNDS):
            token = client.answer(challenge)
            challenge = _send(exchange, token, where, security)
            if client.complete:
                return
    except KerberosError as error:
        raise AuthenticationError(f"{where}: {error}") from None
    raise AuthenticationError(f"{where}: invalid GSSAPI response of the broker")


def _status(answer: bytes) -> str:
    """Returns the error that a broker names in JSON (RFC 7628, 3.2.2)."""
    try:
        status = json.loads(answer).get("status")
    except (ValueError, AttributeError):
        return ""
    return f" ({status})" if isinstance(status, str) and status.replace("_", "").isalnum() else ""


def _scram(security: Security, exchange: Exchange, where: str) -> None:
    digest = "sha256" if security.mechanism.endswith("256") else "sha512"
    nonce = secrets.token_urlsafe(24)
    user = security.username.replace("=", "=3D").replace(",", "=2C")
    bare = f"n={user},r={nonce}"
    first = _send(exchange, f"n,,{bare}".encode(), where, security).decode()
    fields = _fields(first)
    rounds = whole_number(fields.get("i", "")) or 0
    if not fields.get("r", "").startswith(nonce) or not 0 < rounds <= _MOST_ITERATIONS or "s" not in fields:
        raise AuthenticationError(f"{where}: invalid SCRAM response of the broker")
    salted = hashlib.pbkdf2_hmac(digest, security.password.encode(), base64.b64decode(fields["s"]), rounds)
    client_key = hmac.digest(salted, _CLIENT_KEY, digest)
    without_proof = f"c={base64.b64encode(b'n,,').decode()},r={fields['r']}"
    message = f"{bare},{first},{without_proof}".encode()
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), message, digest)
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
    last = _fields(_send(exchange, f"{without_proof},p={proof}".encode(), where, security).decode())
    expected = base64.b64encode(hmac.digest(hmac.digest(salted, _SERVER_KEY, digest), message, digest)).decode()
    if not hmac.compare_digest(last.get("v", ""), expected):
        raise AuthenticationError(f"{where}: the broker did not prove that it knows the password")


def _fields(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)
