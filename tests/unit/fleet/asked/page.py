"""The page docs/fleet-questions.md, with answers of the planted fleet as examples."""

HEAD = """# Questions that a fleet is asked

Generated from `kfix/fleet/questions/`; the examples are answers of the fleet in `tests/unit/fleet/asked/planted.py`,
whose truth is known.

`kfix audit query --ask NAME --store S` answers one of them, `--ask list` names them all, and the page of an audit
(`--html`) has those with an answer. Each is one file of SQL over [documented tables](tables.md), which DuckDB and
Spark evaluate alike: copy it to ask something else. `--json` and `--csv` are for programs; in JSON `not_read` is a
list beside `rows`.

- **An answer without rows is an all-clear only if nothing is "not read".** A cluster that was not collected, a fact
  that a broker refused or that this run did not ask for, and a question about growth with one run alone are named
  below the answer, and the exit code is 22.
- What no source shows at all is "still unknown" in each answer.
- `kfix fleet collect` and `kfix audit` read these facts after everything else; `kfix snapshot save --for-fleet FILE`
  does so where only a file can be had; without the option a file has the ends of all logs, which
  `lost-records` can compare with a later run. A plain `kfix diagnose` never asks for them.
- A question reads the last run, or as many of the last runs as it names; `--snapshots N` reads others. Questions about
  findings and changes read the audits of the last `--days`.
- Bytes are those of all replicas, and "mean" is that of the brokers of a cluster. Numbers are rounded down.

## How a loss differs from what looks like it
`lost-records` compares where a log ended in a run with where the same epochs end later: at the log end, or where a
later leader epoch begins. Both only move on, whatever retention, compaction and elections do; an unclean election or
a power failure moves one of them back ([data-loss.md](facts/data-loss.md)). `offsets` are all that the leader had,
and `committed` those below its high watermark: the others were acknowledged for acks=1 only. Both count offsets, so
that records that compaction had removed and markers of transactions are included.

A topic that was deleted and created again has another id; where no broker reports ids (before 2.8), ZooKeeper's
transaction or a lower epoch shows it. Of the epochs the last four with records are read: more elections between two
runs can hide that an epoch begins earlier, but not a log that ends earlier.

## All questions

"""


def questions_page(answers):
    """Returns the page of these answers."""
    index = ", ".join(f"[{a.question.name}](#{a.question.name})" for a in answers) + "."
    return HEAD + "\n".join([index, "", *(line for a in answers for line in _section(a))])


def _runs(question):
    return "" if question.runs == 1 else f" Reads the last {question.runs} runs."


def _section(answer):
    asked = answer.question
    tables = ", ".join(f"[{name}](tables.md#{name})" for name in asked.tables)
    yield from (f"## {asked.name}", f"{asked.text} Tables: {tables}.{_runs(asked)}", "")
    if asked.unknown:
        yield from (f"Still unknown: {asked.unknown}.", "")
    rows = answer.rows.to_pylist()
    yield from (f"| {' | '.join(asked.columns)} |", f"|{'---|' * len(asked.columns)}")
    yield from (f"| {' | '.join(map(_cell, row.values()))} |" for row in rows[:3])
    yield ""
    if len(rows) > 3:
        yield from (f"... and {len(rows) - 3} more.", "")
    if others := [each for each in answer.not_read if each.fact != "cluster"]:
        yield from (f"Not read: {others[0].words}.", "")


def _cell(value):
    return "" if value is None else str(value).replace("|", "\\|")
