"""Log directories in bytes. Batches are made by kafka-python, so that no line of the reader is its own witness."""

import struct
import zlib
from pathlib import Path

import cramjam
import google_crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from kfix.core.disk.folder import Depth
from kfix.core.disk.logdir import read_log_dir

CLUSTER = "PxjXw2V1QZyKBlYh0sVt6w"
NOON = 1_760_000_000_000
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
TRANSACTIONAL, CONTROL = 0x10, 0x20


def batch(base, count=1, epoch=0, at=NOON, pairs=None, codec="none", kind=0, producer=-1):
    """A record batch of magic 2; `pairs` are keys and values, else `count` records of one word."""
    pairs = pairs or [(None, b"hello")] * count
    builder = DefaultRecordBatchBuilder(2, 0, False, producer, 0, 0, 1 << 24)
    for number, (key, value) in enumerate(pairs):
        builder.append(number, at + number, key, value, [])
    raw = bytearray(builder.build())
    return resealed(raw[:61] + packed(codec, bytes(raw[61:])), base=base, epoch=epoch, kind=kind | CODECS[codec])


def resealed(raw, base, epoch, kind):
    raw = bytearray(raw)
    struct.pack_into(">qii", raw, 0, base, len(raw) - 12, epoch)
    struct.pack_into(">h", raw, 21, kind)
    struct.pack_into(">I", raw, 17, google_crc32c.value(bytes(raw[21:])))
    return bytes(raw)


def packed(codec, raw):
    if codec == "gzip":
        packer = zlib.compressobj(wbits=31)
        return packer.compress(raw) + packer.flush()
    if codec == "snappy":  # framed as the Java client does
        size = max(40, len(raw) // 8)
        blocks = [bytes(cramjam.snappy.compress_raw(raw[i : i + size])) for i in range(0, len(raw), size)]
        framed = b"".join(struct.pack(">i", len(block)) + block for block in blocks)
        return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + framed
    return raw if codec == "none" else bytes(getattr(cramjam, codec).compress(raw))


def old_batch(magic, base, count=1, at=NOON, codec="none"):
    """Entries of magic 0 or 1, as brokers before 0.11 wrote them."""
    builder = LegacyRecordBatchBuilder(magic, CODECS[codec], 1 << 20)
    for number in range(count):
        builder.append(number, at, None, b"hello")
    raw = bytearray(builder.build())
    here = 0
    while here < len(raw):
        number, length = struct.unpack_from(">qi", raw, here)
        struct.pack_into(">q", raw, here, base + (count - 1 if codec != "none" else number))
        here += 12 + length
    return bytes(raw)


def log(*batches):
    return b"".join(batches)


def run(first, end, epoch, at=NOON, size=10):
    """Batches of `size` records from one offset to before another."""
    return b"".join(batch(o, min(size, end - o), epoch, at + o) for o in range(first, end, size))


class Disk:
    """One log directory."""

    def __init__(self, path, broker=1, cluster=CLUSTER, version=0):
        self.path = Path(path)
        self.path.mkdir(parents=True)
        key = "broker.id" if version == 0 else "node.id"
        if broker is not None:
            (self.path / "meta.properties").write_text(
                f"#\n#Fri Oct 10 12:00:00 UTC 2025\ncluster.id={cluster}\nversion={version}\n{key}={broker}\n"
            )
        self.marks = {"replication-offset-checkpoint": {}, "recovery-point-offset-checkpoint": {}}
        self._write_marks()

    def mark(self, name, partition, offset):
        self.marks.setdefault(name, {})[partition] = offset
        self._write_marks()

    def _write_marks(self):
        for name, entries in self.marks.items():
            lines = [f"{p.rpartition('-')[0]} {p.rpartition('-')[2]} {o}" for p, o in entries.items()]
            (self.path / name).write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")

    def partition(self, name, *segments, epochs=None, hw=None, flushed=0):
        """`segments` are (base, bytes), or bytes for one that begins at 0; `epochs` are {epoch: start}."""
        folder = self.path / name
        folder.mkdir()
        for segment in segments:
            base, raw = segment if isinstance(segment, tuple) else (0, segment)
            (folder / f"{base:020d}.log").write_bytes(raw)
        if epochs is not None:
            lines = [f"{e} {s}" for e, s in epochs.items()]
            (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
        if hw is not None:
            self.mark("replication-offset-checkpoint", name, hw)
        if flushed is not None:
            self.mark("recovery-point-offset-checkpoint", name, flushed)
        return folder


def read(disk, **depth):
    return read_log_dir(disk.path, lambda _: True, Depth(**depth))


def only(disk, **depth):
    """Its only replica, and what is odd."""
    found = read(disk, **depth)
    [replica] = found.replicas
    return replica, found.oddities


def offset_key(group, topic, partition, version=1):
    return struct.pack(">h", version) + _text(group) + _text(topic) + struct.pack(">i", partition)


def offset_value(offset, at=NOON, version=3):
    body = struct.pack(">hq", version, offset) + (struct.pack(">i", 0) if version >= 3 else b"") + _text("")
    return body + struct.pack(">q", at) + (struct.pack(">q", at) if version == 1 else b"")


def group_key(group):
    return struct.pack(">h", 2) + _text(group)


def group_value(members, version=3):
    since = struct.pack(">q", NOON) if version >= 2 else b""
    return (
        struct.pack(">h", version)
        + _text("consumer")
        + struct.pack(">i", 7)
        + _text("range")
        + _text("m-0")
        + (since + struct.pack(">i", members) + b"...")
    )


def _text(text):
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw
