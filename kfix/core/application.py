"""What the use cases take from outside: clusters, the settings of the site, the time, the person who is asked.

`kfix.heal.live.clusters.live()` is the real one. A caller that brings other `Clusters`, such as a test with a cluster
in memory, goes through every use case as the command line does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kfix.core.clusters import Clusters
    from kfix.core.ports import Clock, Human


@dataclass(frozen=True, slots=True)
class App:
    """`environ` holds `KFIX_STATE_HOME` and its kin (docs/runbooks.md). `human` None: the person at the terminal."""

    clusters: Clusters
    clock: Clock
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    human: Human | None = None
