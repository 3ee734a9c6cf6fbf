"""Every moment of a good run, and stages that go on from each of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kfix.heal.model.plan import Plan
from tests.proofs.scenarios import Scenario
from tests.proofs.stage import Moment, Stage, World, world


class Killing:
    """Takes a moment after every record, and one after every call whose result is not recorded yet."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder
        self.moments: list[Moment] = []
        stage.listeners.append(lambda r: self.take(f"record {r['seq']} {r['type']} {r.get('step', '')}"))

    def take(self, what: str) -> None:
        self.moments.append(self.stage.moment(self.folder / f"{len(self.moments)}", what))

    @property
    def changer(self) -> Any:
        return AfterCalls(self.stage.cluster, self.take)


class AfterCalls:
    """The cluster as a changer, and a word to somebody between a call and its answer."""

    def __init__(self, cluster: Any, then: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._then = then

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cluster, name)

        def call(*args: Any, **more: Any) -> Any:
            result = method(*args, **more)
            self._then(f"call {name} {args}")
            return result

        return call


class Uninterrupted:
    """The good run, and all its moments."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.folder = folder
        self.stage = Stage(scenario, folder / "good" / "kfix")
        self.plan: Plan = self.stage.plan()
        self.before: World = world(self.stage.cluster)
        killing = Killing(self.stage, folder / "moments")
        self.healed = self.stage.run(self.plan, changer=killing.changer)
        self.moments = killing.moments
        self.after: World = world(self.stage.cluster)

    def again(self) -> Iterator[tuple[Moment, Stage]]:
        for moment in self.moments:
            yield moment, self.stage.at(moment)


def distinct(moments: list[Moment]) -> list[Moment]:
    """Moments of which no other is the like: one of each kind of record of each kind of step, and every thirtieth."""
    seen: Counter[str] = Counter()
    found = []
    for number, moment in enumerate(moments):
        kind = moment.what.partition(" ")[2].partition(":")[0].lstrip("0123456789 ")
        seen[kind] += 1
        if seen[kind] == 1 or number % 30 == 0 or number >= len(moments) - 2:
            found.append(moment)
    return found


EVERYWHERE = "KFIX_FUZZ" in os.environ
