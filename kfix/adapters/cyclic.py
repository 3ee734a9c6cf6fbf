"""Python's cycle collector, kept out of looks, judgements and audits."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """A look makes many objects and no cycles: Python's cycle collector would walk all of them, over and over."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
