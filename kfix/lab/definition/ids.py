"""New ids in Kafka's own form, of clusters and of directories."""

from __future__ import annotations

import base64
import secrets


def new_uuid() -> str:
    """Returns an id as Kafka writes it. StorageTool would take one that begins with a dash for an option."""
    while (found := base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")).startswith("-"):
        pass
    return found
