"""A healthy cluster of three brokers as it is told: its znodes, and what a broker answers. One broker is at `port`."""

from __future__ import annotations

from typing import Any

from tests.wire import Writer

TOPICS = {"orders": 3, "__consumer_offsets": 2}
_KEYS = (2, 3, 9, 10, 15, 16, 17, 18, 23, 32, 36, 43, 44)
VERSIONS = dict.fromkeys(_KEYS, (0, 9)) | {16: (0, 4), 35: (0, 4), 45: (0, 0), 46: (0, 0)}


def znodes(port: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for broker, at in ((1, port), (2, 1), (3, 1)):
        found[f"/brokers/ids/{broker}"] = {
            "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
            "endpoints": [f"PLAINTEXT://127.0.0.1:{at}"],
            "jmx_port": -1,
            "features": {},
            "host": "127.0.0.1",
            "timestamp": "1700000000000",
            "port": at,
            "version": 5,
            "rack": "abc"[broker - 1],
        }
    for topic, count in TOPICS.items():
        found[f"/brokers/topics/{topic}"] = {
            "version": 3,
            "topic_id": "x",
            "partitions": {str(p): [1, 2, 3] for p in range(count)},
            "adding_replicas": {"0": [3]} if topic == "orders" else {},
            "removing_replicas": {},
        }
        for p in range(count):
            found[f"/brokers/topics/{topic}/partitions/{p}/state"] = {
                "controller_epoch": 5,
                "leader": 1,
                "version": 1,
                "leader_epoch": 4,
                "isr": [1, 2],
            }
        found[f"/config/topics/{topic}"] = {"version": 1, "config": {"min.insync.replicas": "2"}}
    found["/controller"] = {"version": 1, "brokerid": 1, "timestamp": "1700000000000"}
    found["/controller_epoch"] = 5
    found["/cluster/id"] = {"version": "1", "id": "mine"}
    moving = {"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}
    found["/admin/reassign_partitions"] = {"version": 1, "partitions": [moving]}
    return found


def lists() -> dict[str, tuple[str, ...]]:
    return {
        "/": ("brokers", "zookeeper"),
        "/brokers": ("ids", "topics"),
        "/brokers/ids": ("1", "2", "3"),
        "/brokers/topics": tuple(TOPICS),
        "/config/topics": tuple(TOPICS),
        "/admin/delete_topics": (),
        "/isr_change_notification": (),
    }


def answers(port: int) -> dict[int, bytes]:
    """What a healthy broker answers, by API key, in the versions that kfix asks for."""

    def ids(w: Writer, *values: int) -> Writer:
        return w.array(values, lambda w, v: w.i32(v))

    def topics(w: Writer, each: Any) -> Writer:
        return w.array(list(TOPICS.items()), lambda w, t: w.string(t[0]).array(list(range(t[1])), each))

    meta = (
        Writer()
        .i32(0)
        .array(
            [(1, port), (2, 1), (3, 1)], lambda w, b: w.i32(b[0]).string("127.0.0.1").i32(b[1]).string("abc"[b[0] - 1])
        )
    )
    meta.string("mine").i32(1)

    def partition(w: Writer, p: int) -> None:
        ids(ids(ids(w.i16(0).i32(p).i32(1).i32(4), 1, 2, 3), 1, 2), 3)

    meta.array(list(TOPICS.items()), lambda w, t: w.i16(0).string(t[0]).i8(0).array(list(range(t[1])), partition))
    config = Writer().i32(0).array([("1", "zookeeper.connect", ""), ("orders", "min.insync.replicas", "2")], _config)
    described = (
        Writer()
        .i32(0)
        .array(
            ["g"],
            lambda w, g: w.i16(0).string(g).string("Stable").string("consumer").string("range").array(["m"], _member),
        )
    )
    offsets = Writer().i32(0)
    topics(offsets, lambda w, p: w.i32(p).i16(0).i64(1_700_000_000_000).i64(9).i32(4))
    ends = Writer().i32(0)
    topics(ends, lambda w, p: w.i16(0).i32(p).i32(4).i64(9))
    fetched = Writer().i32(0)
    topics(fetched, lambda w, p: w.i32(p).i64(3).i32(4).string("").i16(0))
    fetched.i16(0)
    moving = Writer().i32(0).i16(0).compact_string("")
    moving.compact_array(["orders"], _moving)
    dirs = Writer().i32(0).array(["/d"], lambda w, d: topics(w.i16(0).string(d), _log_dir))
    return {
        3: meta.done(),
        32: config.done(),
        16: Writer().i32(0).i16(0).array(["g"], lambda w, g: w.string(g).string("consumer")).done(),
        15: described.done(),
        10: Writer().i32(0).i16(0).string(None).i32(1).string("127.0.0.1").i32(port).done(),
        9: fetched.done(),
        2: offsets.done(),
        23: ends.done(),
        46: moving.done(),
        35: dirs.done(),
    }


def _config(w: Writer, said: tuple[str, str, str]) -> None:
    name, key, value = said

    def one(w: Writer, _: int) -> None:
        w.string(key).string(value).i8(0).i8(4).i8(0)
        w.array([key], lambda w, k: w.string(k).string("2.7-IV2").i8(5))

    w.i16(0).string(None).i8(4).string(name).array([0], one)


def _member(w: Writer, name: str) -> None:
    w.string(name).string("client").string("/127.0.0.1").blob(b"xx").blob(b"yy")


def _moving(w: Writer, topic: str) -> None:
    def partition(w: Writer, p: int) -> None:
        w.i32(p)
        for brokers in ((1, 2, 3), (3,), ()):
            w.compact_array(brokers, lambda w, b: w.i32(b))
        w.no_tags()

    w.compact_string(topic).compact_array([0], partition).no_tags()


def _log_dir(w: Writer, p: int) -> None:
    w.i32(p).i64(100).i64(0).i8(0)
