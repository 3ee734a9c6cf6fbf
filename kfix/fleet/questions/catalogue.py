"""The questions of a fleet. Each is one file of SQL, which DuckDB and Spark evaluate alike, with a head of comments:

-- Which topics have one replica?           what it answers
-- columns: cluster, topic                  of the answer, in order
-- tables: topics, replica_sizes            that it reads (docs/tables.md)
-- facts: log_dirs                          without which it has no answer, as the table `facts` names them
-- runs: 8                                  how many of the last runs it reads; 1 if there is no such line
-- unknown: what no source shows            and the answer therefore lacks
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kfix.core.documents.problems import did_you_mean
from kfix.core.errors import UsageError

_END = ".sql"


@dataclass(frozen=True, slots=True)
class Question:
    """A question: `text` is the question as a sentence, and `runs` the number of the last runs that it reads."""

    name: str
    text: str
    columns: tuple[str, ...]
    tables: tuple[str, ...]
    facts: tuple[str, ...]
    runs: int
    unknown: str
    sql: str


@cache
def questions() -> Mapping[str, Question]:
    """Returns the questions by name, sorted."""
    files = sorted((f for f in resources.files(__package__).iterdir() if f.name.endswith(_END)), key=lambda f: f.name)
    return {f.name.removesuffix(_END): _parsed(f.name.removesuffix(_END), f.read_text(encoding="utf-8")) for f in files}


def question(name: str) -> Question:
    """Raises UsageError if there is none of this name."""
    known = questions()
    if name not in known:
        raise UsageError(f"--ask: there is no question {name!r}{did_you_mean(name, known)}", hint="--ask list")
    return known[name]


def _parsed(name: str, sql: str) -> Question:
    head = [line[3:] for line in sql.splitlines() if line.startswith("-- ")]
    given = dict(line.split(": ", 1) for line in head[1:] if ": " in line)

    def listed(key: str) -> tuple[str, ...]:
        return tuple(each.strip() for each in given.get(key, "").split(",") if each.strip())

    runs = int(given.get("runs", "1"))
    return Question(
        name, head[0], listed("columns"), listed("tables"), listed("facts"), runs, given.get("unknown", ""), sql
    )
