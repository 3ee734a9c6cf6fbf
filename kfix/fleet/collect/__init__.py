"""Fills the store: reads clusters, snapshot files, and what `kfix watch` recorded."""
