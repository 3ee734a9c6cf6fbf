"""The engine of one machine: the pool, and SQL that reads the tables it is given and nothing else."""

import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix.fleet.engines import opening as wiring
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.engines.engine import View, plain
from kfix.fleet.store.delta import TableFile
from kfix.fleet.store.places import place_of
from kfix.fleet.store.stored import StoredRows
from tests.each import for_each
from tests.unit.fleet.working import double
from tests.waiting import seconds

ENGINE = EmbeddedEngine(1)
NUMBERS = pa.table({"a": [1, 2, 3]})


def ask(sql, **tables):
    return ENGINE.query(sql, tables or {"numbers": NUMBERS})


def test_it_says_who_it_is_and_works():
    with wiring.engine(processes=2) as engine:
        assert engine.name.startswith("duckdb ")
        assert engine.name.endswith(" pool[2]")
        assert [d.result for d in engine.each(double, {"a": 1, "b": 2})] == [2, 4]
    with pytest.raises(UsageError, match="at least 1"):
        EmbeddedEngine(0)


def test_answers_have_one_type_of_each():
    table = ask(
        "SELECT sum(a) s, count(*) n, avg(a) m, 1.5 d, 1::tinyint t, timestamp '2026-01-01' w, [1::int] l, 'x' x,"
        " 9223372036854775807::hugeint + 1 AS big, {'n': 1::int} r, map {'k': 1::int} k FROM numbers"
    )
    assert {f.name: str(f.type) for f in table.schema} == {
        "s": "int64",
        "n": "int64",
        "m": "double",
        "d": "double",
        "t": "int64",
        "w": "timestamp[us, tz=UTC]",
        "l": "list<item: int64>",
        "x": "string",
        "big": "decimal128(38, 0)",
        "r": "struct<n: int64>",
        "k": "map<string, int64>",
    }
    assert table.to_pylist()[0]["s"] == 6
    assert plain(pa.table({"s": pa.array(["a", "b"], pa.large_string()).dictionary_encode()})) == pa.table(
        {"s": ["a", "b"]}
    )


@pytest.mark.parametrize("folder", ["plain", "a b%41[x]*'?", "date=2020-01-01/run=zz", "ä"])
def test_files_are_a_table_with_their_nights(tmp_path, folder):
    stored = written(
        tmp_path / folder,
        {
            ("01", "r", "a b%41[x]*'?.parquet"): NUMBERS,
            ("02", "1", "newer.parquet"): pa.table({"a": [4], "b": ["new"]}),
        },
    )
    assert stored.rows == 4
    for given in (stored, by_url(stored)):
        rows = ask("SELECT a, b, day, run FROM f ORDER BY a", f=given).to_pylist()
        assert [(r["a"], r["b"]) for r in rows] == [(1, None), (2, None), (3, None), (4, "new")]
        assert [(r["day"], r["run"]) for r in rows] == [(date(2026, 3, 1), "r")] * 3 + [(date(2026, 3, 2), "1")]
        # What no file has is null, and what the table does not declare is not there.
        assert ask("SELECT count(c) AS n, count(*) AS all FROM f", f=given).to_pylist() == [{"n": 0, "all": 4}]
        assert ask("DESCRIBE f", f=given).column("column_name").to_pylist() == ["day", "run", "a", "b", "c"]
        one = replace(given, files=given.files[:1])
        assert ask("SELECT a, b FROM f WHERE day = DATE '2026-03-01'", f=one).num_rows == 3
        assert ask("SELECT a FROM f WHERE run = '1'", f=one).num_rows == 0


SCHEMA = pa.schema(
    [("day", pa.date32()), ("run", pa.string()), ("a", pa.int64()), ("b", pa.string()), ("c", pa.list_(pa.int64()))]
)


def written(folder, tables):
    """Writes files of a table, by (day of March, run, name), as the store does."""
    files = []
    for (day, run, name), rows in tables.items():
        path = folder / f"day=2026-03-{day}" / f"run={run}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path)
        files.append(TableFile(place_of(path), date(2026, 3, int(day)), run, rows.num_rows, path.stat().st_size, None))
    return StoredRows(SCHEMA, place_of(folder), tuple(files))


def by_url(stored):
    """The same rows in a store that a URL names."""
    place, start = place_of(Path(stored.folder.path).as_uri()), len(stored.folder.path) + 1
    return replace(
        stored, folder=place, files=tuple(replace(f, place=place / f.place.path[start:]) for f in stored.files)
    )


@for_each(
    ("sql", "said"),
    [
        ("SELECT nope FROM numbers", r'line 1, column 8: .*"nope" not found'),
        ("SELECT a\nFROM numbers ORDER a", r"line 2, column 20: syntax error"),
        ("SELECT * FROM\n  nix", r"line 2, column 3: Table with name nix does not exist"),
        ("", "nothing: only a single SELECT"),
        ("SELECT 1; SELECT 2", "SELECT, SELECT: only a single"),
        ("COPY numbers TO 'x.csv'", "COPY: only a single SELECT"),
        ("WITH x AS (SELECT 1) INSERT INTO numbers SELECT 1", "INSERT: only"),
        ("ATTACH 'x.db'", "ATTACH: only"),
        ("INSTALL httpfs", "only a single SELECT"),
        ("SET threads = 1", "SET: only"),
        ("PRAGMA database_list", "only a single SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", "is not permitted: Cannot access file"),
        ("SELECT * FROM '/etc/passwd.parquet'", "is not permitted: Cannot access file"),
        ("SELECT * FROM a_variable_of_python", "does not exist"),
        ("SELECT 'x'::int", "Could not convert"),
    ],
)
def test_a_wrong_or_writing_statement_is_one_line(sql, said):
    a_variable_of_python = NUMBERS
    with pytest.raises(UsageError, match=said) as shown:
        ask(sql)
    assert "\n" not in str(shown.value)
    assert a_variable_of_python.num_rows == 3


def test_a_view_reads_the_tables_before_it():
    given = {
        "numbers": NUMBERS,
        "large": View("SELECT * FROM numbers WHERE a > 1"),
        "more": View("SELECT a FROM large"),
    }
    assert ENGINE.query("SELECT count(*) AS n FROM more", given).to_pylist() == [{"n": 2}]


def test_describe_and_show_are_answered():
    assert ask("SHOW TABLES").column("name").to_pylist() == ["numbers"]
    assert ask("DESCRIBE numbers").column("column_name").to_pylist() == ["a"]


def test_rows_that_are_none(tmp_path):
    nothing = ask("SELECT * FROM t", t=StoredRows(SCHEMA, place_of(tmp_path / "nowhere"), ()))
    assert (nothing.num_rows, nothing.schema.names) == (0, SCHEMA.names)
    (tmp_path / "bad.parquet").write_text("nope")
    for folder, name, said in (
        (str(tmp_path), "gone.parquet", "gone.parquet: does not exist"),
        (str(tmp_path), "bad.parquet", "bad.parquet"),
        (tmp_path.as_uri(), "bad.parquet", "bad.parquet"),
    ):
        place = place_of(folder)
        given = StoredRows(SCHEMA, place, (TableFile(place / name, date(2026, 3, 1), "r", 1, 4, None),))
        with pytest.raises(KfixError, match=said) as shown:
            ask("SELECT * FROM t", t=given)
        assert isinstance(shown.value, UsageError | UnreachableError)
        assert "\n" not in str(shown.value)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    ask("SELECT count(*) FROM numbers")
    assert [*Path().iterdir()] == []


def test_the_embedded_engine_loads_no_spark():
    script = (
        "import sys\nfrom kfix.fleet.engines import opening as wiring\n"
        "with wiring.engine(processes=1) as e: assert e.query('SELECT 1 n', {}).num_rows == 1\n"
        "assert not {'pyspark', 'py4j', 'kfix_spark'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=seconds(60))
