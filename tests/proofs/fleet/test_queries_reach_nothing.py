"""A query of a user reaches no file, process or class: random statements of Spark's and of DuckDB's grammar."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kfix.core.errors import KfixError
from kfix.fleet.engines.embedded import EmbeddedEngine
from kfix.fleet.questions.tables import tables
from kfix.fleet.store.places import place_of

STORE = "examples/fleet/store"
#: A statement takes as long as several cases of `make fuzz`.
CASES = int(os.environ.get("KFIX_FUZZ", "3000")) // 10
SECRET = "what-only-the-file-has"
#: Events of Python that a statement must not cause: `SECRET` and the exit code show the rest.
FORBIDDEN = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect"}
WAYS_OUT = (
    "TRANSFORM(cluster) USING 'touch {made}'",
    "MAP cluster USING 'touch {made}'",
    "reflect('java.lang.Runtime', 'getRuntime')",
    "java_method('java.lang.System', 'exit', 1)",
    "try_reflect('java.lang.System', 'exit', 1)",
    "IDENTIFIER('reflect')('java.lang.System', 'exit', 1)",
    "`reflect`('java.lang.System', 'exit', 1)",
    "(SELECT content FROM read_text('{secret}'))",
    "(SELECT * FROM read_csv('{secret}', header = false))",
    "(SELECT content FROM read_blob('{secret}'))",
    "(SELECT line FROM text.`{secret}` t(line))",
    "(SELECT * FROM '{secret}')",
    '(SELECT * FROM "{secret}")',
    "(SELECT count(*) FROM glob('{folder}/*'))",
    "(SELECT * FROM query('SELECT content FROM read_text(''{secret}'')'))",
    "(SELECT * FROM sniff_csv('{secret}'))",
    "(SELECT * FROM enable_logging(level = 'debug', storage = 'file', storage_path = '{made}'))",
    "(SELECT * FROM sqlite_scan('{secret}', 't'))",
    "(SELECT * FROM parquet_metadata('http://127.0.0.1:1/x.parquet'))",
    "getenv('HOME')",
    "file_row_number",
    "getvariable('x')",
)
COMMANDS = (
    "COPY findings TO '{made}'",
    "COPY findings FROM '{secret}'",
    "EXPORT DATABASE '{made}'",
    "ATTACH '{made}' AS other",
    "INSTALL httpfs",
    "LOAD '{secret}'",
    "SET enable_external_access = true",
    "PRAGMA enable_profiling",
    "PRAGMA profiling_output = '{made}'",
    "CREATE TABLE t AS SELECT 1",
    "INSERT OVERWRITE DIRECTORY '{made}' SELECT 1",
    "ADD JAR '{secret}'",
    "ADD FILE '{secret}'",
    "CREATE TEMPORARY FUNCTION f AS 'x' USING JAR '{secret}'",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "BEGIN SELECT 1; END",
    "CALL enable_logging(storage = 'file', storage_path = '{made}')",
    "EXPLAIN ANALYZE SELECT * FROM read_text('{secret}')",
    "LOAD DATA INPATH '{secret}' INTO TABLE t",
)
#: Between any two words: what lexers disagree about.
GAPS = (
    " ",
    "\t",
    "\n",
    "\r",
    " --\r",
    " -- x\n",
    "/**/",
    " /* a /* b */ */ ",
    "/*+ BROADCAST(a) */",
    " R'\\' ",
    "\f",
    "\u00a0",
)


def statements(random: Random, **names: Any) -> Iterator[str]:
    while True:
        way = random.choice(WAYS_OUT).format(**names)
        made = random.choice(
            (
                f"SELECT {way} FROM findings",
                f"SELECT cluster FROM findings WHERE {way} IS NOT NULL",
                f"WITH x AS (SELECT {way} AS a FROM findings) SELECT * FROM x",
                f"FROM findings SELECT {way}",
                f"SELECT * FROM findings LATERAL VIEW explode(array({way})) t AS a",
                f"SELECT a FROM (SELECT {way} AS a) UNION ALL SELECT 1",
                f"SELECT cluster FROM findings ORDER BY {way}",
                f"SELECT 1; SELECT {way}",
                f"DESCRIBE SELECT {way}",
                f"FROM {way}",
                random.choice(COMMANDS).format(**names),
                f"SELECT 1;{random.choice(COMMANDS).format(**names)}",
            )
        )
        words = made.split(" ")
        yield "".join(word + (random.choice(GAPS) if random.random() < 0.2 else " ") for word in words)


@pytest.fixture(scope="module")
def events() -> list[str]:
    """What Python itself was asked for; a hook cannot be taken back."""
    seen: list[str] = []
    sys.addaudithook(lambda event, _: seen.append(event) if event in FORBIDDEN else None)
    return seen


def answer(sql: str, shown: Any) -> tuple[bool, str]:
    """Returns whether the statement was answered, and the answer or the line of the error."""
    try:
        return True, repr(EmbeddedEngine(1).query(sql, shown).slice(0, 100).to_pylist())
    except KfixError as error:
        return False, str(error)


def test_no_statement_reaches_a_file_a_process_or_a_class(tmp_path: Path, events: list[str], first: int) -> None:
    secret, made, random = tmp_path / "secret.csv", tmp_path / "made", Random(first)
    secret.write_text(f"{SECRET}\n")
    shown = {"findings": tables(place_of(STORE), days=3650)["findings"]}
    random_statements = statements(random, secret=secret, made=made, folder=tmp_path)
    answered = 0
    assert answer("SELECT cluster FROM findings", shown)[0]
    for _ in range(CASES):
        sql = next(random_statements)
        del events[:]
        fine, said = answer(sql, shown)
        answered += fine
        assert SECRET not in said, sql
        assert events == [], sql
        assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"], sql
    assert answered < CASES / 2


def test_a_query_has_no_option_for_spark() -> None:
    from typer.testing import CliRunner

    from kfix.shell.app import app

    done = CliRunner().invoke(app, ["audit", "query", "SELECT 1", "--store", STORE, "--spark", "local[1]"])
    assert done.exit_code == 2
    assert "--spark" in done.stderr
