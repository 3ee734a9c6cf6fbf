"""`-o text` and `-o json`, for every command that has `--json`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from kfix.core.errors import UsageError

if TYPE_CHECKING:
    _Base = TyperCommand
else:
    _Base = object

_FORMAT = re.compile(r"-o|--format(=|$)")


class _Formatted(_Base):
    """Turns `-o json` into `--json`, unless the command has `-o` itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        mine = {name for each in self.params for name in each.opts}
        return super().parse_args(ctx, args if "-o" in mine else list(self._with_json(args, mine)))

    def _with_json(self, args: list[str], mine: set[str]) -> Iterator[str]:
        """Yields the arguments with `--json` for `-o json`, and without `-o text`."""
        rest = iter(args)
        for each in rest:
            if each == "--":
                yield each
                yield from rest
                return
            if not _FORMAT.match(each):
                yield each
                continue
            wanted = each.partition("=")[2] if "=" in each else each[2:] if each[1] != "-" else ""
            wanted = wanted or next(rest, "")
            formats = ["text", *(["json"] if "--json" in mine else [])]
            if wanted not in formats:
                file = f"; --output-file {wanted} writes a file" if "--output-file" in mine else ""
                raise UsageError(f"-o {wanted}: this command prints {' or '.join(formats)}{file}")
            if wanted == "json":
                yield "--json"


class FormattedCommand(_Formatted, TyperCommand):
    """A command that prints a table or, with `--json`, a document."""


class FormattedGroup(_Formatted, TyperGroup):
    """A group that is a command itself, such as `kfix audit`."""
