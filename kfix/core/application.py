"""What the use cases take from outside: clusters, the settings of the site, the time, the person who is asked.

`App.live()` is the real one. A caller that brings other `Clusters`, such as a test with a cluster in memory, goes
through every use case as the command line does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kfix.core.clusters import Clusters
    from kfix.core.ports import Clock
    from kfix.heal.gate.gates import Human


@dataclass(frozen=True, slots=True)
class App:
    """`environ` holds `KFIX_STATE_HOME` and its kin (docs/runbooks.md). `human` None: the person at the terminal."""

    clusters: Clusters
    clock: Clock
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    human: Human | None = None

    @staticmethod
    def live() -> App:
        # Only who asks for live clusters pays for their adapters.
        from kfix.core.clock import SystemClock  # noqa: PLC0415
        from kfix.heal.live.clusters import LiveClusters  # noqa: PLC0415

        return App(LiveClusters(), SystemClock())
