"""Allows a single statement that reads. Spark runs a command as soon as it is parsed, so the statement is checked
before, by its words and not by Spark's parser, which a Connect client lacks.
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
#: Statements that can follow WITH, or a leading FROM.
_WRITES: Final = frozenset({"insert", "delete", "update", "merge"})
#: Functions that call any Java method.
_REACH_OUT: Final = frozenset({"reflect", "java_method", "try_reflect"})
ONE_SELECT: Final = "only a single SELECT, WITH, DESCRIBE or SHOW statement is allowed"


def only_reads(sql: str) -> str:
    """Returns the statement without its final semicolon. Raises UsageError if it does anything but read."""
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
            raise UsageError(f"{word.strip('`')} can run any Java code and is not allowed")
        if word == "using" and after == "'":
            raise UsageError("USING 'command' runs a script and is not allowed")
    return sql.rstrip().rstrip(";") if not sql.rstrip().endswith("*/") else sql


def _words(sql: str) -> list[str]:
    """Returns the words in lower case; a quoted text becomes `'`, a quoted name keeps its backquotes. Comments are
    dropped.
    """
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
    """Skips a comment. Spark's comments nest; one without an end would hide what follows and is refused."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", sql[at:]):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return at + mark.end()
    raise UsageError("the statement has a comment without an end")
