"""Returns a token for the settings; a token from an identity provider is used until it is about to expire.

A token never enters a message. The request to the endpoint is the same as from Kafka's own client: a POST with the
client's id and secret in the Authorization header, without a proxy of the environment, and without following a
redirect, which would take the secret elsewhere.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from kfix.core.documents.opening import read_file
from kfix.core.endpoint import plain_reason
from kfix.core.errors import UsageError
from kfix.core.oauth.settings import OAuth, TokenError
from kfix.core.tls.settings import context_of

_LARGEST = 1 << 20
#: A token is not used in its last seconds.
_MARGIN = 30.0
#: The lifetime of a token whose endpoint does not state it.
_USUAL_LIFETIME = 60.0
_LOCK = threading.Lock()
#: {(settings, place): (token, until)} of this process, in seconds of the monotonic clock.
_KEPT: dict[tuple[OAuth, str], tuple[str, float]] = {}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def token_of(settings: OAuth, seconds: float, where: str = "") -> str:
    """Returns a token. `seconds` limits the request to the endpoint; `where` is the broker. Raises TokenError."""
    if settings.file:
        return _from_file(Path(settings.file))
    if settings.aws is None and not settings.endpoint:
        return unsecured_token(settings, time.time())
    key = settings, where if settings.aws is not None else ""
    with _LOCK:  # Connections to all brokers are opened at once, and one token is enough for them.
        token, until = _KEPT.get(key, ("", 0.0))
        if time.monotonic() >= until:
            token, lifetime = _made(settings, seconds, where)
            _KEPT[key] = token, time.monotonic() + max(lifetime - _MARGIN, 0.0)
        return token


def _made(settings: OAuth, seconds: float, where: str) -> tuple[str, float]:
    if settings.aws is None:
        return _requested(settings, seconds)
    from kfix.core.oauth.aws import aws_token  # noqa: PLC0415 - the extra aws

    return aws_token(settings.aws, where)


def unsecured_token(settings: OAuth, now: float) -> str:
    """Returns a token without a signature, which a broker without a validator of its own accepts (for tests)."""
    # Whole seconds: a broker refuses a token whose time of issue is later than its clock by a part of a millisecond.
    begin = int(now)
    claims = {"iat": begin, "exp": begin + settings.lifetime, **dict(settings.claims)}
    return ".".join((_part({"alg": "none"}), _part(claims), ""))


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _from_file(path: Path) -> str:
    try:
        token = read_file(path, _LARGEST).decode("ascii").strip()
    except OSError as error:
        raise TokenError(f"the token in {path} cannot be read: {(error.strerror or '').lower()}") from None
    except (UnicodeDecodeError, UsageError):
        token = ""
    if not _is_token(token):
        raise TokenError(f"{path} does not contain a token")
    return token


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def _requested(settings: OAuth, seconds: float) -> tuple[str, float]:
    """Returns (token, its lifetime in seconds)."""
    where = f"token endpoint {settings.endpoint}"
    form = {"grant_type": "client_credentials"} | ({"scope": settings.scope} if settings.scope else {})
    names = (settings.client_id, settings.client_secret)
    both = ":".join(map(urllib.parse.quote_plus, names) if settings.quoted else names)
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked when the file was read
        settings.endpoint,
        urllib.parse.urlencode(form).encode(),
        {
            "Authorization": f"Basic {base64.b64encode(both.encode()).decode()}",
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({}), _NoRedirect()]
    if settings.endpoint.startswith("https:"):
        handlers.append(urllib.request.HTTPSHandler(context=context_of(settings.tls)))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=seconds) as answer:
            found = json.loads(answer.read(_LARGEST))
    except urllib.error.HTTPError as error:
        raise TokenError(f"{where}: refused client {settings.client_id!r}: {_why(error)}") from None
    except urllib.error.URLError as error:
        reason = error.reason
        raise TokenError(f"{where}: {plain_reason(reason) if isinstance(reason, OSError) else reason}") from None
    except OSError as error:
        raise TokenError(f"{where}: {plain_reason(error)}") from None
    except ValueError:
        raise TokenError(f"{where}: the response is not JSON") from None
    token = found.get("access_token") if isinstance(found, dict) else None
    if not isinstance(token, str) or not _is_token(token):
        raise TokenError(f"{where}: the response has no access_token")
    lifetime = found.get("expires_in")
    return token, float(lifetime) if isinstance(lifetime, int | float) else _USUAL_LIFETIME


def _why(error: urllib.error.HTTPError) -> str:
    """Returns the status and the error code of RFC 6749; never the rest of the body, which may repeat the request."""
    code = ""
    try:
        body = json.loads(error.read(_LARGEST))
        code = body.get("error", "") if isinstance(body, dict) else ""
    except (OSError, ValueError):
        pass
    known = isinstance(code, str) and code.replace("_", "").isalpha() and code.isascii()
    return f"HTTP {error.code}" + (f" {code}" if known else "")
