"""The rows of a cluster in the tables beside `partitions`: made of its document, which a staged cluster leaves behind.

What needs all partitions is counted once, when the cluster is stored (`counted`), and is part of the document.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kfix.core.derive.coordinator import partition_of_group
from kfix.core.derive.predicate import LEADERLESS, UNDER_MIN_ISR, UNDER_REPLICATED, parse
from kfix.fleet.store.partition_states import counted_states
from kfix.fleet.store.sieve import Sieve
from kfix.fleet.store.spec import TableSpec, rows_table

Row = dict[str, Any]
#: What the stored document of a cluster lacks: columns have it.
_LEFT_OUT: Final = frozenset({"by_topic", "file", "size", "failures", "by_state", "offsets_states", "facts", "large"})
#: What the partitions of a topic lack, counted as the checks of `kfix diagnose` do.
_LACKS: Final = {
    name: parse(text, f"topics.{name}")
    for name, text in (
        ("leaderless", LEADERLESS),
        ("under_replicated", UNDER_REPLICATED),
        ("under_min_isr", UNDER_MIN_ISR),
    )
}
_TOPIC: Final = ("partitions", "replicas", "rf_min", "rf_max", "min_isr", "internal", "deleting", *_LACKS)


def counted(table: Any) -> dict[str, Any]:
    """Returns what the tables `topics` and `brokers` need of all partitions of a cluster, as JSON types."""
    sieve = Sieve(table.column, table.num_rows, {})
    one = pa.table(
        {
            "topic": table["topic"],
            "rf": table["n_replicas"],
            "min_isr": table["min_isr"],
            "internal": table["internal"],
            "deleting": table["deleting"],
            **{name: pc.cast(sieve.mask(condition), pa.int64()) for name, condition in _LACKS.items()},
        }
    )
    by_topic = one.group_by("topic", use_threads=False).aggregate(
        [
            ("rf", "count"),
            ("rf", "sum"),
            ("rf", "min"),
            ("rf", "max"),
            ("min_isr", "min"),
            ("internal", "any"),
            ("deleting", "any"),
            *((name, "sum") for name in _LACKS),
        ]
    )
    columns = [by_topic.column(i).to_pylist() for i in range(1, by_topic.num_columns)]
    names = by_topic.column("topic").to_pylist()
    return {
        "by_topic": {name: list(values) for name, *values in zip(names, *columns, strict=True)},
        "leads": _counts(table["leader"]),
        "preferred": _counts(table["preferred"]),
        **counted_states(table),
    }


def _counts(column: Any) -> dict[str, int]:
    found = column.value_counts()
    pairs = zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True)
    return {str(broker): n for broker, n in sorted(pairs)}


def snapshot_row(document: Mapping[str, Any]) -> Row:
    snapshot = document["snapshot"]
    zookeeper = snapshot["zookeeper"]
    quorum = snapshot.get("quorum")
    controller = epoch = None
    if zookeeper is not None:
        controller, epoch = (zookeeper["controller"][name] for name in ("broker", "epoch"))
    elif quorum is not None and quorum["leader"] >= 0:
        controller, epoch = quorum["leader"], quorum["epoch"]
    failures = document["failures"]
    kept = {key: value for key, value in document.items() if key not in _LEFT_OUT}
    return {
        "cluster": document["cluster"],
        "collected": True,
        "why": None,
        "taken_at": datetime.fromtimestamp(snapshot["taken_at"], UTC),
        "seconds": float(snapshot["seconds"]),
        "cluster_id": snapshot["cluster"]["id"] or None,
        "mode": snapshot["cluster"]["mode"],
        "controller": controller,
        "brokers": len(snapshot["addresses"]),
        "topics": document["topics"],
        "partitions": document["partitions"],
        "document": json.dumps(kept, separators=(",", ":"), allow_nan=False),
        "elects_by_record": None if failures is None else failures["elects_by_record"],
        "controller_bit": None if failures is None or failures["states"] is None else failures["controller_bit"],
        "lacks": "\n".join(failures["lacks"]) if failures is not None else None,
        "controller_epoch": epoch,
    }


def unread_row(cluster: str, why: str, seconds: float) -> Row:
    """Returns the row of a cluster that was not read."""
    nothing = dict.fromkeys(
        (
            "taken_at",
            "cluster_id",
            "mode",
            "controller",
            "document",
            "elects_by_record",
            "controller_bit",
            "lacks",
            "controller_epoch",
        )
    )
    counts = dict.fromkeys(("brokers", "topics", "partitions"), 0)
    return {"cluster": cluster, "collected": False, "why": why, "seconds": seconds, **nothing, **counts}


def source_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    for source in document["snapshot"]["sources"]:
        yield {
            "cluster": document["cluster"],
            "source": source["name"],
            "ok": source["ok"],
            "error": None if source["ok"] else source["error"],
            "seconds": float(source["seconds"]),
        }


def broker_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    snapshot = document["snapshot"]
    zookeeper = snapshot["zookeeper"]
    registered = {} if zookeeper is None else zookeeper["registrations"]
    views, addresses = snapshot["views"], snapshot["addresses"]
    racks = {b: rack for view in views.values() for b, rack in view["racks"].items()}
    failures = document["failures"] or {"bits": {}, "live": None}
    ids = {*addresses, *registered, *views, *document["holds"], *map(str, document["assigned"])}
    for broker in sorted(ids, key=int):
        mark, view, at = registered.get(broker), views.get(broker), addresses.get(broker)
        config = snapshot["broker_configs"].get(broker)
        controller = -1 if view is None else view["controller"]
        yield {
            "cluster": document["cluster"],
            "broker": int(broker),
            "host": None if at is None else at["host"],
            "port": None if at is None else at["port"],
            "rack": (mark["rack"] if mark is not None else None) or racks.get(broker) or None,
            "registered": None if zookeeper is None else mark is not None,
            "registered_ms": None if mark is None else mark["registered_ms"],
            "broker_epoch": None if mark is None else mark["czxid"],
            "responded": view is not None,
            "controller": controller if controller >= 0 else None,
            "leads": document["leads"].get(broker, 0),
            "preferred": document["preferred"].get(broker, 0),
            "holds": document["holds"].get(broker, 0),
            "configs": None if config is None else json.dumps(config, sort_keys=True),
            "alive": None if failures["live"] is None else int(broker) in failures["live"],
            "bit": failures["bits"].get(broker),
        }


def topic_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    snapshot = document["snapshot"]
    zookeeper = snapshot["zookeeper"] or {"topic_configs": {}, "topics_created": {}}
    own, created = zookeeper["topic_configs"], zookeeper["topics_created"]
    ids = snapshot.get("topic_ids", {})
    for topic, values in sorted(document["by_topic"].items()):
        config = own.get(topic)
        yield {
            "cluster": document["cluster"],
            "topic": topic,
            **dict(zip(_TOPIC, values, strict=True)),
            "configs": json.dumps(config, sort_keys=True) if config else None,
            "czxid": created.get(topic),
            "topic_id": ids.get(topic),
        }


def group_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    offsets = document["by_topic"].get("__consumer_offsets")
    for group in document["snapshot"]["groups"]:
        yield {
            "cluster": document["cluster"],
            "group": group["name"],
            "partition": partition_of_group(group["name"], offsets[0]) if offsets else None,
            "coordinator": group["listed_by"][0] if group["listed_by"] else None,
            "state": group["state"] or None,
        }


def quorum_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    """Yields the nodes of a KRaft quorum: voters that the active controller knows or brokers name, and observers."""
    quorum = document["snapshot"].get("quorum")
    if quorum is None:
        return
    read = quorum["leader"] >= 0
    voters = {node: each for node, *each in quorum["voters"]}
    observers = {node: each for node, *each in quorum["observers"] if node not in voters}
    asked = {node: each for node, *each in quorum["controllers"] if node >= 0}
    addresses = {int(node): address for node, address in quorum["configured"].items()}
    for node in sorted({*voters, *observers, *asked, *addresses}):
        log_end, fetched, caught_up, *_ = voters.get(node) or observers.get(node) or (-1, -1.0, -1.0)
        address, _, _, error = asked.get(node) or (addresses.get(node), False, False, None)
        yield {
            "cluster": document["cluster"],
            "node": node,
            "voter": node not in observers,
            "address": address,
            "active": node == quorum["leader"] if read else None,
            "answered": not error if node in asked else None,
            "error": error or None,
            "epoch": quorum["epoch"] if read else None,
            "log_end": log_end if log_end >= 0 else None,
            "behind": max(0, quorum["high_watermark"] - log_end) if log_end >= 0 else None,
            "fetched_seconds": fetched if fetched >= 0 else None,
            "caught_up_seconds": caught_up if caught_up >= 0 else None,
        }


def table_of(spec: TableSpec, rows: Iterable[Mapping[str, Any]]) -> Any:
    """Returns rows as a pyarrow table with the columns of the files of `spec`."""
    names = spec.file_schema.names
    return rows_table(spec.file_schema, ([row[name] for name in names] for row in rows))
