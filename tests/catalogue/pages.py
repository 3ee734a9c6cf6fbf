"""The generated references of commands and tables; KFIX_UPDATE_GOLDEN=1 with test_pages.py writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
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
    index = [f"| [`{' '.join(w)}`](#{'-'.join(w)}) | {_cell(c.help.split(chr(10))[0])} |" for w, c in found]
    head = [
        "# Every command",
        "",
        "Generated from the commands themselves; `kfix COMMAND --help` prints the same.",
        "Exit codes: [exit-codes.md](exit-codes.md).",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    counted = Counter(row for _, command in found for row in parameters(command))
    shared = {row: None for row, count in counted.items() if count >= _SHARED}
    sections = (line for words, command in found for line in _section(words, command, shared))
    return "\n".join([*head, *index, *_table("Options of many commands", shared), *sections, *_variables(), ""])


#: An option of so many commands is described once.
_SHARED = 4


def _table(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    head = ["", f"## {title}", "", "| option | meaning |", "|---|---|"]
    return [*head, *(f"| `{name}` | {text} |" for name, text in rows)]


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
        each.envvar: f"`{each.opts[0]}`: {_cell(each.help)}"
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
    return [(_cell(name), f"{_cell(p.help)}{_default(p)}") for name, p in named]


def _section(words: tuple[str, ...], command: Any, shared: Container[tuple[str, str]]) -> list[str]:
    arguments, options = _params(command)
    usage = " ".join([*words, *(_metavar(p) for p in arguments), *(["[OPTIONS]"] if options else [])])
    rows = [f"| `{name}` | {text} |" for name, text in parameters(command) if (name, text) not in shared]
    known = [f"`{name.split(',')[0].split()[0]}`" for name, text in parameters(command) if (name, text) in shared]
    also = ["", f"[Also](#options-of-many-commands): {', '.join(known)}."] if known else []
    header = ["", "| argument or option | meaning |", "|---|---|"] if rows else []
    return [
        "",
        f"## {' '.join(words)}",
        "",
        command.help.strip(),
        "",
        "```text",
        usage,
        "```",
        *header,
        *rows,
        *also,
        *_examples(words),
    ]


def _variables() -> list[str]:
    text = (
        "An option on the command line counts more. Those of a connection belong to an address, never to a name (`-c`)."
    )
    rows = [f"| `{name}` | {meaning} |" for name, meaning in variables().items()]
    return ["", "## Variables of the environment", "", text, "", "| variable | stands for |", "|---|---|", *rows]


def _examples(words: tuple[str, ...]) -> list[str]:
    return ["", "```text", *(f"kfix {line}" for line in EXAMPLES[" ".join(words[1:])]), "```"]


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


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def tables_page() -> str:
    """Returns docs/tables.md."""
    head = [
        "# Tables of the fleet store",
        "",
        "Generated from `kfix/fleet/store/tables.py`; the tables themselves have the same comments. How they are",
        "stored: [fleet-store.md](fleet-store.md). Every table begins with `day` (the UTC date) and `run` (the name of",
        "the run).",
    ]
    body = (
        line
        for spec in ALL
        for line in ("", f"## {spec.name}", "", f"{spec.row[0].upper()}{spec.row[1:]}.", "", *_columns(spec))
    )
    return "\n".join([*head, *body, ""])


def _columns(spec: Any) -> list[str]:
    rows = [f"| `{c.name}` | {_type(c.type)} | {c.unit} | {_cell(c.comment)} | {c.null} |" for c in spec.columns]
    return ["| column | type | unit | meaning | null if |", "|---|---|---|---|---|", *rows]


def _type(kind: Any) -> str:
    return {
        "list<item: int64>": "list of int64",
        "list<item: string>": "list of string",
        "double": "float64",
        "timestamp[us, tz=UTC]": "timestamp",
        "date32[day]": "date",
    }.get(str(kind), str(kind))
