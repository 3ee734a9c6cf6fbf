"""A synthetic history that knows its own truth: when each fault began and ended, and every change of the cluster.

Faults begin and end at random times between audits. On some days a cluster is not part of the audit, is not read, or a
broker of it does not answer, which hides some of its faults.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from kfix.fleet.engines.engine import plain
from kfix.fleet.history import recording_sql
from kfix.fleet.history.changes import IDENTITY, STATES, Observed, changes
from kfix.fleet.model.audit import FindingRow
from kfix.fleet.store.history_tables import EPISODES

FIRST = date(2025, 1, 1)
CLUSTERS = ("a", "b/é", "c")
KEYS = 7
SILENT = "broker 2"


class OpenDuckDB:
    """DuckDB as an engine over tables in memory, with one connection for many statements."""

    name = "duckdb in memory"

    def __init__(self):
        self._db = duckdb.connect()
        self._db.execute("SET threads = 1")
        self._db.execute("SET TimeZone = 'UTC'")

    def query(self, sql, tables):
        for name, table in tables.items():
            self._db.register(name, table)
        return plain(self._db.sql(sql).to_arrow_table())


EPISODES_IN_ORDER = f"{recording_sql.EPISODES} ORDER BY {', '.join(recording_sql.EPISODES_ORDER)}"


def next_episodes(findings, open_before, known, engine):
    """Returns the episodes after an audit with these findings, as the audit writes them."""
    tables = {"found": findings, "open_before": open_before, "known": known}
    found = engine.query(EPISODES_IN_ORDER, tables)
    return found.select(EPISODES.file_schema.names).cast(EPISODES.file_schema)


def at_of(number):
    return datetime.combine(FIRST + timedelta(days=number), time(2), UTC)


def ms_of(number):
    return round(at_of(number).timestamp() * 1000)


def finding(cluster, code, obj, day, *, rank=1, n=0):
    return FindingRow(
        cluster, f"{code}:{obj}", code, obj, ("info", "warning", "critical")[rank], rank, "new", day, 0, "", "", "", "",
        False, False, n, (), (), "", "", "", False, "", "{}", False,
    )  # fmt: skip


@dataclass
class Fault:
    """A fault of a cluster; `spans` are (begin, end) in days since the first audit, end None if it has not ended."""

    cluster: str
    key: str
    hidden: bool
    rank: int
    spans: list[tuple[float, float | None]] = field(default_factory=list)

    def there(self, when):
        return any(begin <= when and (end is None or when < end) for begin, end in self.spans)


class YearOfFaults:
    """`days` audits of three clusters; the same seed gives the same history."""

    def __init__(self, seed, days=365):
        rng = random.Random(f"{seed}/year")
        self.days = days
        self.owners = {c: f"team-{i % 2}" for i, c in enumerate(CLUSTERS)}
        # What the audit of a day could see of a cluster: nothing ("out"), "unread", "silent" or "read".
        self.seen = {
            c: [rng.choices(("out", "unread", "silent", "read"), (5, 6, 6, 83))[0] for _ in range(days)]
            for c in CLUSTERS
        }
        self.faults = [self._fault(rng, c, i) for c in CLUSTERS for i in range(KEYS)]

    def _fault(self, rng, cluster, i):
        fault = Fault(cluster, f"KFX30{i % 4 + 1}:fault {i}", i % 3 == 0, 1 + i % 2)
        when = rng.uniform(-20, 20) if i else rng.uniform(-3, -1)
        while when < self.days:
            end = when + rng.expovariate(1 / (0.7 + 3 * (i % 4)))
            fault.spans.append((when, end if end < self.days else None))
            when = end + rng.expovariate(1 / (2 + 6 * (i % 3)))
        return fault

    def rows(self, number):
        """Returns ({cluster: collected}, the findings) of the audit of a day."""
        day = FIRST + timedelta(days=number)
        seen = {c: self.seen[c][number] for c in CLUSTERS if self.seen[c][number] != "out"}
        found = [finding(c, "KFX701", "cluster", day) for c in seen if seen[c] == "unread"]
        found += [finding(c, "KFX901", SILENT, day) for c in seen if seen[c] == "silent"]
        for fault in self.faults:
            what = seen.get(fault.cluster)
            if (what == "read" or (what == "silent" and not fault.hidden)) and fault.there(number):
                code, obj = fault.key.split(":")
                n = 1 + (number * 7 + len(fault.key)) % 5
                found.append(finding(fault.cluster, code, obj, day, rank=fault.rank, n=n))
        return {c: what != "unread" for c, what in seen.items()}, found


class ChangingClusters:
    """Three clusters whose partitions, brokers, groups and topics change between audits, each change counted."""

    def __init__(self, seed, *, zookeeper=True, ids=False):
        self.rng = random.Random(f"{seed}/changes")
        self.zookeeper, self.ids = zookeeper, ids
        self.zxid, self.night, self.written = 1000, 0, ms_of(-1)
        self.partitions = {
            (c, topic, p): self._partition() for c in CLUSTERS for topic in ("t-1", "t.é") for p in range(4)
        }
        self.brokers = {(c, b): {"there": True, "epoch": 100 + b} for c in CLUSTERS for b in range(1, 5)}
        self.groups = {(c, g): {"coordinator": 1, "state": "Stable"} for c in CLUSTERS for g in ("g", "h")}
        self.controllers = {c: {"broker": 1, "epoch": 1} for c in CLUSTERS}
        self.created = dict.fromkeys({key[:2] for key in self.partitions}, 0)

    def _partition(self):
        self.zxid += 1
        replicas = self.rng.sample(range(1, 5), 3)
        return {"leader": replicas[0], "epoch": 0, "isr": list(replicas), "version": 0, "zxid": self.zxid,
                "replicas": replicas, "written": self._now()}  # fmt: skip

    def _now(self):
        """Returns the time of a write in ms since the epoch, later than all before."""
        self.written += self.rng.randint(1, 900)
        return self.written

    def step(self, share=0.2):
        """Changes a share of everything; returns {(cluster, subject, object, kind): times}."""
        self.night += 1
        self.written = ms_of(self.night - 1) + 3_600_000
        before = self.snapshot()["partitions"]
        counted = {}
        for key in [*self.partitions]:
            if self.rng.random() < share:
                cluster, topic, number = key
                for kind, times in self._change(self.partitions[key], before[key]).items():
                    counted[cluster, "partition", f"{topic}-{number}", kind] = times
        self._recreate(counted)
        self._brokers(counted, share)
        self._groups(counted, share)
        self._controllers(counted, share)
        self._topics(counted, share)
        return counted

    def _change(self, p, old):
        """Changes a partition; returns {kind: times, at least}, without the kinds that did not change."""
        rng = self.rng
        epochs = writes = 0
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(("elect", "isr", "move", "drop"))
            self.zxid += 1
            p["zxid"], p["version"], writes = self.zxid, p["version"] + 1, writes + 1
            p["written"] = self._now()
            if kind == "isr":
                p["isr"] = rng.sample(p["replicas"], rng.randint(1, 3))
                continue
            p["epoch"], epochs = p["epoch"] + 1, epochs + 1
            if kind == "elect":
                p["leader"] = rng.choice((*p["replicas"], -1))
            elif kind == "drop":  # The controller drops a dead follower: a new epoch, and the same leader.
                p["isr"] = p["isr"][:1]
            else:
                p["replicas"] = rng.sample(range(1, 5), 3)
                p["isr"] = list(p["replicas"])
        found = {
            "leader": int(old["leader"] != p["leader"]),
            "isr": writes - epochs or int(sorted(old["isr"]) != sorted(p["isr"])),
            "replicas": int(old["replicas"] != p["replicas"]),
        }
        return {kind: times for kind, times in found.items() if times}

    def _recreate(self, counted):
        """Deletes a topic and creates it again; some of its partitions have as many writes as before, or more."""
        for cluster, topic in [*self.created]:
            if self.rng.random() < 0.05:
                self.zxid += 1
                self.created[cluster, topic] = self.zxid
                for key in [k for k in self.partitions if k[:2] == (cluster, topic)]:
                    self.partitions[key] = self._partition()
                    if self.rng.random() < 0.5:
                        self._change(self.partitions[key], self.partitions[key])
                    for kind in ("leader", "isr", "replicas"):
                        counted.pop((cluster, "partition", f"{topic}-{key[2]}", kind), None)
                counted[cluster, "topic", topic, "recreated"] = 1

    def _brokers(self, counted, share):
        for (cluster, broker), b in self.brokers.items():
            if self.rng.random() < share:
                was = b["there"]
                b["there"] = self.rng.random() < 0.6
                self.zxid += 1
                b["epoch"] = self.zxid if b["there"] else b["epoch"]
                if kind := {(True, True): "restart", (True, False): "gone", (False, True): "back"}.get(
                    (was, b["there"])
                ):
                    counted[cluster, "broker", str(broker), kind] = 1

        if self.rng.random() < share:
            self.zxid += 1
            cluster, broker = self.rng.choice(CLUSTERS), 10 + self.zxid
            self.brokers[cluster, broker] = {"there": True, "epoch": self.zxid}
            counted[cluster, "broker", str(broker), "new"] = 1

    def _groups(self, counted, share):
        for (cluster, group), g in self.groups.items():
            for name, values in (("coordinator", (1, 2, None)), ("state", ("Stable", "Empty", "Dead"))):
                value = self.rng.choice(values) if self.rng.random() < share else g[name]
                if value != g[name]:
                    counted[cluster, "group", group, name] = 1
                g[name] = value

    def _controllers(self, counted, share):
        """Each election raises the epoch, also one that elects the same broker."""
        for cluster, at in self.controllers.items():
            elections = self.rng.randint(1, 4) if self.rng.random() < share else 0
            if elections:
                at |= {"broker": self.rng.choice((1, 2, 3)), "epoch": at["epoch"] + elections}
                counted[cluster, "cluster", cluster, "controller"] = elections if self.zookeeper else 1

    def _topics(self, counted, share):
        for cluster in CLUSTERS:
            mine = sorted({t for c, t, _ in self.partitions if c == cluster and t.startswith("new-")})
            if self.rng.random() < share / 2:
                topic = f"new-{self.zxid}"
                for p in range(self.rng.randint(1, 2)):
                    self.partitions[cluster, topic, p] = self._partition()
                self.created[cluster, topic] = self.zxid
                counted[cluster, "topic", topic, "created"] = 1
            if mine and self.rng.random() < share / 2:
                for key in [k for k in self.partitions if k[:2] == (cluster, mine[0])]:
                    del self.partitions[key]
                    for kind in ("leader", "isr", "replicas"):
                        counted.pop((cluster, "partition", f"{mine[0]}-{key[2]}", kind), None)
                del self.created[cluster, mine[0]]
                counted.pop((cluster, "topic", mine[0], "recreated"), None)
                counted[cluster, "topic", mine[0], "deleted"] = 1
            elif self.rng.random() < share / 2:
                number = sum(k[:2] == (cluster, "t-1") for k in self.partitions)
                self.partitions[cluster, "t-1", number] = self._partition()
                if (cluster, "topic", "t-1", "recreated") not in counted or not (self.zookeeper or self.ids):
                    counted[cluster, "topic", "t-1", "partitions"] = 1

    def snapshot(self):
        return {
            "partitions": {key: {**p, "isr": list(p["isr"])} for key, p in self.partitions.items()},
            "brokers": {key: dict(b) for key, b in self.brokers.items()},
            "groups": {key: dict(g) for key, g in self.groups.items()},
            "controllers": {c: dict(at) for c, at in self.controllers.items()},
            "created": dict(self.created),
        }

    def tables(self, taken, day, run="r"):
        """Returns the columns that are compared of a snapshot, as the tables of a run. On every fifth day the clock of
        ZooKeeper was three days ahead or behind.
        """
        zk, parts = self.zookeeper, taken["partitions"]
        number = (day - FIRST).days
        wrong = 0 if number % 5 else (3 if number % 2 else -3) * 86_400_000

        def of(schema, rows):
            return pa.Table.from_pylist(rows, schema=pa.schema([*KEY, ("cluster", pa.string()), *schema]))

        key = {"day": day, "run": run}
        sizes = {}
        for cluster, topic, _ in parts:
            sizes[cluster, topic] = sizes.get((cluster, topic), 0) + 1
        return {
            "partitions": of(
                PARTITIONS,
                [
                    {
                        **key, "cluster": c, "topic": t, "partition": n, "leader": p["leader"],
                        "leader_epoch": p["epoch"], "n_views": 3, "replicas": p["replicas"] if zk else None,
                        "seen_replicas": None if zk else p["replicas"],
                        "state_epoch": p["epoch"] if zk else None, "state_version": p["version"] if zk else None,
                        "state_mzxid": p["zxid"] if zk else None, "state_isr": p["isr"] if zk else None,
                        "seen_isr": None if zk else p["isr"],
                        "state_mtime_ms": p["written"] + wrong if zk else None,
                    }
                    for (c, t, n), p in parts.items()
                ],
            ),
            "topics": of(
                TOPICS,
                [
                    {
                        **key, "cluster": c, "topic": t, "partitions": n,
                        "czxid": taken["created"][c, t] if zk else None,
                        "topic_id": str(taken["created"][c, t]) if self.ids else None,
                    }
                    for (c, t), n in sizes.items()
                ],
            ),
            "brokers": of(
                BROKERS,
                [
                    {
                        **key, "cluster": c, "broker": b, "rack": f"r{b % 2}",
                        "registered": each["there"] if zk else None,
                        "host": "h" if each["there"] else None,
                        "broker_epoch": each["epoch"] if zk and each["there"] else None,
                    }
                    for (c, b), each in taken["brokers"].items()
                ],
            ),
            "groups": of(
                GROUPS, [{**key, "cluster": c, "group": g, **each} for (c, g), each in taken["groups"].items()]
            ),
            "snapshots": of(
                SNAPSHOTS,
                [
                    {
                        **key, "cluster": c, "controller": at["broker"], "controller_epoch": at["epoch"],
                        "mode": "zk" if zk else "kraft",
                    }
                    for c, at in taken["controllers"].items()
                ],
            ),
        }  # fmt: skip


KEY = [("day", pa.date32()), ("run", pa.string())]
_LIST = pa.list_(pa.int64())
PARTITIONS = [
    ("topic", pa.string()), ("partition", pa.int64()), ("leader", pa.int64()), ("leader_epoch", pa.int64()),
    ("n_views", pa.int64()),
    ("replicas", _LIST), ("seen_replicas", _LIST), ("state_epoch", pa.int64()), ("state_version", pa.int64()),
    ("state_mzxid", pa.int64()), ("state_mtime_ms", pa.int64()), ("state_isr", _LIST), ("seen_isr", _LIST),
]  # fmt: skip
TOPICS = [("topic", pa.string()), ("partitions", pa.int64()), ("czxid", pa.int64()), ("topic_id", pa.string())]
SNAPSHOTS = [("controller", pa.int64()), ("controller_epoch", pa.int64()), ("mode", pa.string())]
BROKERS = [
    ("broker", pa.int64()), ("rack", pa.string()), ("registered", pa.bool_()), ("host", pa.string()),
    ("broker_epoch", pa.int64()),
]  # fmt: skip
GROUPS = [("group", pa.string()), ("coordinator", pa.int64()), ("state", pa.string())]


def asked(clusters, before, now, number, recreated=()):
    """Returns the inputs of the statement for two snapshots of successive days."""
    days = [FIRST + timedelta(days=n) for n in (number, number + 1)]
    old, new = clusters.tables(before, days[0]), clusters.tables(now, days[1])
    pairs = {
        "cluster": [*CLUSTERS],
        "day": [days[0]] * 3,
        "run": ["r"] * 3,
        "seconds": pa.array([86_400] * 3, pa.int64()),
    }
    names = zip(*recreated, strict=True) if recreated else ((), ())
    again = pa.table([pa.array(each, pa.string()) for each in names], names=["cluster", "topic"])
    return {**new, **{f"old_{n}": t for n, t in old.items()}, "pairs": pa.table(pairs), "recreated": again}


def observed(tables, cluster, number):
    """Returns what a snapshot shows of the partitions of a cluster, as they are stored."""
    states, topics = (
        tables[name].filter(pc.equal(tables[name]["cluster"], cluster)).sort_by([(by, "ascending") for by in keys])
        for name, keys in (("partitions", ("topic", "partition")), ("topics", ("topic",)))
    )
    return Observed(ms_of(number), states.select([*STATES]), topics.select([*IDENTITY]))


def partitions_changed(clusters, before, now, number):
    """Returns (rows of `partition_changes` of the next night, (cluster, topic) of topics that were created again)."""
    days = [FIRST + timedelta(days=n) for n in (number, number + 1)]
    old, new = (clusters.tables(taken, day) for taken, day in zip((before, now), days, strict=True))
    found = {c: changes(c, observed(old, c, number), observed(new, c, number + 1)) for c in CLUSTERS}
    again = [(c, topic) for c, each in found.items() for topic in sorted(each.recreated)]
    return on_day(pa.concat_tables([each.rows for each in found.values()]), days[1]), again


def on_day(rows, day):
    """Returns the rows as a reader of the table sees them."""
    for at, (name, kind) in enumerate(KEY):
        rows = rows.add_column(at, name, pa.array([day if name == "day" else "r"] * rows.num_rows, kind))
    return rows
