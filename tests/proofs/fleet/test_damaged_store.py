"""Proof: with one damaged file in the store, a command answers as before, or one line of its output names the file."""

import contextlib
import json
import shutil
from functools import cache
from pathlib import Path
from random import Random

import pytest

from tests.proofs.fuzz.command import RefusedByCommandError
from tests.proofs.fuzz.stores import asked, damage, judge, made, tables

# One worker makes the store that all these tests read.
pytestmark = pytest.mark.xdist_group("damaged-store")
TABLES = (
    "audits", "brokers", "clusters", "episodes", "findings", "groups", "partition_changes", "partition_states",
    "partitions", "runs", "scenarios", "snapshots", "sources", "topics", "transitions",
)  # fmt: skip
HISTORY = ("audit", "history")
READING = (HISTORY, ("audit", "show"), ("fleet", "whatif"), ("fleet", "runs"))


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """A long line is not wrapped, and a bug of kfix is raised."""
    monkeypatch.setenv("COLUMNS", "4000")
    monkeypatch.setenv("KFIX_DEBUG", "1")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("damaged") / "store"
    made(root)
    return root


@cache
def healthy(words: tuple[str, ...], store: Path, place: Path) -> tuple[int, str, str]:
    shutil.copytree(store, place)
    try:
        return asked(words, place)
    finally:
        shutil.rmtree(place)


@pytest.fixture
def copy(store):
    """A copy of the store, each at the same place, which some outputs name."""
    place = store.parent / "copy"
    yield shutil.copytree(store, place)
    shutil.rmtree(place)


def test_every_table_with_a_file_is_damaged(store):
    assert sorted(TABLES) == sorted(tables(store).keys() - {"log"})


@pytest.mark.parametrize("how", ["cut", "gone", "byte"])
@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_file_is_named_wherever_it_changes_an_answer(store, table, how):
    file, place = tables(store)[table][-1], store.parent / "copy"
    questions = [*READING, ("audit", "query", f"SELECT * FROM {table} ORDER BY ALL")]
    before = {words: healthy(words, store, place) for words in questions}
    shutil.copytree(store, place)
    try:
        damage(place / file, how, Random(f"{table}:{how}"))
        named = []
        for words in questions:
            found = asked(words, place)
            with contextlib.suppress(RefusedByCommandError):
                judge(words, found, before[words], file)
            named.append(file.name in found[1] + found[2])
            assert named[-1] or found == before[words], (words, found[0], found[2][:300])
        assert any(named) or how == "byte"
    finally:
        shutil.rmtree(place)


def test_a_history_without_its_episodes_is_unknown_and_no_number(copy):
    damage(copy / tables(copy)["episodes"][0], "cut", Random(1))
    code, out, _ = asked(HISTORY, copy)
    first = out.splitlines()[0]
    assert (code, first) == (
        22,
        "history of 2 clusters: not known which findings are open: their episodes could not be read",
    )
    code, out, _ = asked((*HISTORY, "--json"), copy)
    found = json.loads(out)
    assert (code, found["unknown"]) == (22, ["episodes", "repair_times", "offenders"])
    assert [found[name] for name in found["unknown"]] == [None, None, None]
    assert found["churn"]
    code, out, err = asked((*HISTORY, "--csv"), copy)
    assert (code, len(out.splitlines())) == (22, 1)
    assert err.startswith("warning: not in the history: episodes: ")
    shown = json.loads(asked(("audit", "show", "--json"), copy)[1])
    assert shown["history"]["episodes"] is None
    assert any("episodes" in line for line in shown["damaged"])
    assert "Unknown: a file of the store could not be read." in asked(("audit", "show", "--html", "-"), copy)[1]


@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_history_without_the_newest_audit_states_it_first(copy, how):
    file = tables(copy)["clusters"][-1]
    damage(copy / file, how, Random(1))
    code, out, _ = asked(HISTORY, copy)
    first, second, *_ = out.splitlines()
    day = file.parts[2].removeprefix("day=")
    assert (code, first) == (22, f"not known what is open now: the last audit ({day}) could not be read")
    assert "findings open" in second
    assert second.endswith(", on 2026-03-03")
    found = json.loads(asked((*HISTORY, "--json"), copy)[1])
    assert (found["unread_last"], found["last"]) == (day, "2026-03-03")


def test_a_history_whose_growth_alone_is_unread_is_known(copy):
    damage(copy / tables(copy)["brokers"][0], "gone", Random(1))
    code, out, _ = asked((*HISTORY, "--json"), copy)
    assert (code, json.loads(out)["unknown"], json.loads(out)["growth"]) == (0, ["growth"], None)
