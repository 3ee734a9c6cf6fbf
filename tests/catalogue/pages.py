"""The generated references of commands and tables; KFIX_UPDATE_GOLDEN=1 with test_pages.py writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

from typer.main import get_command

from kfix.fleet.store.tables import ALL
from kfix.shell.app import app
from kfix.shell.examples import EXAMPLES


def commands() -> list[tuple[tuple[str, ...], Any]]:
    """Returns every command as (words, command object), read from the application itself."""

    def walk(command: Any, words: tuple[str, ...]) -> Any:
        if not hasattr(command, "list_commands"):
            yield words, command
            return
        if len(words) > 1 and command.invoke_without_command:
            yield words, command
        for name in command.list_commands(None):
            yield from walk(command.get_command(None, name), (*words, name))

    return list(walk(get_command(app), ("kfix",)))


def commands_page() -> str:
    """Returns docs/commands.md."""
    found = commands()
    head = [
        "# Every command",
        "",
        "Generated from the commands themselves; `kfix COMMAND --help` prints the same.",
        "Exit codes: [exit-codes.md](exit-codes.md).",
        "",
    ]
    counted = Counter(row for _, command in found for row in parameters(command))
    shared = {row: None for row, count in counted.items() if count >= _SHARED}
    sections = (line for words, command in found for line in _section(words, command, shared))
    many = ["", "## Options of many commands", "", *_listed(shared)]
    return "\n".join([*head, *_index(found), *many, *sections, *_variables(), ""])


#: An option of so many commands is described once.
_SHARED = 4


def _index(found: Iterable[tuple[tuple[str, ...], Any]]) -> Iterator[str]:
    """Yields one line for the commands of a group, and one for those of no group."""
    groups: dict[str, list[str]] = {}
    for words, _ in found:
        group = " ".join(words[:-1])
        groups.setdefault(group, []).append(f"[{words[-1]}](#{'-'.join(words)})")
    return (f"- `{group}`: {', '.join(links)}" for group, links in groups.items())


def _listed(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- `{name}`: {text}" for name, text in rows]


#: Variables that stand for no option of one command.
OTHER_VARIABLES = {
    "KFIX_DEBUG": "Set: an internal error prints its traceback.",
    "KFIX_FLEET": "The inventory, a file or a folder ([contexts.md](contexts.md)).",
    "KFIX_LAB_ARCHIVE": "`0`: the lab makes no class data archive for Java.",
    "KFIX_LAB_HOME": "Where labs keep their state (default: in the state folder).",
    "KFIX_RUNBOOKS": "The user's own folder of runbooks (default: `runbooks` in the settings folder).",
    "KFIX_SPARK_ARCHIVE": "`0`: no environment is packed for Spark's executors ([spark.md](spark.md)).",
    "KFIX_STATE_HOME": "Where runs, locks and snapshots are kept (default: `XDG_STATE_HOME`, else ~/.local/state).",
}


def variables() -> dict[str, str]:
    """Returns {variable of the environment: what it stands for}."""
    options = {
        each.envvar: f"`{each.opts[0]}`: {_one_line(each.help)}"
        for _, command in commands()
        for each in (*command.params, *get_command(app).params)
        if getattr(each, "envvar", None)
    }
    return dict(sorted({**options, **OTHER_VARIABLES}.items()))


def _params(command: Any) -> tuple[list[Any], list[Any]]:
    """Returns the arguments and the options of a command."""
    params = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    return tuple([p for p in params if p.param_type_name == kind] for kind in ("argument", "option"))  # type: ignore[return-value]


def parameters(command: Any) -> list[tuple[str, str]]:
    """Returns (argument or option, what it means) for each of a command."""
    arguments, options = _params(command)
    named = [(_metavar(p), p) for p in arguments] + [(_option(p), p) for p in options]
    return [(name, f"{_one_line(p.help)}{_default(p)}") for name, p in named]


def _section(words: tuple[str, ...], command: Any, shared: Container[tuple[str, str]]) -> list[str]:
    arguments, options = _params(command)
    usage = " ".join([*words, *(_metavar(p) for p in arguments), *(["[OPTIONS]"] if options else [])])
    rows = parameters(command)
    own = _listed(row for row in rows if row not in shared)
    known = [f"`{name.split(',')[0].split()[0]}`" for name, text in rows if (name, text) in shared]
    also = [f"- [Also](#options-of-many-commands): {', '.join(known)}"] if known else []
    examples = [f"kfix {line}" for line in EXAMPLES[" ".join(words[1:])]]
    block = ["", "```text", usage, "", *examples, "```"]
    return ["", f"## {' '.join(words)}", "", command.help.strip(), *block, *([""] if own or also else []), *own, *also]


def _variables() -> list[str]:
    text = (
        "An option on the command line counts more. Those of a connection belong to an address, never to a name (`-c`)."
    )
    rows = [
        (name, meaning if name in OTHER_VARIABLES else meaning.split(":")[0]) for name, meaning in variables().items()
    ]
    return ["", "## Variables of the environment", "", text, "", *_listed(rows)]


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper().replace("_", "-"))


def _option(parameter: Any) -> str:
    name = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return name if parameter.is_flag else f"{name} {parameter.metavar or parameter.type.name.upper()}"


def _default(parameter: Any) -> str:
    value = parameter.default
    shown = value not in (None, True, False, "", (), []) and not callable(value) and not parameter.required
    return f" Default: `{_words(value)}`." if shown and parameter.param_type_name == "option" else ""


def _words(value: Any) -> str:
    return str(getattr(value, "value", value))


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def tables_page() -> str:
    """Returns docs/tables.md."""
    counted = Counter(column for spec in ALL for column in spec.columns)
    shared = {column: None for column, count in counted.items() if count >= _SHARED}
    head = [
        "# Tables of the fleet store",
        "",
        "Generated from `kfix/fleet/store/tables.py`; the tables themselves have the same comments. How they are",
        "stored: [fleet-store.md](fleet-store.md). Every table begins with `day` (the UTC date) and `run` (the name of",
        "the run). Columns that mean the same in many tables:",
        "",
        *map(_column, shared),
    ]
    body = (line for spec in ALL for line in _columns_of(spec, shared))
    return "\n".join([*head, *body, ""])


def _columns_of(spec: Any, shared: Container[Any]) -> Iterator[str]:
    yield from ("", f"## {spec.name}", "", f"{spec.row[0].upper()}{spec.row[1:]}.")
    known = [f"`{column.name}`" for column in spec.columns if column in shared]
    yield from (f"Also {', '.join(known)}.", "") if known else ("",)
    previous = None
    for _, same in groupby((c for c in spec.columns if c not in shared), _without_number):
        columns = list(same)
        null = columns[0].null
        shown = [replace(c, null="as above") for c in columns] if null and null == previous else columns
        previous = null
        yield _column(shown[0]) if len(shown) == 1 else _numbered(shown)


def _without_number(column: Any) -> tuple[str, ...]:
    """Returns what `order_1` and `order_2` have in common."""
    number = re.search(r"_(\d+)$", column.name)
    comment = re.sub(rf"\breplica {number[1]}\b", "replica N", column.comment) if number else column.comment
    return (re.sub(r"_\d+$", "_N", column.name), column.type, column.unit, comment, column.null)


def _numbered(columns: list[Any]) -> str:
    """Returns one line for `order_1` to `order_5`."""
    alike = replace(columns[0], comment=_without_number(columns[0])[3])
    return _column(alike).replace(f"`{alike.name}`", f"`{alike.name}` to `{columns[-1].name}`")


def _column(column: Any) -> str:
    kind = ", ".join(each for each in (_type(column.type), column.unit) if each)
    null = f"; null: {_one_line(column.null)}" if column.null else ""
    return f"- `{column.name}` ({kind}): {_one_line(column.comment)}{null}"


def _type(kind: Any) -> str:
    return {
        "list<item: int64>": "list of int64",
        "list<item: string>": "list of string",
        "double": "float64",
        "timestamp[us, tz=UTC]": "timestamp",
        "date32[day]": "date",
    }.get(str(kind), str(kind))
