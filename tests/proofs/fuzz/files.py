"""Kinds that are files: each written to the disk, read by a command, judged and printed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from kfix.core.inventory.load import load_inventory
from kfix.core.saved.files import encode
from kfix.heal.execution.run import abort
from kfix.heal.journal.runs import RunStore
from kfix.heal.memory.incidents import ALL as INCIDENTS
from kfix.heal.policyfile import load_policy
from kfix.heal.rollback import make_rollback
from kfix.heal.runbook.load import load_file
from tests.proofs.fuzz.bending import as_text, bent_bytes, bent_data, bent_json, packed
from tests.proofs.fuzz.command import kfix
from tests.proofs.fuzz.counting import Case
from tests.proofs.hostile import mutated_text
from tests.proofs.test_hostile import NAMES, SHIPPED, Patience, chained, killed, made, resealed
from tests.unit.core.saved.test_store import whole

# -- snapshots


@contextmanager
def snapshots() -> Iterator[Case]:
    chosen = [
        INCIDENTS[n]().cluster.snapshot()
        for n in ("coordinator-stuck", "coordinator-stuck-isr-dead", "broker-ids-gone", "coordinator-loading")
    ]
    originals = [encode(whole()), encode(whole()), *(json.loads(json.dumps(encode(_small(s)))) for s in chosen)]
    originals = [json.loads(json.dumps(o)) for o in originals]
    with TemporaryDirectory() as folder:
        path, second = Path(folder, "s.json"), Path(folder, "t.json")

        def case(random: Random) -> None:
            original = random.choice(originals)
            raw = bent_json(original, random)
            if random.random() < 0.1:
                raw = packed(raw, random)
            path.write_bytes(raw)
            ways: list[list[str]] = [[], ["--json"], ["--nagios"], ["--group", "g"], ["--prevention"]]
            words = ["diagnose", "--from", str(path), *random.choice(ways)]
            if random.random() < 0.1:
                second.write_text(json.dumps(original))
                words += ["--from", str(second)]
            elif random.random() < 0.1:
                words = random.choice([["snapshot", "show", str(path)], ["report", "incident", "--from", str(path)]])
            kfix(*words)

        yield case


def _small(snapshot: Any) -> Any:
    """Two topics' worth of partitions: more of the same finds no more."""
    from dataclasses import replace

    keep = sorted({tp for v in snapshot.views.values() for tp in v.partitions})[:6]
    keep += [tp for tp in snapshot.zookeeper.assignments if tp.topic == "__consumer_offsets" and tp.partition == 26]
    wanted = set(keep)

    def only(rows: Any) -> Any:
        return {tp: row for tp, row in rows.items() if tp in wanted}

    zookeeper = snapshot.zookeeper
    return replace(
        snapshot,
        views={b: replace(v, partitions=only(v.partitions)) for b, v in snapshot.views.items()},
        zookeeper=replace(zookeeper, assignments=only(zookeeper.assignments), states=only(zookeeper.states)),
    )


# -- plans


@contextmanager
def plans() -> Iterator[Case]:
    originals = [made(name)[3] for name in NAMES]
    with TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")

        def case(random: Random) -> None:
            data = bent_data(random.choice(originals), random)
            text = as_text(data) if random.random() < 0.2 else _sealed(data)
            raw = text.encode("utf-8", "surrogatepass")
            path.write_bytes(bent_bytes(raw, random) if random.random() < 0.1 else raw)
            kfix("runbook", "show", str(path), *random.choice(([], ["--json"])))

        yield case


def _sealed(data: Any) -> str:
    """Under a right hash where that can be computed: marks for what JSON cannot hold are put in first."""
    text = as_text(data)
    with suppress(ValueError, RecursionError):
        return resealed(json.loads(text))
    return text


# -- journals


@contextmanager
def journals() -> Iterator[Case]:
    bases = [killed(name) for name in NAMES[:3]]
    known = [(moment, _lines(moment.home)) for _, _, moments in bases for moment in moments]
    with TemporaryDirectory() as folder:
        os.environ["KFIX_STATE_HOME"] = folder
        look = Path(folder, "s.json")
        look.write_text(json.dumps(encode(whole())))
        run = RunStore(Path(folder, "kfix")).runs_dir / "20261121T100000Z-abcdef01"
        run.mkdir(parents=True)

        def case(random: Random) -> None:
            if random.random() < 0.05:
                _gone_on_with(*random.choice(bases), random)
                return
            moment, lines = random.choice(known)
            (run / "plan.json").unlink(missing_ok=True)
            if random.random() < 0.1:  # to read the plan takes longer than all the rest
                shutil.copy(next(moment.home.glob("runs/*/plan.json")), run)
            path = run / "journal.ndjson"
            path.write_bytes(_journal(lines[: random.choice((4, 12, 30, len(lines)))], random))
            if random.random() < 0.5:
                given = random.choice((["--from", str(look)], []))
                kfix("report", "incident", *given, "--journal", str(path), *random.choice(([], ["--json"])))
            else:
                kfix("runbook", "history", *random.choice(([], ["--json"], [run.name], [run.name, "--json"])))

        yield case


def _lines(home: Path) -> list[Any]:
    text = next(home.glob("runs/*/journal.ndjson")).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _gone_on_with(base: Any, _plan: Any, moments: list[Any], random: Random) -> None:
    """What reads a journal in order to change a cluster: resume, abort, rollback, and to run the plan again."""
    stage = base.at(random.choice(moments))
    run = stage.last_run
    try:
        run.journal_path.write_bytes(_journal(_lines(stage.store.home), random))
        patient = {"clock": Patience(stage)}
        acts = [
            lambda: make_rollback(run, stage.cluster, stage.created(), everything=True),
            lambda: stage.resume(**patient),
            lambda: abort(run, stage.scene_of_run(**patient), "a test"),
            lambda: stage.run(run.plan(), **patient),
        ]
        random.choice(acts)()
    finally:
        shutil.rmtree(stage.store.home, ignore_errors=True)


def _journal(lines: list[Any], random: Random) -> bytes:
    if random.random() < 0.1:
        return bent_bytes(chained(lines), random)
    data = bent_data(lines, random)
    text = as_text(data)
    with suppress(ValueError, RecursionError):
        data = json.loads(text)
    if not isinstance(data, list):
        return text.encode("utf-8", "surrogatepass") + b"\n"
    with suppress(ValueError):
        return chained(data)
    return text.encode("utf-8", "surrogatepass") + b"\n"


# -- YAML: runbooks, policies, inventories


def _yaml(text: str, random: Random) -> bytes:
    if random.random() < 0.1:
        return bent_bytes(text.encode(), random)
    if random.random() < 0.15:
        deep = ["[" * 3000, "a: " + "[" * 100_000 + "]" * 100_000, "{a: " * 400, "- " * 3000]
        deep += ["x: " + "9" * 5000, "&a " * 5, "? " * 2000, "9" * 5000 + ": 1"]
        at = random.randrange(len(text))
        more = random.choice(deep)
        if len(more) > 100_000 and random.random() < 0.9:
            more = more[:3000]
        return (text[:at] + more + text[at:]).encode()
    return mutated_text(text, random).encode("utf-8", "surrogatepass")


@contextmanager
def runbooks() -> Iterator[Case]:
    originals = sorted(SHIPPED.items())
    with TemporaryDirectory() as folder:

        def case(random: Random) -> None:
            name, text = random.choice(originals)
            path = Path(folder, f"{name}.yaml")
            path.write_bytes(_yaml(text, random))
            try:
                if random.random() < 0.2:
                    kfix("runbook", "validate", str(path))
                else:
                    load_file(path)
            finally:
                path.unlink()

        yield case


_POLICY = """\
apiVersion: kfix/v1
kind: Policy
gates:
  reassign.move: typed
  config.set: two_person
limits:
  max_partitions: 5
  max_bytes_moved: 50GB
  max_duration: 2h
  cooldown: 10m
"""
_FLEET = """\
apiVersion: kfix/v1
kind: Fleet
defaults:
  owner: platform
  tags: [prod]
  expected: {rf: 3, min_isr: 2}
  windows:
    - {why: patching, weekdays: [sun], at: "02:00", for: 2h}
clusters:
  orders-eu:
    bootstrap: b1:9092,b2:9092
    zookeeper: zk1:2181/kafka
    criticality: critical
    timeout: 10s
    windows:
      - {start: "2026-11-21T10:00Z", end: "2026-11-21T12:00Z"}
  logs:
    bootstrap: b3:9092
    restart_grace: 5m
mutes:
  - {clusters: "logs*", findings: [KFX606], reason: no racks, until: "2027-01-01", by: me}
"""


@contextmanager
def policies() -> Iterator[Case]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "policy.yaml")

        def case(random: Random) -> None:
            path.write_bytes(_yaml(_POLICY, random))
            load_policy(path)

        yield case


@contextmanager
def inventories() -> Iterator[Case]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "fleet.yaml")

        def case(random: Random) -> None:
            path.write_bytes(_yaml(_FLEET, random))
            if random.random() < 0.3:
                kfix("fleet", "check", str(path), *random.choice(([], ["--json"])))
            else:
                load_inventory(path)

        yield case
