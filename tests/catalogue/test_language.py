"""One vocabulary in everything that a person reads: output, pages, runbooks, help texts and docs."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from kfix_diagnostics.catalogue import pages
from tests.catalogue.pages import commands
from tests.places import ROOT

#: Words and phrases that were replaced, each with what to write instead.
BANNED = {
    r"\b(?:an?|the|this|that|each|every|one|two|second|first|earlier|later|older|newest|saved|next|last) looks?\b"
    r"(?! (?:at|like|for|up))": "snapshot",
    r"\blooked at\b": "read, checked",
    r"\blook(?:s|ing)? again\b": "diagnose again, read again",
    r"\bnobody\b|\bsomebody\b": "no client, no broker, an operator, or the passive voice",
    r"\b(?:is|are|was|were|be|been|being) told\b|\btold (?:of|by|as|only|where|twice|once)\b": "is reported, shown",
    r"\btells? (?:which|who|whom|how|what|whether|nothing|it|of|too|no)\b": "shows, reports, states",
    r"\bin sync lives?\b|\b(?:replicas?|brokers?|leaders?|controllers?) (?:\d+ )?lives?\b|\bwho lives\b": "is alive",
    r"\bspeaks? (?:for|against)\b": "evidence for, ruled out",
    r"\bnot read, so not known\b|\bopen stays\b": "not read, still unknown",
    r"\bwhat helps\b|\bleast harm first\b": "remedies, safest first",
    r"\bwhat (?:not to do:|must not be done\b)": "do not",
    r"\bfollows from this\b": "consequences",
    r"\buntil (?:whole|served)\b": "time to full recovery, time to service restored",
    r"\bbites?\b": "latent risk",
    r"\bnight(?:ly|s)?\b": "audit run, previous audit",
    r"\bgoes on\b|\bgo on with\b|\bat hand\b": "continues, available",
    r"\bwhom to start\b|\bjudged is\b|\bin every ending\b|\blie closer\b|\bcan never be\b": "an ordinary sentence",
    r"\bmade of not known\b|\bnot what it waits for\b|\bnothing is said of\b": "an ordinary sentence",
    r"\bgood reads?\b": "successful check",
}
#: Ids of documents that are not in this repository.
INTERNAL = (
    r"\b(?:kafka|kraft|group)-facts\b|\bbaselines? \d|\bprior-art\b|\bdesign[: ]+[A-Z]\d|\(design: |\([A-E]\d[a-z]?\)"
)
INCIDENT_LETTER = r"(?m)^[-*# ]*\b[A-E]\d[a-z]?:\s|\bIncidents? [A-E]\d\b"
NOUNS = (
    "partition|broker|record|replica|group|topic|step|server|snapshot|finding|cluster|run|source|second|line|item|file"
)
PLURAL = (
    rf"(?<![\w.])1 (?:{NOUNS})s\b(?! of)"
    rf"|(?<![\w.,-])(?<!type )(?:[2-9]|[1-9]\d+) (?:{NOUNS})\b(?![-/s:'(]|\.\w| (?:of|id|ids|name|settings?|order|\d))"
    r"|\bbrokers \d+(?:, \d+)+ (?:is|was|has|does|lives)\b|(?<!, )\bbroker \d+ (?:are|were|have)\b"
)
LONG_DURATION = r"\b\d+\.\d{3,} ?s\b"
#: In prose only: field names, conditions, options and codes keep Kafka's and Python's spelling.
LOWER_ISR = r"(?<![\w.`/_=\"'-])isr(?![\w.`_=\"'-])"


def without_code(text: str) -> str:
    """Returns Markdown without code blocks and code spans, with its lines kept."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "`", text)


def wrong(text: str) -> Iterator[str]:
    """Yields each breach as `words in context (what to write)`; a phrase may run over the end of a line."""
    joined = re.sub(r"\n[ \t#>*-]*", " ", text)
    checks = [(pattern, f"write: {instead}", re.IGNORECASE, joined) for pattern, instead in BANNED.items()]
    plain = re.RegexFlag(0)
    checks += [
        (INTERNAL, "an internal document", plain, joined),
        (INCIDENT_LETTER, "the letter of an incident", plain, text),
        (PLURAL, "singular or plural", plain, text),
        (LONG_DURATION, "round it", plain, text),
        (LOWER_ISR, "ISR", plain, text),
    ]
    for pattern, why, flags, where in checks:
        for match in re.finditer(pattern, where, flags):
            around = where[max(0, match.start() - 30) : match.end() + 30].replace("\n", " ")
            yield f"{match[0]!r} in {around!r} ({why})"


def files() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "runbooks").glob("*.yaml")]
    found += [ROOT / name / "README.md" for name in ("diagnostics", "examples", "runbooks", "spark")]
    found += [path for path in (ROOT / "tests" / "golden").rglob("*") if path.suffix in {".txt", ".md"}]
    return sorted(path for path in found if path.is_file())


def test_a_file_that_people_read_keeps_to_the_vocabulary() -> None:
    texts = {path.relative_to(ROOT): path.read_text() for path in files()}
    prose = {path: without_code(text) if path.suffix == ".md" else text for path, text in texts.items()}
    assert [f"{path}: {breach}" for path, text in prose.items() for breach in wrong(text)] == []


def test_the_page_of_a_code_keeps_to_the_vocabulary() -> None:
    texts = {check.code: check.page for check in pages()}
    assert [f"{code}: {breach}" for code, text in texts.items() for breach in wrong(text)] == []


def test_help_texts_keep_to_the_vocabulary() -> None:
    found = []
    for words, command in commands():
        helps = [command.help, *(getattr(p, "help", "") or "" for p in command.params)]
        found += [f"{' '.join(words)}: {breach}" for text in helps for breach in wrong(text)]
    assert found == []


def prose_of(path: Path) -> Iterator[str]:
    """Yields the docstrings and the comments of a file of code, without code spans."""
    text = path.read_text()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and (docstring := ast.get_docstring(node)):
            yield without_code(docstring)
    if "#" not in text:
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield without_code(token.string)


@pytest.mark.parametrize("folder", ["kfix", "diagnostics", "spark", "examples"])
def test_docstrings_and_comments_keep_to_the_vocabulary(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    prose = {path.relative_to(ROOT): "\n¶\n".join(prose_of(path)) for path in paths}
    assert [f"{path}: {breach}" for path, text in prose.items() for breach in wrong(text)] == []


def test_no_class_name_is_defined_twice() -> None:
    folders = [ROOT / "kfix", ROOT / "diagnostics" / "kfix_diagnostics", ROOT / "spark" / "kfix_spark"]
    places: dict[str, list[str]] = {}
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        for name in re.findall(r"^ *class ([A-Za-z]\w*)[:(\[]", path.read_text(), re.MULTILINE):
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert places
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
