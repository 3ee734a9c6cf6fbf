"""Real brokers' disks: what kfix reads there is what the brokers say of themselves, and what Kafka's own tool reads."""

import hashlib
import re
import subprocess
import threading

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kfix.core.derive.coordinator import OFFSETS_TOPIC, partition_of_group
from kfix.core.disk.batches import batches, good_crc
from kfix.core.disk.opening import DiskFile
from kfix.core.kafka import group_messages
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab.definition.recipes import recipe_of
from kfix.lab.nodes.classpath import class_path
from tests.waiting import seconds, wait_until


def disk_of(lab, broker):
    return lab.nodes.disk_of(lab.state, broker)


def disks(lab):
    return [disk_of(lab, broker) for broker in lab.broker_ids]


def picture(folder):
    """Every file of a disk: bytes, times, owner."""
    return {
        path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.is_file() and _sha(path))
        for path in sorted([folder, *folder.rglob("*")])
    }


def _sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def losses(said):
    [partition] = said.json["partitions"]
    return {(x["leader"], x["replica"]): x for x in partition["losses"]}


def in_service(partition):
    """Returns its replicas without those of a topic of the same name that a test before has deleted a moment ago."""
    return [replica for replica in partition["replicas"] if replica["state"] == ""]


def test_for_a_dead_isr_the_disks_show_what_an_unclean_election_loses_and_afterwards_what_it_lost(kfix, lab, cluster):
    broken = lab.break_("isr-gone")
    [where], [dead], told = broken.partitions, broken.dead, broken.details
    where, name = TopicPartition(*where), f"{where[0]}-{where[1]}"
    chosen = ("inspect", "log-dir", *disks(lab), "--partition", name, "--json")
    before = picture(disk_of(lab, dead))
    said = kfix.run(*chosen)
    assert said.code == 20, said.out + said.err
    [partition] = said.json["partitions"]
    ends = {r["broker"]: r["log_end"] for r in in_service(partition)}
    assert ends == {broker: told[f"log_end_{broker}"] for broker in lab.broker_ids}
    assert (partition["verdict"], partition["winner"]) == ("behind", dead)
    expected = losses(said)[told["would_win"], dead]
    assert (expected["records"], expected["first"]) == (told["lost_if_it_wins"], ends[told["would_win"]])
    for broker in set(ends) - {dead}:
        assert ends[broker] == cluster.end(broker, where).offset

    cluster.access.elect([where], unclean=True)
    wait_until(lambda: {leader for leader, _ in cluster.views(where)} == {told["would_win"]}, "it leads")
    [(leader, epoch)] = cluster.views(where)
    after = kfix.run(*chosen)
    assert after.code == 21, after.out + after.err
    [partition] = after.json["partitions"]
    assert (partition["verdict"], partition["winner"]) == ("divergent", leader)
    lost = losses(after)[leader, dead]
    assert (lost["records"], lost["from"], lost["end"]) == (told["lost_if_it_wins"], ends[leader], ends[dead])
    [winning] = [r for r in in_service(partition) if r["broker"] == leader]
    assert winning["epochs"][-1] == [epoch, ends[leader]]
    text = kfix.run("inspect", "log-dir", *disks(lab), "--partition", name)
    assert f"DIVERGENT {name}" in text.out
    assert f"broker {dead} loses {told['lost_if_it_wins']} records" in text.out
    assert picture(disk_of(lab, dead)) == before

    lab.restart(dead)
    wait_until(lambda: cluster.end(dead, where).offset == cluster.end(leader, where).offset, "the loser truncated", 30)
    healed = kfix.run(*chosen)
    assert [r["log_end"] for r in in_service(healed.json["partitions"][0])] == [ends[leader]] * 3
    assert healed.json["counts"]["divergent"] == 0


def test_the_groups_on_a_disk_are_those_that_the_coordinators_list(kfix, lab, cluster):
    lab.break_("healthy")
    listed = set()
    for broker in lab.broker_ids:
        _, groups = cluster.ask(broker, group_messages.list_groups())
        listed |= {name for name, _ in groups}
    partitions = len(cluster.access.assignment(OFFSETS_TOPIC))
    assert listed
    for number in range(partitions):
        here = {g for g in listed if partition_of_group(g, partitions) == number}
        said = kfix.run("inspect", "log-dir", disk_of(lab, 2), "--groups", f"{OFFSETS_TOPIC}-{number}", "--names")
        assert said.code == 0, said.out + said.err
        assert set(said.out.splitlines()) == here
    everything = kfix.run("inspect", "log-dir", *disks(lab), "--groups", "all", "--json").json
    assert {g["name"] for each in everything["groups"] for g in each["groups"]} == listed
    for each in everything["groups"]:
        for group in each["groups"]:
            [leader] = {view[0] for view in cluster.views(TopicPartition(OFFSETS_TOPIC, each["partition"]))}
            assert cluster.fetched(group["name"], leader) == (0, group["offsets"])


def test_a_healthy_cluster_has_no_divergence_and_nothing_odd_while_it_runs(kfix, lab):
    lab.break_("healthy")
    said = kfix.run("inspect", "log-dir", disk_of(lab, 1).parent, "--all-segments", "--check-crc", "--json")
    assert said.json["counts"]["divergent"] == 0
    assert [o for o in said.json["oddities"] if o["grade"] != "note"] == []
    assert [d["broker"] for d in said.json["directories"]] == list(lab.broker_ids)
    assert [d["clean"] for d in said.json["directories"]] == [False, False, False]
    lab.shutdown(3)
    well = kfix.run("inspect", "log-dir", disk_of(lab, 3), "--json").json
    assert [d["clean"] for d in well["directories"]] == [True]
    assert all((r["high_watermark"] or 0) <= r["log_end"] for p in well["partitions"] for r in p["replicas"])


def test_disks_of_brokers_under_load_are_read_again_and_again(kfix, lab):
    """Segments roll, and the topic is deleted while it is read. Never a traceback, never damage that is none."""
    lab.break_("healthy")
    admin = AdminClient({"bootstrap.servers": lab.bootstrap_servers})
    settings = {"segment.bytes": "200000", "file.delete.delay.ms": "200"}
    for future in admin.create_topics([NewTopic("busy", 3, 3, config=settings)]).values():
        future.result()
    ends = threading.Event()
    load = threading.Thread(target=write, args=(lab.bootstrap_servers, ends))
    load.start()
    try:
        said = [everything(kfix, lab) for _ in range(5)]
    finally:
        ends.set()
        load.join()
        for future in admin.delete_topics(["busy"]).values():
            future.result()
    said += [everything(kfix, lab) for _ in range(4)]
    for each in said:
        assert [o for o in each.json["oddities"] if o["grade"] != "note"] == []
        assert each.json["counts"]["divergent"] == 0
    assert max(r["segments"] for p in said[4].json["partitions"] for r in p["replicas"] if p["topic"] == "busy") > 1


def everything(kfix, lab):
    return kfix.run("inspect", "log-dir", disk_of(lab, 1).parent, "--all-segments", "--check-crc", "--json")


def write(bootstrap_servers, ends):
    producer = Producer({"bootstrap.servers": bootstrap_servers, "acks": "1", "linger.ms": 5, "log_level": 0})
    while not ends.is_set():
        for number in range(200):
            producer.produce("busy", bytes(300), partition=number % 3)
        producer.flush(10)


_LINE = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .*producerId: (-?\d+) .*partitionLeaderEpoch: (\d+) "
    r"isTransactional: (\w+) isControl: (\w+) position: (\d+) CreateTime: (-?\d+) size: (\d+) magic: (\d) "
    r"compresscodec: (\w+) crc: (\d+) isvalid: (\w+)"
)


def test_every_batch_is_read_as_kafkas_own_tool_reads_it(lab):
    lab.break_("transactions-rf1")  # control batches too
    segments = [p for p in sorted(disk_of(lab, 1).glob("*/*.log")) if p.stat().st_size]
    theirs = dumped(lab, segments)
    ours = {}
    for path in segments:
        with DiskFile(path) as file:
            ours[str(path)] = [
                (
                    *(b.base, b.last, b.records, b.producer, b.epoch),
                    *(str(b.transactional).lower(), str(b.control).lower()),
                    *(b.at, b.last_ms, b.size, b.magic, b.codec.upper(), b.crc),
                    str(good_crc(file, b)).lower(),
                )
                for b in batches(file, lambda at, what: None)
            ]
    assert sum(map(len, ours.values())) > 50
    assert any(b[6] == "true" for found in ours.values() for b in found), "a control batch is among them"
    assert ours == theirs


def dumped(lab, segments):
    """{file: batches} as `kafka-dump-log` prints them."""
    jars = class_path(recipe_of(lab.state.spec.kafka), None, lambda _: None)
    command = ["java", "-Xmx256m", "-cp", jars, "kafka.tools.DumpLogSegments", "--files", ",".join(map(str, segments))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds(120))
    found, here = {}, ""
    for line in done.stdout.splitlines():
        if line.startswith("Dumping "):
            here = line.removeprefix("Dumping ").strip()
            found[here] = []
        elif match := _LINE.search(line):
            found[here].append(tuple(int(g) if re.fullmatch(r"-?\d+", g) else g for g in match.groups()))
    return found
