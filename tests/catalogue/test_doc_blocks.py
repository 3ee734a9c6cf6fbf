"""Every command block of README.md and the documentation is run, or says why not, and its options exist."""

import re
from typing import Any

from typer.main import get_command

from kfix.shell.app import app
from tests.doc_blocks import blocks, kfix_calls

ALL = blocks()


def test_every_block_with_commands_is_fenced_as_sh_or_console():
    assert [str(block) for block in ALL if block.language not in {"sh", "console"}] == []


def test_every_marker_is_known():
    known = re.compile(r"run: (?:own )?lab|not run: \S.{8,}")
    assert [f"{block}: {block.marker}" for block in ALL if block.marker and not known.fullmatch(block.marker)] == []


def test_every_command_and_option_of_a_block_exists():
    kfix = get_command(app)
    calls = [(block, words) for block in ALL for words in kfix_calls(block)]
    assert calls
    assert [f"{block}: {problem}" for block, words in calls if (problem := mistake(kfix, words))] == []


def mistake(kfix: Any, words: list[str]) -> str:
    """Returns what is wrong with a call of kfix, "" where nothing is."""
    command = kfix
    rest = list(words)
    while rest and hasattr(command, "get_command") and not rest[0].startswith("-"):
        found = command.get_command(None, rest[0])
        if found is None:
            return f"no command: {' '.join(words)}"
        command = found
        rest.pop(0)
    options = {name for p in command.params for name in (*p.opts, *p.secondary_opts)} | {"--help", "--version"}
    given = [word.split("=")[0] for word in rest[: rest.index("--") if "--" in rest else None]]
    unknown = [word for word in given if re.match(r"--?[a-z]", word) and word not in options]
    return f"no option {unknown}: {' '.join(words)}" if unknown else ""
