"""The catalogue: every check, in order of codes. A check is a module `kfxNNN_its_slug` in the folder of its subject."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from kfix.core.derive.checks import Check


def declared(folder: str) -> Iterator[Any]:
    """Yields the objects of the modules of checks in this folder."""
    for module in iter_modules(import_module(folder).__path__):
        if module.name.startswith("kfx"):
            yield from vars(import_module(f"{folder}.{module.name}")).values()


_FOLDERS = [each.name for each in iter_modules(__path__) if each.ispkg]
_DECLARED = (each for folder in _FOLDERS for each in declared(f"{__name__}.{folder}"))
ALL: tuple[Check, ...] = tuple(
    sorted((each for each in _DECLARED if isinstance(each, Check)), key=lambda each: each.code)
)

__all__ = ["ALL"]
