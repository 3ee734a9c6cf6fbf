"""The one write to Kafka's own znodes: a fenced delete of `/controller`, the same transaction as Kafka's own.

`delete('/controller', version=0)` would protect nothing, since each new ephemeral starts at version 0; the check of
`/controller_epoch`'s version does (KafkaZkClient.scala:1054, tried in kafka-facts A).
"""

from __future__ import annotations

import logging

from kfix.adapters.zookeeper.connect import Connect
from kfix.model.cluster.reading import ChangeResult


def delete_controller(connect: Connect, *, epoch_version: int, timeout: float) -> ChangeResult:
    # kazoo is a library of a hundred modules that a diagnosis never needs.
    from kazoo.client import KazooClient  # noqa: PLC0415
    from kazoo.exceptions import (  # noqa: PLC0415
        BadVersionError,
        KazooException,
        NoNodeError,
        RolledBackError,
        RuntimeInconsistency,
    )
    from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415

    consequences = (RolledBackError, RuntimeInconsistency)
    quiet = logging.getLogger("kfix.zookeeper")
    quiet.setLevel(logging.CRITICAL)
    client = KazooClient(hosts=str(connect), timeout=timeout, logger=quiet)
    try:
        try:
            client.start(timeout=timeout)
        except (KazooTimeoutError, KazooException) as error:
            said = f"no session with ZooKeeper ({type(error).__name__}); nothing was sent"
            return ChangeResult(1, "NOT_SENT", said)
        transaction = client.transaction()
        transaction.check("/controller_epoch", epoch_version)
        transaction.delete("/controller")
        try:
            results = transaction.commit_async().get(timeout=timeout)
        except (KazooTimeoutError, KazooException) as error:
            return ChangeResult(-1, "NO_ANSWER", f"the transaction's result is unknown: {type(error).__name__}")
    finally:
        client.stop()
        client.close()
    # commit() does not raise on a mismatch: [BadVersionError, RuntimeInconsistency].
    # The others of a failed transaction are told only that it was rolled back.
    failed = sorted((r for r in results if isinstance(r, Exception)), key=lambda r: isinstance(r, consequences))
    if failed:
        known = isinstance(failed[0], BadVersionError | NoNodeError)
        why = "another controller was elected meanwhile" if known else "ZooKeeper refused it"
        return ChangeResult(1, type(failed[0]).__name__, f"{why}; nothing was deleted")
    return ChangeResult(0, "NONE")
