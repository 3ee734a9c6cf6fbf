"""A small identity provider on the loopback interface: `python -X kfix.lab.id=ID -m kfix.lab.security.oidc SETTINGS`.

It has the two endpoints that Kafka uses of OpenID Connect: `/token` exchanges a client's id and secret for a signed JWT
(RFC 6749, 4.4), and `/jwks` publishes the key that the brokers validate it with (RFC 7517).
"""

import base64
import hmac
import json
import sys
import time
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from kfix.core.private import write_private
from kfix.lab.definition.secured import AUDIENCE

_KEY_ID = "kfix-lab"
_LARGEST = 1 << 16


@dataclass(frozen=True)
class OidcSettings:
    """`clients` are {id: secret}; `lifetime` (seconds) is that of a token, of which none is valid if it is negative."""

    port: int
    key: str
    clients: dict[str, str]
    lifetime: int = 300

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def write_settings(file: Path, port: int, clients: dict[str, str]) -> None:
    """Writes the settings of a new identity provider, with a new key."""
    key = rsa.generate_private_key(65537, 2048)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    write_private(file, json.dumps(asdict(OidcSettings(port, text, clients))).encode())


def read_settings(file: Path) -> OidcSettings:
    return OidcSettings(**json.loads(file.read_text(encoding="ascii")))


def signed_token(settings: OidcSettings, subject: str, **claims: Any) -> str:
    """Returns a JWT; `claims` replace the usual ones."""
    now = int(time.time())
    usual = {"iss": settings.issuer, "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + settings.lifetime}
    usual |= {"scope": "kafka"}
    text = f"{_part({'alg': 'RS256', 'typ': 'JWT', 'kid': _KEY_ID})}.{_part(usual | claims)}"
    signature = _key(settings).sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{_base64(signature)}"


def serve(settings: OidcSettings) -> None:
    with ThreadingHTTPServer(("127.0.0.1", settings.port), _handler(settings)) as server:
        server.serve_forever()


def _handler(settings: OidcSettings) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200 if self.path == "/jwks" else 404, _jwks(settings) if self.path == "/jwks" else {})

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            form = self.rfile.read(min(size, _LARGEST)).decode("latin-1")
            client = _client(settings, self.headers.get("Authorization", ""))
            if self.path != "/token" or "grant_type=client_credentials" not in form:
                self._answer(400, {"error": "unsupported_grant_type"})
            elif client is None:
                self._answer(401, {"error": "invalid_client"})
            else:
                token = signed_token(settings, client)
                self._answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": settings.lifetime})

        def log_message(self, *_: Any) -> None:
            """A lab's log of its identity provider would repeat nothing but addresses."""

        def _answer(self, status: int, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _client(settings: OidcSettings, header: str) -> str | None:
    """Returns the id of the client whose id and secret the header has, else None."""
    kind, _, value = header.partition(" ")
    try:
        client, _, secret = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return None
    known = settings.clients.get(client, "")
    right = bool(known) and hmac.compare_digest(known.encode(), secret.encode())
    return client if kind.lower() == "basic" and right else None


def _jwks(settings: OidcSettings) -> dict[str, Any]:
    numbers = _key(settings).public_key().public_numbers()
    key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_ID}
    return {"keys": [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]}


def _key(settings: OidcSettings) -> rsa.RSAPrivateKey:
    key = load_pem_private_key(settings.key.encode(), None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


if __name__ == "__main__":
    serve(read_settings(Path(sys.argv[1])))
