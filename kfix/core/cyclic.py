"""Switches off Python's cyclic garbage collector while a snapshot is read or a cluster is diagnosed."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Disables the collector for a while: it would scan a snapshot's many objects, which have no cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
