"""Adds a cluster to the text of an inventory. Every other line, comments included, stays as it is."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from kfix.core.documents.nodes import parse
from kfix.core.errors import UsageError
from kfix.core.harmless import lines
from kfix.core.inventory.load import parse_inventory

_HEAD: Final = "apiVersion: kfix/v1\nkind: Fleet\nclusters:\n"
_CLUSTERS: Final = "clusters"
_INDENT: Final = 2


def with_entry(text: str, path: Path, name: str, fields: Mapping[str, Any]) -> str:
    """Returns the text with the cluster after the others; "" starts an inventory.

    It parses the result again: that has the new cluster, and everything else is unchanged. Raises InvalidFileError for
    a mistake in the inventory or in the fields, UsageError if it already has this name or if no line can be added to
    its layout; the error then has the lines to add.
    """
    block = _block(name, fields)
    if not text.strip():
        made = _HEAD + _indented(block, _INDENT)
        parse_inventory(made, str(path), path.parent)
        return made
    if name in parse_inventory(text, str(path), path.parent).clusters:
        raise UsageError(f"{path}: already has a cluster {name!r}", hint="kfix context show NAME prints it")
    inserted = _inserted(text, block)
    if inserted is None or parse(inserted).data != _expected(text, name, fields):
        raise UsageError(
            lines(f"{path}: is written in a way that nothing is added to; add under {_CLUSTERS}:", *block.splitlines())
        )
    parse_inventory(inserted, str(path), path.parent)
    return inserted


def _block(name: str, fields: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump({name: dict(fields)}, sort_keys=False, allow_unicode=True, width=10**6))


def _indented(block: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in block.splitlines())


def _expected(text: str, name: str, fields: Mapping[str, Any]) -> Any:
    data = parse(text).data
    return {**data, _CLUSTERS: {**data[_CLUSTERS], name: dict(fields)}}


def _inserted(text: str, block: str) -> str | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    for key, value in root.value:
        if key.value == _CLUSTERS and isinstance(value, yaml.MappingNode) and value.value and not value.flow_style:
            rows = text.splitlines(keepends=True)
            at = 1 + max(_last_lines(value))
            if not rows[at - 1].endswith("\n"):
                rows[at - 1] += "\n"
            made = _indented(block, value.value[0][0].start_mark.column)
            end = "\r\n" if rows[0].endswith("\r\n") else "\n"
            return "".join([*rows[:at], made.replace("\n", end), *rows[at:]])
    return None


def _last_lines(node: yaml.Node) -> Iterator[int]:
    """Yields the last line of everything in the node; the end of a whole block lies after the comments that follow."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style:
        for key, value in node.value:
            yield key.end_mark.line
            yield from _last_lines(value)
    elif isinstance(node, yaml.SequenceNode) and not node.flow_style:
        yield node.start_mark.line
        for each in node.value:
            yield from _last_lines(each)
    else:
        mark = node.end_mark
        yield mark.line if mark.column or mark.line == node.start_mark.line else mark.line - 1
