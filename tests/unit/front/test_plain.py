"""A line looks the same on the plain console and on rich's."""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios

from rich.console import Console

from kfix.core.diagnosis.finding import Severity
from kfix.diagnose.report.table import STYLES
from kfix.front.console import console_on, table
from kfix.front.lines import Line, lines_text, print_lines
from kfix.front.plain import PlainConsole
from tests.each import for_each

_STYLES = ["", "bold", "dim", "bold green", "yellow", *(STYLES[severity] for severity in Severity)]
LINES = [
    Line("blocked: group g2; producers and consumers of orders-0 " * 4, style="bold", hang=2),
    Line(""),
    Line("kfix runbook apply coordinator-stuck --bootstrap-server a:9092 " * 3, indent=4, verbatim=True),
    Line("evil \x1b[31mtext\x9b with\ttabs and 漢字 and \u202e turns", indent=2),
    *(Line(f"a line in {style or 'no style'}", style=style) for style in _STYLES),
]


@for_each("width", [20, 40, 80, 120, 160])
@for_each("coloured", [False, True])
def test_both_consoles_write_the_same(monkeypatch, width, coloured):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if coloured:
        monkeypatch.setenv("FORCE_COLOR", "1")
    else:
        monkeypatch.delenv("FORCE_COLOR", raising=False)
    plain, rich = io.StringIO(), io.StringIO()
    print_lines(LINES, PlainConsole(plain))
    console = console_on(rich)
    assert console.width == PlainConsole(plain).width
    print_lines(LINES, console)
    if coloured:
        # rich also colours the blanks of an indent; the text and the order of the codes are the same.
        assert plain.getvalue() == rich.getvalue()
        assert "\x1b[1;31m" in plain.getvalue()
    else:
        assert plain.getvalue() == rich.getvalue() == lines_text(LINES, width)
        assert "\x1b" not in plain.getvalue()


def test_no_colour_where_it_is_not_wanted(monkeypatch):
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb"), ("FORCE_COLOR", "")):
        with monkeypatch.context() as patch:
            patch.setenv("FORCE_COLOR", "1")
            patch.setenv("TERM", "xterm")
            patch.delenv("NO_COLOR", raising=False)
            patch.setenv(name, value)
            out = io.StringIO()
            print_lines(LINES, PlainConsole(out))
            assert "\x1b" not in out.getvalue(), name


def test_a_terminal_gets_colours_and_its_own_width(monkeypatch):
    code = "import sys; from kfix.front.plain import PlainConsole as P; c = P(sys.stdout); print(c.width, c._coloured)"
    master, slave = pty.openpty()

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 73, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}} | {"TERM": "xterm"}
    subprocess.run([sys.executable, "-c", code], stdout=slave, stdin=slave, check=True, env=env)
    os.close(slave)
    assert os.read(master, 100).decode().split() == ["73", "True"]
    os.close(master)


def test_the_exit_code_of_a_diagnosis_outlives_the_reader_of_the_pipe():
    code = (
        "import sys, time\n"
        "from kfix.front.plain import PlainConsole as P\n"
        "from kfix.front.terminal import run_on\n"
        "run_on(); time.sleep(0.3); P(sys.stdout).write([('x' * 80, '')] * 10000); P(sys.stdout).write([('y', '')])\n"
        "sys.exit(21)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
        done.stdout.close()
        assert done.stderr.read() == b""
    assert done.returncode == 21


def test_rich_consoles_still_work():
    out = io.StringIO()
    print_lines(LINES, Console(file=out, width=200, markup=False))
    assert "漢字" in out.getvalue()


def test_a_pipe_gets_no_blanks_at_the_end_of_a_line():
    out = io.StringIO()
    rows = table(header_style="bold")
    rows.add_column("step")
    rows.add_column("what")
    rows.add_row("1", "elect")
    rows.add_row("", "a leader")
    console_on(out).print(rows)
    assert out.getvalue() == "step  what\n1     elect\n      a leader\n"
