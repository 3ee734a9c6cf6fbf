"""`-o text` and `-o json`, for every command that has `--json`; defaults in help as a person types them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from kfix.core.errors import UsageError
from kfix.front.failing import DOCUMENT
from kfix.front.failure import formats_in, machine_output

if TYPE_CHECKING:
    _Base = TyperCommand
else:
    _Base = object


#: {type of an option: how its value is shown in help, unless the option says it}.
_METAVARS = {"int": "N", "int range": "N", "float": "N", "float range": "N", "str": "TEXT"}


class _Time(float):
    """A default of an option that takes a TIME: help shows `5s`."""

    def __str__(self) -> str:
        return f"{self:g}s"


class _Formatted(_Base):
    """Turns `-o json` into `--json`, unless the command has `-o` itself, and notes which program reads its output."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in self.params:
            if each.metavar == "TIME" and isinstance(each.default, float):
                each.default = _Time(each.default)
            if each.metavar is None and each.param_type_name == "option":
                each.metavar = _METAVARS.get(each.type.name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        mine = {name for each in self.params for name in each.opts}
        formats = {"-o", "--format"}
        valued = {
            name
            for each in self.params
            if not (getattr(each, "is_flag", True) or getattr(each, "count", False))
            for name in each.opts
        } - formats
        document = ctx.meta.get(DOCUMENT)
        if document is not None:
            document.machine = machine_output(args, valued)
        return super().parse_args(ctx, args if "-o" in mine else list(self._with_json(args, mine, valued)))

    def _with_json(self, args: list[str], mine: set[str], valued: set[str]) -> Iterator[str]:
        """Yields the arguments with `--json` for `-o json`, and without `-o text`."""
        at = 0
        for found in formats_in(args, valued):
            yield from args[at : found.first]
            at = found.end
            known = ["text", *(["json"] if "--json" in mine else [])]
            if found.name not in known:
                file = f"; --output-file {found.name} writes a file" if "--output-file" in mine else ""
                raise UsageError(f"-o {found.name}: this command prints {' or '.join(known)}{file}")
            if found.name == "json":
                yield "--json"
        yield from args[at:]


class FormattedCommand(_Formatted, TyperCommand):
    """A command that prints a table or, with `--json`, a document."""


class FormattedGroup(_Formatted, TyperGroup):
    """A group that is a command itself, such as `kfix audit`."""
