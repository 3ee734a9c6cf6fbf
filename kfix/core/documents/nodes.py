"""YAML as operators mean it, with the place of every value.

PyYAML's own loader keeps the last of two equal keys, reads `no` as false, `010` as 8 and `12:30` as a number; here only
the scalars of YAML 1.2's core schema exist, a repeated key is a mistake, and anchors, aliases and tags are refused. All
mistakes of a file are collected; only broken syntax ends the reading.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from kfix.core.documents.problems import Path, Position, short

MAX_BYTES = 256 * 1024
_MAX_DEPTH = 24
_LONGEST_NUMBER = 40
#: PyYAML needs seconds to scan a thousand brackets ahead.
_TOO_DEEP = re.compile(r"""(?:[\[{][\s\w:'"]{0,40}){64}""")
_REFERENCE = re.compile("[&*!]")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# Text that is not a number here, but looks like one to a hurried reader or to another YAML parser.
_ODD_NUMBER = re.compile(r"[-+]?0[0-9]+|0[xob][0-9a-fA-F]+|[-+]?[0-9]+(:[0-9]{2})+")


@dataclass(slots=True)
class Document:
    """`data` is plain lists, dicts and scalars; `values` and `keys` give the place of each path."""

    data: Any = None
    values: dict[Path, Position] = field(default_factory=dict)
    keys: dict[Path, Position] = field(default_factory=dict)
    problems: list[tuple[Position, str]] = field(default_factory=list)

    def place(self, path: Path, *, at_key: bool = False) -> Position:
        """Returns the nearest known place: a missing value is reported at the object that lacks it."""
        for end in range(len(path), -1, -1):
            short = path[:end]
            if at_key and short in self.keys:
                return self.keys[short]
            if short in self.values:
                return self.values[short]
        return Position(1, 1)


def parse(text: str, what: str = "runbook", largest: int = MAX_BYTES) -> Document:
    """Returns the document. `what` is the kind of file, for messages; `largest` is in bytes."""
    document = Document()
    if len(text.encode()) > largest:
        document.problems.append((Position(1, 1), f"larger than {largest // 1024} KiB: no {what} is that long"))
        return document
    nodes = _compose(text, document)
    if not nodes:
        return document
    if len(nodes) > 1:
        document.problems.append((_place(nodes[1]), f"a second document; one file holds one {what}"))
    if not _refuse_references(text, document):
        document.data = _value(nodes[0], (), document)
    return document


class _Shallow(yaml.SafeLoader):
    """Stops at the first value that is nested too deep: reading 100 000 levels to the end would take minutes."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        if self._depth > _MAX_DEPTH + 1:
            loader: Any = self
            mark = loader.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {_MAX_DEPTH} levels", problem_mark=mark)
        try:
            node: yaml.Node | None = super().compose_node(parent, index)
        finally:
            self._depth -= 1
        return node


def _compose(text: str, document: Document) -> list[yaml.Node]:
    if found := _TOO_DEEP.search(text):
        before = text[: found.start()]
        place = Position(before.count("\n") + 1, found.start() - before.rfind("\n"))
        document.problems.append((place, f"nested deeper than {_MAX_DEPTH} levels"))
        return []
    try:
        nodes = list(yaml.compose_all(text, Loader=_Shallow))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)
        document.problems.append((place, f"not YAML: {error.problem or error.context}"))
    except yaml.YAMLError as error:
        document.problems.append((Position(1, 1), f"not YAML: {' '.join(str(error).split())}"))
    else:
        if not nodes:
            document.problems.append((Position(1, 1), "the file is empty"))
        return nodes
    return []


def _place(node: yaml.Node | yaml.Event) -> Position:
    mark = node.start_mark
    return Position(mark.line + 1, mark.column + 1) if mark is not None else Position(1, 1)


def _refuse_references(text: str, document: Document) -> bool:
    """Refuses aliases. Composing has followed them, but the events still show them. A cycle must not be walked."""
    found = False
    if not _REFERENCE.search(text):  # Reading the events takes as long as everything else.
        return False
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        place = _place(event)
        if isinstance(event, yaml.AliasEvent):
            document.problems.append((place, "aliases (*name) are refused: write the value out"))
            found = True
        elif getattr(event, "anchor", None):
            document.problems.append((place, "anchors (&name) are refused: write the value out"))
        elif tag := getattr(event, "tag", None):
            document.problems.append((place, f"tags are refused: {short(tag)}"))
    return found


def _value(node: yaml.Node, path: Path, document: Document) -> Any:
    document.values[path] = _place(node)
    if len(path) > _MAX_DEPTH:
        document.problems.append((_place(node), f"nested deeper than {_MAX_DEPTH} levels"))
        return None
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, document)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, i), document) for i, item in enumerate(node.value)]
    assert isinstance(node, yaml.ScalarNode)
    return _scalar(node, document)


def _mapping(node: yaml.MappingNode, path: Path, document: Document) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            document.problems.append((_place(key_node), "a key must be plain text"))
            continue
        key = key_node.value
        if key in found:
            first = document.keys[(*path, key)]
            text = f"the key {short(key)} is already on line {first.line}"
            document.problems.append((_place(key_node), text))
            continue
        document.keys[(*path, key)] = _place(key_node)
        found[key] = _value(value_node, (*path, key), document)
    return found


def _number(text: str, node: yaml.Node, document: Document) -> int | float | None:
    if len(text) > _LONGEST_NUMBER:
        document.problems.append((_place(node), f"a number of {len(text)} digits: no value is that large"))
        return None
    return float(text) if "." in text else int(text)


def _scalar(node: yaml.ScalarNode, document: Document) -> int | float | str | bool | None:
    text: str = node.value
    if node.style is not None:
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text) or _FLOAT.fullmatch(text):
        return _number(text, node, document)
    if _ODD_NUMBER.fullmatch(text):
        document.problems.append(
            (_place(node), f"{text[:60]} is read differently by every tool: quote it, or write it plainly")
        )
    return text
