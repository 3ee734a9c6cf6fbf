"""Returns a token for the settings; a token from an identity provider is used until it is about to expire.

A token never enters a message. The request to the endpoint is the same as from Kafka's own client: a POST with the
client's id and secret in the Authorization header, without a proxy of the environment, and without following a
redirect, which would take the secret elsewhere.
"""

import base64
import json
import os
import re
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
from kfix.core.extras import install
from kfix.core.oauth.settings import Aws, OAuth, TokenError
from kfix.core.tls.settings import context_of

# Tokens of AWS MSK IAM: a presigned URL from AWS's own library, which an MSK broker accepts as OAUTHBEARER.
#
# The library is the extra `aws`; it finds the credentials as every AWS tool does.

_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?=:|$)")
_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_SESSION = "kfix"


def aws_token(settings: Aws, where: str) -> tuple[str, float]:
    """Returns (token, its lifetime in seconds). `where` is the broker's address, which names the region.

    Raises TokenError, which never contains a credential.
    """
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415 - the extra aws
    except ImportError:
        raise TokenError(f"AWS_MSK_IAM needs the extra aws: {install('aws')}") from None
    region = region_of(where)
    try:
        if settings.role:
            made = MSKAuthTokenProvider.generate_auth_token_from_role_arn(region, settings.role, _SESSION)
        elif settings.profile:
            made = MSKAuthTokenProvider.generate_auth_token_from_profile(region, settings.profile)
        else:
            made = MSKAuthTokenProvider.generate_auth_token(region)
    except Exception as error:  # noqa: BLE001 - errors of the library, of boto3 and of the network
        why = f"{type(error).__name__}: {_first_line(error)}"
        raise TokenError(f"AWS_MSK_IAM: no token for region {region}: {why}") from None
    token, until_ms = made
    return token, until_ms / 1000 - time.time()


def region_of(where: str) -> str:
    """Returns the region of a broker's address, else the environment's. Raises TokenError without one."""
    match = _HOST.search(where)
    found = match[1] if match else next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), "")
    if not found:
        raise TokenError(f"AWS_MSK_IAM: {where} names no region: set AWS_REGION")
    return found


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")[:200]


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
