"""Which statements are run: one that reads. Spark runs a command as soon as it is given one, so they are told apart
before, by their words: not by Spark's parser, which a Connect client does not have.
"""

from __future__ import annotations

import re
from typing import Final

from kfix.errors import UsageError

_TOKEN: Final = re.compile(
    r"""
    (?P<gap>\s+|--[^\n]*)
  | (?P<text>[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*")
  | `(?P<quoted>(?:[^`]|``)*)`
  | (?P<word>[^\W\d]\w*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_FIRST: Final = frozenset({"select", "with", "describe", "desc", "show"})
#: Statements that may follow WITH, or a FROM that comes first.
_WRITES: Final = frozenset({"insert", "delete", "update", "merge"})
#: Functions that run any method of Java.
_REACH_OUT: Final = frozenset({"reflect", "java_method", "try_reflect"})
ONE_SELECT: Final = "only one SELECT, WITH, DESCRIBE or SHOW statement is run"


def only_reads(sql: str) -> str:
    """The statement without the semicolon at its end. UsageError where it does anything but read."""
    words = _words(sql)
    while words and words[-1] == ";":
        words.pop()
    first = next((w for w in words if w != "("), "nothing")
    if first not in _FIRST:
        raise UsageError(f"the statement is {first.upper()}: {ONE_SELECT}")
    if ";" in words:
        raise UsageError(f"there is more than one statement: {ONE_SELECT}")
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word in _WRITES:
            raise UsageError(
                f"the statement has {word.upper()}: {ONE_SELECT}", hint="a column of that name: `backquotes`"
            )
        if word.strip("`") in _REACH_OUT and after == "(":
            raise UsageError(f"{word.strip('`')} runs any code of Java, and is not allowed")
        if word == "using" and after == "'":
            raise UsageError("a script is run by USING 'command', and is not allowed")
    return sql.rstrip().rstrip(";") if not sql.rstrip().endswith("*/") else sql


def _words(sql: str) -> list[str]:
    """In lower case; a quoted text is `'`, a quoted name keeps its backquotes. Comments are left out."""
    found: list[str] = []
    at = 0
    while at < len(sql):
        if sql.startswith("/*", at) and not sql.startswith("/*+", at):
            at = _after_comment(sql, at)
            continue
        token = _TOKEN.match(sql, at)
        assert token is not None
        at = token.end()
        if token["word"]:
            found.append(token["word"].lower())
        elif token["quoted"] is not None:
            found.append(f"`{token['quoted'].lower()}`")
        elif token["text"]:
            found.append("'")
        elif token["other"]:
            found.append(token["other"])
    return found


def _after_comment(sql: str, at: int) -> int:
    """Spark's comments nest; one that does not end hides what follows, and is refused."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", sql[at:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return at + mark.end()
    raise UsageError("the statement has a comment without an end")
