"""Finds the line of a long log that shows why a process did not start."""

import re
from pathlib import Path

_JVM_REFUSAL = re.compile(r"^(Error|Unrecognized|Invalid|Could not|Improperly|Conflicting)\b.*")
_BAD_LEVEL = re.compile(r"^\[[^\]]*\] (FATAL|ERROR) (.*)$")
_EXCEPTION = re.compile(r"^(Caused by: )?([\w$.]+(Exception|Error)\b.*)$")
_BIND = re.compile(r"Address already in use|BindException|failed to bind", re.IGNORECASE)


def decisive_line(log: Path) -> str:
    lines = read_lines(log)
    refusal = next((line for line in lines if _JVM_REFUSAL.match(line)), None)
    if refusal:
        return refusal
    for number, line in enumerate(lines):
        if found := _BAD_LEVEL.match(line):
            # The exception below a FATAL line is more precise than the line, and its first cause is the most precise.
            causes = [cause[2] for text in lines[number + 1 : number + 80] if (cause := _EXCEPTION.match(text))]
            return causes[0] if causes else found[2]
    filled = [line for line in lines if line.strip()]
    return filled[-1] if filled else "its log is empty"


def met_a_taken_port(log: Path) -> bool:
    return any(_BIND.search(line) for line in read_lines(log))


def met_its_own_registration(log: Path) -> bool:
    return any("NodeExists" in line for line in read_lines(log))


def read_lines(log: Path) -> list[str]:
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
