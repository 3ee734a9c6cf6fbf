"""The only write to Kafka's own znodes: a fenced delete of `/controller`, in the same transaction as Kafka uses.

`delete('/controller', version=0)` would not be fenced, since every new ephemeral node starts at version 0; the check of
the version of `/controller_epoch` is (KafkaZkClient.scala:1054, tried in docs/facts/zookeeper.md).
"""

import logging

from kfix.core.snapshot.reading import ChangeResult
from kfix.core.zookeeper.connect import Connect


def delete_controller(connect: Connect, *, epoch_version: int, timeout: float) -> ChangeResult:
    # kazoo has about a hundred modules, and a diagnosis never needs it.
    from kazoo.exceptions import (  # noqa: PLC0415
        BadVersionError,
        KazooException,
        NoAuthError,
        NoNodeError,
        RolledBackError,
        RuntimeInconsistency,
    )
    from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415

    from kfix.core.zookeeper.kazoo_client import kazoo_client  # noqa: PLC0415

    consequences = (RolledBackError, RuntimeInconsistency)
    quiet = logging.getLogger("kfix.zookeeper")
    quiet.setLevel(logging.CRITICAL)
    client = kazoo_client(str(connect), connect.access, timeout, quiet)
    try:
        try:
            client.start(timeout=timeout)
        except (KazooTimeoutError, KazooException) as error:
            text = f"no session with ZooKeeper ({type(error).__name__}); nothing was sent"
            return ChangeResult(1, "NOT_SENT", text)
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
    # The other operations of a failed transaction only report that it was rolled back.
    failed = sorted((r for r in results if isinstance(r, Exception)), key=lambda r: isinstance(r, consequences))
    if failed:
        known = isinstance(failed[0], BadVersionError | NoNodeError)
        why = "another controller was elected meanwhile" if known else "ZooKeeper rejected it"
        if isinstance(failed[0], NoAuthError):
            why = connect.access.not_allowed("delete", connect.path("/controller"))
        return ChangeResult(1, type(failed[0]).__name__, f"{why}; nothing was deleted")
    return ChangeResult(0, "NONE")
