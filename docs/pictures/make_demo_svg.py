"""Makes docs/pictures/demo.svg from a real run of `kfix lab demo`: real brokers, a real incident, the real answers.

Run it from the repository with `.venv/bin/python docs/pictures/make_demo_svg.py`. It needs what the demo needs (Java,
Maven) and takes about a minute; with the file of an earlier recording as argument it only draws that. The demo runs on
a terminal of its own (a pty), where it asks at the runbook's gate; this script answers as a person would. Nothing that
is shown is written by hand; lines that are left out are counted.
"""

from __future__ import annotations

import io
import os
import re
import sys
from itertools import pairwise
from pathlib import Path

import pexpect
from rich.console import Console
from rich.text import Text

WIDTH = 110
PICTURE = Path(__file__).with_name("demo.svg")
#: How many lines of each chapter are shown: the first ones and the last ones. Chapters that are not named are whole.
SHOWN = {"3": (8, 0), "5": (17, 1), "How": (0, 0)}
GATE_SECONDS = 1.5  # an answer that comes faster than a person reads is not taken


def record() -> str:
    """Runs the demo on a terminal and returns everything that it printed, with colours."""
    env = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(WIDTH)}
    env.pop("NO_COLOR", None)
    words = ["-m", "kfix", "lab", "demo", "--name", "picture"]
    demo = pexpect.spawn(sys.executable, words, env=env, dimensions=(60, WIDTH), encoding="utf-8", timeout=240)
    demo.delaybeforesend = GATE_SECONDS
    seen = io.StringIO()
    demo.logfile_read = seen
    while demo.expect([r"(?:am I asked|stop)  [^\n]{0,80} > ", pexpect.EOF]) == 0:
        demo.sendline("y")
    demo.close()
    if demo.exitstatus != 0:
        raise SystemExit(f"the demo ended with exit code {demo.exitstatus}:\n{seen.getvalue()[-2000:]}")
    return seen.getvalue()


def lines_of(recording: str) -> list[Text]:
    """Returns the lines that stood on the screen at the end: what a progress bar overwrote is gone."""
    kept = (line.rstrip("\r").split("\r")[-1] for line in recording.replace("\r\n", "\n").split("\n"))
    texts = [Text.from_ansi(re.sub(r"\x1b\[[\d?]*[A-LN-Za-ln-z]", "", line)) for line in kept]
    return [t for t, after in pairwise([*texts, Text()]) if "━━━" not in t.plain and (t.plain or after.plain)]


def chapters(lines: list[Text]) -> list[list[Text]]:
    """Returns the lines in groups, each of which begins with the rule of a chapter."""
    found: list[list[Text]] = []
    for line in lines:
        if line.plain.endswith("───"):
            found.append([])
        if found:
            found[-1].append(line)
    return found


def shown(chapter: list[Text]) -> list[Text]:
    """Returns the lines of the chapter that the picture shows, with a count of those that it leaves out."""
    while chapter and not chapter[-1].plain.strip():
        chapter = chapter[:-1]
    first, last = SHOWN.get(chapter[0].plain.split(" ")[0].rstrip("."), (len(chapter), 0))
    if first + last >= len(chapter):
        return [*chapter, Text()]
    if first == 0:
        return []
    gap = Text(f"  … {len(chapter) - first - last} lines left out", style="dim italic")
    return [*chapter[:first], gap, *(chapter[-last:] if last else []), Text()]


def picture(recording: str) -> str:
    """Returns the recording as an SVG that fetches nothing."""
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for chapter in chapters(lines_of(recording)):
        for line in shown(chapter):
            console.print(line, soft_wrap=True, crop=True)
    svg = console.export_svg(title="kfix lab demo", unique_id="demo")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(picture(Path(sys.argv[1]).read_text() if sys.argv[1:] else record()))
