"""The store of a fleet: one file of one table is damaged, and every command that reads the store is asked about it.

What a command answers is what it answered before, or a line that names the file; never a number of what was not read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from kfix.fleet.engines.embedded import EmbeddedEngine
from tests.proofs.fuzz.bending import bent_bytes
from tests.proofs.fuzz.command import CODES, RefusedByCommandError, ran
from tests.proofs.fuzz.counting import Case
from tests.unit.fleet.audit_runs import audited, cluster

DAYS: Final = 3
READING: Final = (
    ("audit", "show"),
    ("audit", "show", "--json"),
    ("audit", "history"),
    ("audit", "history", "--json"),
    ("audit", "query", "SELECT cluster, count(*) FROM findings GROUP BY cluster ORDER BY cluster"),
    ("audit", "query", "SELECT cluster, count(*) FROM partitions GROUP BY cluster ORDER BY cluster"),
    ("fleet", "whatif"),
    ("fleet", "runs"),
)
WRITING: Final = (("fleet", "compact"), ("fleet", "prune", "--keep", "1"))
#: How a file is damaged: {name: function of its bytes}; None: the file is gone.
DAMAGES: Final = ("cut", "gone", "byte", "bent")


def made(root: Path) -> None:
    """Writes a store of three audits; a broker of one cluster dies on the last day."""
    engine = EmbeddedEngine(1)
    for number in range(DAYS):
        dead = int(number == DAYS - 1)
        found = [cluster("a", number, partitions=30, dead=dead, deaths=dead), cluster("b", number, partitions=30)]
        audited(root, found, engine, number=number)


def damage(path: Path, how: str, random: Random) -> None:
    raw = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(raw[: random.randrange(len(raw))])
    elif how == "byte":
        at = random.randrange(len(raw))
        path.write_bytes(raw[:at] + bytes([raw[at] ^ random.randint(1, 255)]) + raw[at + 1 :])
    else:
        path.write_bytes(bent_bytes(raw, random))


def asked(words: tuple[str, ...], root: Path) -> tuple[int, str, str]:
    return ran(*words, "--store", str(root))


def judge(words: tuple[str, ...], found: tuple[int, str, str], healthy: tuple[int, str, str], file: Path) -> None:
    """Raises AssertionError if an answer that differs does not name the damaged file, or calls what is unread 0."""
    code, out, err = found
    assert code in CODES, (words, code, err[:300])
    if found == healthy:
        return
    if code in {2, 3}:
        first = err.strip().splitlines()[0]
        assert first.startswith("kfix: "), first[:300]
        raise RefusedByCommandError(first)
    assert file.name in out + err, (words, file, out[:300], err[:300])
    if words == ("audit", "history") and "episodes" in file.parts:
        assert code == 22, (words, code)
        assert "findings open" not in out.splitlines()[0], out[:200]


def tables(root: Path) -> dict[str, list[Path]]:
    """Returns the Parquet files of each table, relative to the store, oldest first; and the logs of Delta as `log`."""
    found: dict[str, list[Path]] = {}
    for path in sorted(p.relative_to(root) for p in (root / "tables").rglob("*") if p.is_file()):
        name = path.parts[1] if path.suffix == ".parquet" else "log"
        found.setdefault(name, []).append(path)
    return found


@contextmanager
def stores() -> Iterator[Case]:
    # A long line is not wrapped, so that the name of a file stays whole.
    os.environ["COLUMNS"] = "4000"
    with TemporaryDirectory() as folder:
        sound, root = Path(folder, "sound"), Path(folder, "store")
        made(sound)
        there = tables(sound)
        shutil.copytree(sound, root)
        healthy = {words: asked(words, root) for words in READING}

        def case(random: Random) -> None:
            shutil.rmtree(root)
            shutil.copytree(sound, root)
            table = random.choice(sorted(there))
            file, how = random.choice(there[table]), random.choice(DAMAGES)
            damage(root / file, how, random)
            words = random.choice(READING if random.random() < 0.8 else WRITING)
            found = asked(words, root)
            if words in healthy and table != "log" and how in {"cut", "gone"}:
                judge(words, found, healthy[words], file)
            assert found[0] in CODES, (words, file, found[0], found[2][:300])

        yield case
