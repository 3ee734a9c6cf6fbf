"""`kfix schema`: the JSON Schemas of the files that kfix prints and reads."""

from typing import Annotated

import typer

from kfix.front.terminal import say, say_json
from kfix.shell.schemas import SCHEMAS, schema_of


def schema(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A schema; without it, list all.")] = None,
) -> None:
    """Print the JSON Schema of a JSON output or of a file that kfix reads: kfix schema diagnosis."""
    if name is None:
        for known, what in SCHEMAS.items():
            say(f"{known:<12} {what}")
        return
    say_json(schema_of(name), indent=2)
