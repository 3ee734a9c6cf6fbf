"""Log directories of arbitrary and of damaged bytes: told, never a crash, never without end, never a change."""

from __future__ import annotations

import io
import json
import os
import resource
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from kfix.core.errors import KfixError
from kfix.inspect.inspect import Chosen, Depth, inspect_log_dirs
from kfix.inspect.inspection import Inspection
from kfix.inspect.json_logdir import logdirs_json
from kfix.inspect.logdir import names_lines, print_inspection
from tests.proofs.hostile import CASES, in_time, mutated_bytes
from tests.unit.core.disk.building import (
    Disk,
    batch,
    group_key,
    group_value,
    offset_key,
    offset_value,
    old_batch,
    run,
)

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
#: What one example may take beyond what was there, in kB: buffers to unpack are bounded by 64 MB.
_MOST_MEMORY = 600_000


def _two_disks(root: Path, random: Random) -> list[Path]:
    disks = [Disk(root / f"b{n}", n) for n in (1, 2)]
    codec = random.choice(_CODECS)
    pairs = [(offset_key("g", "orders", n), offset_value(n)) for n in range(4)]
    groups = batch(0, pairs=[*pairs, (group_key("g"), group_value(1))], codec=codec)
    for disk, end in zip(disks, (40, 60), strict=True):
        first = (0, run(0, 30, 0))
        second = (30, run(30, end, end))
        disk.partition("orders-0", first, second, epochs={0: 0, end: 30}, hw=30)
        disk.partition("__consumer_offsets-3", groups, epochs={0: 0}, hw=5)
        old = old_batch(random.choice((0, 1)), 0, 3, codec=random.choice(("none", "gzip")))
        disk.partition("old-0", old, epochs={})
        (disk.path / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: MQCO0r6DSOqpHbT1OYUzFQ\n")
    return sorted(p for p in root.rglob("*") if p.is_file())


def _spoil(path: Path, random: Random) -> None:
    raw = path.read_bytes()
    match random.randrange(6):
        case 0:
            path.write_bytes(random.randbytes(random.choice((0, 1, 12, 61, 500))))
        case 1:
            path.write_bytes(raw[: random.randrange(len(raw) + 1)])
        case 2:
            path.unlink()
        case 3:
            path.rename(path.with_name(f"{random.randrange(10**20):020d}.log"))
        case 4:
            with path.open("r+b") as file:
                file.truncate(random.choice((len(raw) + 100, 1 << 40)))
        case _:
            path.write_bytes(_flipped(raw, random))


def _flipped(raw: bytes, random: Random) -> bytes:
    if not raw or random.random() < 0.3:
        return mutated_bytes(raw, random)
    data = bytearray(raw)
    for _ in range(random.choice((1, 1, 2, 8))):
        data[random.randrange(len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(data)


def _picture(root: Path) -> dict[Path, tuple[int, int, int]]:
    return {p: (s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p in root.rglob("*") for s in [p.lstat()]}


def _told(found: Inspection) -> None:
    print_inspection(found, Console(file=io.StringIO(), markup=False))
    assert json.loads(logdirs_json(found))["exit_code"] in {0, 20, 21, 22}
    names_lines(found.groups)


@settings(max_examples=max(20, CASES // 4), deadline=None, suppress_health_check=_CHECKS)
@given(st.integers(0, 2**63))
def test_a_damaged_disk_is_reported_and_never_changed(seed: int) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        files = _two_disks(root, random)
        for path in random.sample(files, random.choice((1, 1, 2, 4))):
            _spoil(path, random)
        before, memory = _picture(root), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        depth = Depth(every=random.random() < 0.5, crc=random.random() < 0.5)
        with in_time():
            _inspected(root, Chosen(all_groups=True, topics=("orders", "old")), depth)
            _inspected(root, Chosen(), depth)
        assert _picture(root) == before
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < _MOST_MEMORY


def _inspected(root: Path, chosen: Chosen, depth: Depth) -> None:
    """Told, or refused by one clear line."""
    with suppress(KfixError):
        _told(inspect_log_dirs([root], chosen, depth))


_NAMES = ("meta.properties", "replication-offset-checkpoint", "log-start-offset-checkpoint")
_INSIDE = ("leader-epoch-checkpoint", "partition.metadata", f"{0:020d}.log", f"{2**63 - 1:020d}.log", "9" * 20 + ".log")


file_contents = st.dictionaries(st.sampled_from([*_NAMES, *_INSIDE]), st.binary(max_size=300))


@settings(max_examples=max(20, CASES // 4), deadline=None, suppress_health_check=_CHECKS)
@given(file_contents, st.binary(min_size=1, max_size=20))
def test_arbitrary_bytes_in_every_file_and_in_names(files: dict[str, bytes], name: bytes) -> None:
    with TemporaryDirectory() as folder, in_time():
        root = Path(os.fsdecode(os.fsencode(folder) + b"/" + name.translate(None, b"/\0") + b"-dir"))
        partition = root / "__consumer_offsets-3"
        partition.mkdir(parents=True)
        for each, raw in files.items():
            (partition if each in _INSIDE else root).joinpath(each).write_bytes(raw)
        _inspected(root, Chosen(), Depth(every=True, crc=True))
        _inspected(root, Chosen(all_groups=True), Depth())
