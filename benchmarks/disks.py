"""`kfix inspect log-dir` against its floor: reading the same files once, sequentially.

python -m benchmarks.disks [--megabytes 512] [--runs 5]

Whole processes in turn, with the files in the page cache, so that the disk affects neither. Not part of `make test`.
"""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
from pathlib import Path

import google_crc32c

from benchmarks.pairs import pairs

KFIX = str(Path(sys.executable).with_name("kfix"))
READ = "import sys\nfor n in sys.argv[1:]:\n with open(n, 'rb', 0) as f:\n  while f.read(1 << 20): pass"


def main() -> None:
    given = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    given.add_argument("--megabytes", type=int, default=512)
    given.add_argument("--runs", type=int, default=5)
    asked = given.parse_args()
    print("| what | A, s | B, s | A / B wall (range) | A / B CPU | batches |")
    print("|---|---|---|---|---|---|")
    for size, segments in ((16_384, 1), (1_024, 1), (16_384, 16)):
        with tempfile.TemporaryDirectory(prefix="kfix-disks-") as folder:
            measured(Path(folder), size, segments, asked.megabytes << 20, asked.runs)


def measured(root: Path, size: int, segments: int, total: int, runs: int) -> None:
    """Measures segments of `total` bytes with batches of `size` bytes."""
    batches = total // size
    files = [str(f) for f in fill(root / "broker-1", size, batches, segments)]
    floor = [sys.executable, "-c", READ, *files]
    depths: tuple[tuple[str, ...], ...] = ((), ("--check-crc",)) if segments == 1 else ((), ("--all-segments",))
    for depth in depths:
        found = pairs([KFIX, "inspect", "log-dir", str(root), *depth], floor, runs)
        name = f"{total >> 20} MB in {segments} segments, batches of {size} bytes{''.join(f', `{d}`' for d in depth)}"
        print(found.row(name, f"{batches}"))


def fill(folder: Path, size: int, batches: int, segments: int) -> list[Path]:
    """Writes one partition whose batches have one record each and a valid length, epoch and CRC."""
    partition = folder / "orders-0"
    partition.mkdir(parents=True)
    (folder / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=bench\n")
    (folder / "replication-offset-checkpoint").write_text("0\n0\n")
    (folder / "recovery-point-offset-checkpoint").write_text(f"0\n1\norders 0 {batches}\n")
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n3 0\n")
    body = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + bytes(size - 61)
    fixed = struct.pack(">iibI", size - 12, 3, 2, google_crc32c.value(body)) + body
    files = []
    for first in range(0, batches, batches // segments):
        files.append(partition / f"{first:020d}.log")
        with files[-1].open("wb") as out:
            for offset in range(first, min(batches, first + batches // segments)):
                out.write(offset.to_bytes(8) + fixed)
    return files


if __name__ == "__main__":
    main()
