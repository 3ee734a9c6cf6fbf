"""The command blocks of README.md and the documentation: found, and run as a reader would run them.

A block is fenced as `sh` (every line is a command) or `console` (commands begin with `$ `, their output follows and is
compared; a line `...` stands for any lines). A comment at the end of a command, `# exit code 21`, names the exit code
that it has, otherwise 0. A comment in front of the block chooses where it runs:

- none: in a temporary folder with the examples, without any cluster;
- `<!-- run: lab -->`: on the tests' cluster; `b1:9092` stands for its brokers, `zk1:2181` for its ZooKeeper;
- `<!-- run: own lab -->`: the block starts and ends a lab of its own;
- `<!-- not run: REASON -->`: nowhere; its commands and options are still checked.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.places import ROOT

GENERATED = {"docs/commands.md", "docs/json.md", "runbooks/README.md"}
MARKER = re.compile(r"<!-- ((?:not )?run: .+?) -->\s*$")
LOOKS_LIKE_COMMANDS = re.compile(r"^(?:\$ )?(?:kfix|make) \w", re.MULTILINE)
BROKERS = re.compile(r"\bb[12]:9092(?:,b[12]:9092)*|(?<=--bootstrap-server )\.\.\.")
CALL = re.compile(r"""(?:^|[|;&(]|\s)kfix ((?:[^|;&()"']|"[^"]*"|'[^']*')*)""")
ZOOKEEPERS = re.compile(r"\bzk1:2181(?:/kafka)?")


@dataclass(frozen=True)
class Command:
    """One command of a block: what is typed, its exit code, and its output, None where none is shown."""

    text: str
    code: int
    output: str | None


@dataclass(frozen=True)
class Block:
    """A fenced block with commands; `line` is where its fence begins."""

    page: str
    line: int
    language: str
    text: str
    marker: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[Command]:
        return list(_console(self.text) if self.language == "console" else _shell(self.text))


def pages() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found += [ROOT / folder / "README.md" for folder in ("diagnostics", "examples", "runbooks", "spark")]
    return sorted(page for page in found if str(page.relative_to(ROOT)) not in GENERATED)


def blocks() -> list[Block]:
    """Returns every block that is fenced as commands, or has a command of kfix or make in it."""
    return [block for page in pages() for block in _blocks_of(page)]


def _blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if found[1] in {"sh", "console"} or (found[1] == "" and LOOKS_LIKE_COMMANDS.search(found[2])):
            marker = MARKER.search(text[: found.start()].rstrip())
            line = text[: found.start()].count("\n") + 1
            yield Block(str(page.relative_to(ROOT)), line, found[1], found[2], marker[1] if marker else "")


def _joined(lines: list[str]) -> Iterator[str]:
    waiting = ""
    for line in lines:
        waiting += line
        if line.rstrip().endswith(("\\", "|")):
            waiting += "\n"
            continue
        yield waiting
        waiting = ""


def _shell(text: str) -> Iterator[Command]:
    for line in _joined(text.splitlines()):
        if line.strip() and not line.lstrip().startswith("#"):
            yield Command(line, _code(line), None)


def _console(text: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command = next(_joined(part.splitlines()))
        yield Command(command, _code(command), part[len(command) + 1 :])


def _code(line: str) -> int:
    found = re.search(r"#.*\bexit code (\d+)", line)
    return int(found[1]) if found else 0


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment of a block: this Python's commands first, a state of its own, no colours."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {
        "PATH": path,
        "XDG_STATE_HOME": str(home),
        "KFIX_STATE_HOME": str(home / "state"),
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }
    return {**os.environ, **own, **(more or {})}


def folder_with_examples(folder: Path) -> Path:
    """Makes a folder in which the paths that the pages name are there, without the repository being written to."""
    folder.mkdir(exist_ok=True)
    for name in ("examples", "runbooks", "docs"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(block: Block, folder: Path, env: Mapping[str, str], timeout: float = 150) -> list[str]:
    """Runs the block's commands in one shell; returns the output of each. Fails on another exit code or output."""
    script = "\n".join(
        f"{{ {command.text}\n}} >.out.{number} 2>&1 </dev/null; code=$?\n"
        f'[ "$code" = {command.code} ] || {{ echo "{number} $code"; exit 1; }}'
        for number, command in enumerate(block.commands)
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=dict(env), capture_output=True, text=True, check=False, timeout=timeout
    )
    if done.returncode:
        number, code = map(int, done.stdout.split()[-2:])
        command = block.commands[number]
        shown = (folder / f".out.{number}").read_text()
        raise AssertionError(f"{block}: exit code {code}, not {command.code}: {command.text}\n{shown}")
    return [(folder / f".out.{number}").read_text() for number in range(len(block.commands))]


def differs(command: Command, printed: str) -> bool:
    """Whether the page shows another output than was printed."""
    if command.output is None:
        return False
    pattern = re.escape(_lines(command.output)).replace("\\.\\.\\.\n", "(?:.*\n)*")
    return re.fullmatch(pattern, _lines(printed)) is None


def _lines(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def kfix_calls(block: Block) -> list[list[str]]:
    """Returns the words of each call of kfix in the block, also within pipes and substitutions."""
    lines = _joined([re.sub(r"^\$ ", "", line) for line in block.text.splitlines()])
    bare = [re.sub(r"\s#.*|\\\n", " ", line) for line in lines]
    calls = [call for line in bare for call in CALL.findall(line)]
    return [shlex.split(re.sub(r"[][]", " ", call)) for call in calls]
