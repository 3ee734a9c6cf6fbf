"""Makes docs/pictures/demo.svg from a real run of `kfix lab demo`: real brokers, a real incident, the real answers.

Run it from the repository with `.venv/bin/python docs/pictures/make_demo_svg.py`. It needs what the demo needs (Java,
Maven) and takes about a minute. The demo runs on a terminal of its own (a pty), where it asks at the runbook's gate;
this script answers as a person would. Nothing that is shown is written by hand; chapters that are left out are counted.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pexpect

WIDTH = 110
PICTURE = Path(__file__).with_name("demo.svg")
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
    while demo.expect([r"(?:am I asked|stop here)[^\n]{0,80} > ", pexpect.EOF]) == 0:
        demo.sendline("y")
    demo.close()
    if demo.exitstatus != 0:
        raise SystemExit(f"the demo ended with exit code {demo.exitstatus}:\n{seen.getvalue()[-2000:]}")
    return seen.getvalue()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(record())
