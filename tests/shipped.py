"""The runbooks of kfix, read once a process: they are frozen, and reading all of them takes half a second."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

from kfix.heal.model.runbook import Runbook
from kfix.heal.runbook.catalogue import load, load_all

Model = TypeVar("Model", bound=BaseModel)


@cache
def runbook(name: str) -> Runbook:
    return load(name, None)


@cache
def runbooks() -> Mapping[str, Runbook]:
    return {book.id: book for book in load_all(None)}


def changed(part: Model, **fields: Any) -> Model:
    """Returns a runbook, or a part of one, with other values of these fields."""
    return part.model_copy(update=fields)
