"""The test files that a change can reach: those whose imports lead to a changed file, or that were changed.

It misses tests that reach the product only by a process or a data file, about one in eight: for a desk, never for CI.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import grimp

from tests.places import ROOT

#: Folders on the path of imports, the longest first.
_TOPS = ("diagnostics/", "spark/", "")
_PACKAGES = ("kfix", "kfix_diagnostics", "kfix_spark", "tests")
#: Packages that import all of their modules by name.
_BY_NAME = ("kfix_diagnostics", "kfix.lab.incidents")


def changed_files(base: str) -> list[str]:
    """Paths below the root that differ from this commit, and those that git does not know yet."""
    ask = (["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"])
    return [line for words in ask for line in subprocess.check_output(words, cwd=ROOT, text=True).splitlines()]


def tests_that_reach(paths: Iterable[str]) -> list[str]:
    graph = grimp.build_graph(*_PACKAGES, cache_dir=str(ROOT / ".import_linter_cache"))
    for package in _BY_NAME:
        for module in graph.find_descendants(package):
            graph.add_import(importer=package, imported=module)
    found: set[str] = set()
    for module in filter(None, map(module_of, paths)):
        if module in graph.modules:
            found |= {module, *graph.find_downstream_modules(module)}
    return sorted(path for path in map(_path_of, found) if Path(path).name.startswith("test_"))


def module_of(path: str) -> str | None:
    """`kfix.heal.model.plan` of kfix/heal/model/plan.py; None if it is no module."""
    top = next(top for top in _TOPS if path.startswith(top))
    parts = path.removeprefix(top).removesuffix(".py").split("/")
    if not path.endswith(".py") or parts[0] not in _PACKAGES:
        return None
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _path_of(module: str) -> str:
    return module.replace(".", "/") + ".py"
