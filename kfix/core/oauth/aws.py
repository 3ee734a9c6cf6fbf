"""Tokens of AWS MSK IAM: a presigned URL from AWS's own library, which an MSK broker accepts as OAUTHBEARER.

The library is the extra `aws`; it finds the credentials as every AWS tool does.
"""

from __future__ import annotations

import os
import re
import time

from kfix.core.oauth.settings import Aws, TokenError

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
        raise TokenError("AWS_MSK_IAM needs the extra aws: pip install 'kafka-kfix[aws]'") from None
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
