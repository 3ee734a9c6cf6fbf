"""A second person's signature for a plan: a small file that names the plan and is owned by the signer.

What it proves: the kernel attests the file's owner. So another user of this host (or of a shared file system) wrote it
for this plan, and that user neither applies the plan nor made it. One person with one account cannot plan, sign and
apply.

What it does not prove: root can forge any owner. The plan itself states the planner's name; the kernel attests only
signer and applier. A file system without owners (FAT, some network shares) proves nothing.
"""

import json
import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kfix.core.errors import ApprovalError, RefusedError, UsageError
from kfix.core.private import user_name
from kfix.core.wording import utc_iso
from kfix.heal.hints import plan_again
from kfix.heal.model.plan import Plan

SCHEMA = "kfix.countersign/v1"
_FIELDS = frozenset({"schema", "plan_id", "by", "uid", "host", "at", "reason"})
_MAX_BYTES = 16_384


def sign(plan: Plan, path: Path, reason: str, now: float) -> Mapping[str, object]:
    """Writes the signature of the current user to a new file and returns its content.

    Raises RefusedError if the same user made the plan or it has expired, UsageError if the file exists or cannot be
    written.
    """
    by = user_name(os.getuid())
    if by == plan.created.by:
        raise RefusedError(f"{by} made plan {plan.short_id}: a second person must sign it")
    if now > plan.expires_at:
        text = f"plan {plan.short_id} expired at {utc_iso(plan.expires_at)}: there is nothing to sign"
        raise RefusedError(text, hint=plan_again(plan))
    signed = {
        "schema": SCHEMA,
        "plan_id": plan.plan_id,
        "by": by,
        "uid": os.getuid(),
        "host": socket.gethostname(),
        "at": utc_iso(now),
        "reason": reason,
    }
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except FileExistsError as error:
        raise UsageError(
            f"{path} exists and is not overwritten", hint="name another file with --output-file"
        ) from error
    except OSError as error:
        raise UsageError(f"{path}: cannot write the signature: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            # The user who applies the plan must be able to read it, whatever the signer's umask.
            os.fchmod(file.fileno(), 0o644)
            file.write(json.dumps(signed, indent=2, ensure_ascii=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"{path}: cannot write the signature: {error.strerror}; the file was removed") from error
    return signed


def signer(path: Path, plan: Plan, applies: int) -> str:
    """Returns the name of the signer. `applies` is the uid that carries the plan out.

    Raises ApprovalError if the signature is not valid for this plan, UsageError if the file cannot be read.
    """
    text, owner = _read(path)
    signed = _parse(text, path)
    name = user_name(owner)
    wrong = ""
    if signed["plan_id"] != plan.plan_id:
        wrong = f"it is for plan {str(signed['plan_id'])[:8]}, not for {plan.short_id}"
    elif signed["uid"] != owner:
        wrong = f"it names uid {signed['uid']}, but the file belongs to uid {owner} ({name})"
    elif signed["by"] != name:
        wrong = f"it names {signed['by']!r}, but the file belongs to {name}"
    elif owner == applies:
        wrong = f"{name} signed it and is applying the plan: a second person must sign"
    elif name == plan.created.by:
        wrong = f"{name} signed it and made the plan: a second person must sign"
    if wrong:
        raise _not_good(path, wrong)
    return name


def _read(path: Path) -> tuple[str, int]:
    """Returns the text and owner of one open file, so that it cannot be exchanged in between."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such signature file") from error
    except OSError as error:
        if path.is_symlink():
            raise _not_good(path, "it is a symbolic link") from error
        raise UsageError(f"{path}: cannot read the signature: {error.strerror}") from error
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise _not_good(path, "it is not a regular file")
        if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _not_good(path, "users other than its owner may write to it (chmod 644)")
        text = os.read(handle, _MAX_BYTES + 1)
    finally:
        os.close(handle)
    if len(text) > _MAX_BYTES:
        raise _not_good(path, "it is too long")
    return text.decode("utf-8", "replace"), about.st_uid


def _parse(text: str, path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_good(path, "it is not JSON") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.keys() != _FIELDS:
        raise _not_good(path, f"it is not of the form {SCHEMA}")
    if type(data["uid"]) is not int or not str(data["reason"]).strip():
        raise _not_good(path, "it has no uid or no reason")
    return data


def _not_good(path: Path, why: str) -> ApprovalError:
    return ApprovalError(
        f"{path}: not a valid signature: {why}; nothing was changed",
        hint="a second person: kfix runbook countersign PLAN --output-file FILE --reason TEXT",
    )
