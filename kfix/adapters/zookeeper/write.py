"""The one write kfix makes in ZooKeeper: a fenced delete of `/controller`, the same transaction as Kafka's own.

`delete('/controller', version=0)` would protect nothing, since each new ephemeral starts at version 0; the check of
`/controller_epoch`'s version does (KafkaZkClient.scala:1054, tried in kafka-facts A).
"""

from __future__ import annotations

from kfix.adapters.zookeeper.connect import Connect
from kfix.model.reading import ChangeResult


def delete_controller(connect: Connect, *, epoch_version: int, timeout: float) -> ChangeResult:
    # kazoo is a library of a hundred modules that a diagnosis never needs.
    from kazoo.client import KazooClient  # noqa: PLC0415
    from kazoo.exceptions import KazooException  # noqa: PLC0415
    from kazoo.handlers.threading import KazooTimeoutError  # noqa: PLC0415

    client = KazooClient(hosts=str(connect), timeout=timeout)
    try:
        client.start(timeout=timeout)
        transaction = client.transaction()
        transaction.check("/controller_epoch", epoch_version)
        transaction.delete("/controller")
        try:
            results = transaction.commit()
        except KazooException as error:
            return ChangeResult(-1, "NO_ANSWER", f"the transaction's result is unknown: {type(error).__name__}")
    except KazooTimeoutError:
        return ChangeResult(1, "NOT_SENT", "no session with ZooKeeper in time; nothing was sent")
    finally:
        client.stop()
        client.close()
    # commit() does not raise on a mismatch: [BadVersionError, RuntimeInconsistency].
    failed = [r for r in results if isinstance(r, Exception)]
    if failed:
        return ChangeResult(
            1, type(failed[0]).__name__, "another controller was elected meanwhile; nothing was deleted"
        )
    return ChangeResult(0, "NONE")
