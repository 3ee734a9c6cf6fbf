"""Nothing in kfix writes to a terminal but through kfix.front.terminal and kfix.front.console, and nothing builds
rich's texts and tables, JSON for people, or a template, past the functions that make foreign text harmless."""

import ast
import re

import pytest

from tests.each import for_each
from tests.places import ROOT

#: What stands behind the doors.
DOORS = {"kfix/front/terminal.py", "kfix/front/console.py", "kfix/core/harmless.py"}
#: JSON that people or other programs read is `for_json`; files of kfix's own have their own writers.
PRINTED = re.compile(r"kfix/(?:api|front|shell)/|kfix/\w+/(?:report/|cli\b)")

PRINTING = {"print", "input", "Console", "Text", "Table", "Lines", "typer.echo", "typer.secho", "typer.style"}
PRINTING |= {"typer.prompt", "typer.confirm", "typer.launch", "click.echo", "click.secho", "rich.print"}
STREAMS = ("sys.stdout.", "sys.stderr.", "sys.__stdout__", "sys.__stderr__")
HARMLESS_STREAM_CALLS = {"isatty", "fileno", "flush", "reconfigure", "encoding"}
#: A file without any of these words has no way around: it is not parsed.
WORDS = re.compile(
    r"\b(?:print|input|Console|Text|Table|Lines|typer|click|rich|json|Progress|TextColumn|Environment)\b|\bsys\.\w*std"
)


def name_of(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return "?"


def calls(tree):
    return [(node, name_of(node.func)) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def ways_around(path: str, tree: ast.AST) -> list[str]:
    return [*called(path, tree), *streams(path, tree)]


def called(path: str, tree: ast.AST) -> list[str]:
    found = []
    for node, name in calls(tree):
        where = f"{path}:{node.lineno}: {name}"
        if name in PRINTING or name.startswith(("Text.", "click.")):
            found.append(where)
        if name in {"json.dumps", "json.dump"} and PRINTED.match(path):
            found.append(where)
        if name == "Progress" and "console" not in {k.arg for k in node.keywords}:
            found.append(f"{where} without a console of kfix.front.console")
        if name == "TextColumn" and "markup" not in {k.arg for k in node.keywords}:
            found.append(f"{where} with markup")
        if name == "Environment" and "for_html" not in {name_of(k.value) for k in node.keywords if k.arg == "finalize"}:
            found.append(f"{where} without finalize=for_html")
    return found


def streams(path: str, tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        name = name_of(node)
        if name.startswith(STREAMS) and name.split(".")[2:3] and name.split(".")[2] not in HARMLESS_STREAM_CALLS:
            found.append(f"{path}:{node.lineno}: {name}")
        if name in {"sys.__stdout__", "sys.__stderr__"}:
            found.append(f"{path}:{node.lineno}: {name}")
    return found


def test_nothing_prints_past_the_door():
    paths = [path for folder in ("kfix", "diagnostics", "spark") for path in sorted((ROOT / folder).rglob("*.py"))]
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in paths}
    suspects = {name: text for name, text in texts.items() if name not in DOORS and WORDS.search(text)}
    assert suspects
    assert [way for name, text in suspects.items() for way in ways_around(name, ast.parse(text))] == []


@for_each(
    "line",
    [
        "print(name)",
        "typer.echo(name)",
        "sys.stdout.write(name)",
        "sys.stderr.buffer.write(name)",
        "sys.__stdout__.write(name)",
        "console.print(Text(name))",
        "Text.from_markup(name)",
        "Console().print(name)",
        "Table()",
        "Lines(name)",
        "say(json.dumps(name))",
        "Progress()",
        "TextColumn(name)",
        "Environment(autoescape=True)",
    ],
)
def test_each_way_around_is_seen(line):
    assert WORDS.search(line)
    assert ways_around("kfix/diagnose/cli/new.py", ast.parse(line))


@pytest.mark.parametrize("folder", ["kfix/fleet/report/html/assets", "kfix/incident/report/assets"])
def test_no_script_of_a_page_turns_text_into_markup(folder):
    scripts = "".join(p.read_text() for p in (ROOT / folder).glob("*.js"))
    assert scripts
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert way not in scripts
