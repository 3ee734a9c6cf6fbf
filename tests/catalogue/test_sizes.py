"""What an installation brings, in MB: kfix itself, and what each extra adds to it. A page names the same figures."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.each import for_each
from tests.places import ROOT

#: {extra: the most that it may add to kfix alone, in MB}; "" is kfix with what it always needs. kfix itself: about 6.
BUDGETS = {
    "": 55,
    "inspect": 6,
    "fleet": 400,
    "zookeeper-sasl": 1,
    "aws": 30,
    "kerberos": 12,
    "hdfs": 25,
}


@cache
def project() -> dict[str, list[str]]:
    """{extra: its requirements}, "" for those of kfix."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": found["dependencies"], **found["optional-dependencies"]}


def installed(requirements: Iterable[str], extras: frozenset[str] = frozenset()) -> dict[str, Distribution]:
    """Returns the distributions of requirements, and those that they need, by name."""
    found: dict[str, Distribution] = {}
    waiting = [(text, extras) for text in requirements]
    while waiting:
        text, of = waiting.pop()
        need = Requirement(text)
        if need.marker is not None and not any(need.marker.evaluate({"extra": each}) for each in (*of, "")):
            continue
        name = re.sub(r"[-_.]+", "-", need.name).lower()
        if name in found:
            continue
        try:
            found[name] = distribution(need.name)
        except PackageNotFoundError:
            continue
        waiting += [(more, frozenset(need.extras)) for more in found[name].requires or ()]
    return found


def megabytes(dists: Iterable[Distribution]) -> float:
    files = [Path(str(file.locate())) for each in dists for file in each.files or () if file.suffix != ".pyc"]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1_000_000


def added(extra: str) -> float:
    base = installed(project()[""])
    if not extra:
        return megabytes(base.values())
    return megabytes(each for name, each in installed(project()[extra]).items() if name not in base)


@for_each("extra", list(BUDGETS))
def test_an_installation_stays_within_its_budget(extra: str) -> None:
    size = added(extra)
    assert 0 < size <= BUDGETS[extra], f"[{extra}]: {size:.0f} MB"


def test_every_extra_of_users_has_a_budget() -> None:
    assert set(project()) - {"dev", "docs", "spark"} == set(BUDGETS)


def test_the_fleet_needs_no_library_for_its_charts() -> None:
    assert "plotly" not in installed(project()["fleet"])
