"""The use cases' environment: clusters, the site's settings, the time, and the person who answers.

`kfix.heal.live.clusters.live()` is the real one. A caller with other `Clusters`, such as a test with a cluster in
memory, uses the same use cases as the command line.
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
    """`environ` holds variables such as `KFIX_STATE_HOME` (docs/runbooks.md). `human` None: who is at the terminal."""

    clusters: Clusters
    clock: Clock
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    human: Human | None = None
