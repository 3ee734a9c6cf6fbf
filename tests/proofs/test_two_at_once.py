"""Proof: of two operators at once exactly one wins, and the other is told who."""

# ruff: noqa: PT017 - whether it is refused, and what it then says, depends on the case
from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kfix.core.errors import HeldError, KfixError
from kfix.heal.execution.context import RunResult
from kfix.heal.execution.locks import cluster_lock
from kfix.heal.journal.runs import RunStore
from kfix.heal.memory.faults import MemoryLock
from kfix.heal.safety.outcomes import Outcome
from tests.proofs.later import once
from tests.proofs.scenarios import SCENARIOS
from tests.proofs.stage import Stage, too_often
from tests.waiting import seconds

TRIES = 100

_OPERATOR = """
import sys
from contextlib import ExitStack
from pathlib import Path
from kfix.core.errors import HeldError
from kfix.heal.execution.locks import cluster_lock

name, folder = sys.argv[1], Path(sys.argv[2])
print("ready", flush=True)
for line in sys.stdin:
    with ExitStack() as held:
        try:
            holder = {"user": name, "host": "here", "pid": "1", "plan": "p", "run": f"run of {name}", "since": "now"}
            held.enter_context(cluster_lock(folder, "prod eu/1", holder))
            print("won", flush=True)
        except HeldError as error:
            print("held", str(error).replace(chr(10), " "), flush=True)
        sys.stdin.readline()
"""


class Operator:
    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        args = [sys.executable, "-c", _OPERATOR, name, str(folder)]
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.said() == "ready"

    def told(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def operators(folder: Path) -> Iterator[tuple[Operator, Operator]]:
    both = Operator("anna", folder), Operator("boris", folder)
    try:
        yield both
    finally:
        for one in both:
            one.process.kill()
            one.process.communicate()


def test_two_processes_want_the_same_cluster(tmp_path: Path) -> None:
    with operators(tmp_path / "locks") as both:
        for _ in range(TRIES):
            for one in both:
                one.told("go")
            answers = {one.name: one.said() for one in both}
            assert sorted(a.split()[0] for a in answers.values()) == ["held", "won"]
            winner = next(name for name, answer in answers.items() if answer == "won")
            loser = next(answer for answer in answers.values() if answer != "won")
            assert winner in loser
            assert f"run of {winner}" in loser
            for one in both:
                one.told("let go")


def test_the_lock_goes_with_a_process_that_is_killed(tmp_path: Path) -> None:
    with operators(tmp_path) as (anna, boris):
        anna.told("go")
        assert anna.said() == "won"
        boris.told("go")
        assert boris.said().startswith("held")
        boris.told("let go")
        anna.process.kill()
        anna.process.wait()
        boris.told("go")
        assert boris.said() == "won"


def test_two_clusters_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with cluster_lock(tmp_path, "a/b", {"user": "anna"}), cluster_lock(tmp_path, "a%2Fb", {"user": "boris"}):
        pass
    with cluster_lock(tmp_path, "a", {"user": "anna"}), pytest.raises(HeldError, match="anna"):  # noqa: SIM117
        with cluster_lock(tmp_path, "a", {"user": "boris"}):
            pass


def at_once(*stages: Stage) -> list[RunResult | KfixError]:
    """Each runs its own plan in a thread of its own; who is in waits until the others have had their answer."""
    barrier, answered = threading.Barrier(len(stages)), threading.Event()
    found: list[RunResult | KfixError] = []

    def run(stage: Stage) -> None:
        plan = stage.plan()
        once(stage, lambda: answered.wait(seconds(20)), type="lock.taken")
        barrier.wait()
        try:
            found.append(stage.run(plan))
        except KfixError as error:
            found.append(error)
        finally:
            answered.set()

    threads = [threading.Thread(target=run, args=(stage,)) for stage in stages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds(60))
    return found


@pytest.mark.parametrize("home_of_second", ["state", "other"], ids=["one host: the file", "two hosts: the cluster's"])
def test_two_runs_at_once_and_exactly_one_acts(tmp_path: Path, home_of_second: str) -> None:
    for number in range(TRIES):
        one = Stage(SCENARIOS["durable-defaults"], tmp_path / "state" / f"{number}")
        two = Stage(SCENARIOS["durable-defaults"], tmp_path / home_of_second / f"{number}")
        two.cluster, two.person = one.cluster, one.person
        two.store = RunStore(tmp_path / home_of_second / f"{number}")
        plan = one.plan()
        found = at_once(one, two)
        held = [f for f in found if isinstance(f, HeldError)]
        healed = [f for f in found if isinstance(f, RunResult)]
        assert (len(held), len(healed)) == (1, 1), found
        assert held[0].exit_code == 9
        assert "durable-defaults" in str(held[0])
        assert healed[0].outcome is Outcome.PROVED
        assert not too_often(one.calls, plan)
        assert one.cluster.lock.holder is None


def test_the_lock_in_memory_is_taken_once() -> None:
    for _ in range(TRIES):
        lock = MemoryLock("c")
        barrier = threading.Barrier(2)
        won: list[str] = []

        def take(name: str, lock: MemoryLock = lock, barrier: threading.Barrier = barrier, won=won) -> None:
            barrier.wait()
            try:
                lock.take({"user": name})
                won.append(name)
            except HeldError as error:
                assert "anna" in str(error) or "boris" in str(error)

        threads = [threading.Thread(target=take, args=(name,)) for name in ("anna", "boris")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
