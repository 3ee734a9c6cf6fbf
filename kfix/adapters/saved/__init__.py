"""Snapshots on disk: one file by name, and a small store that remembers the last ones of every cluster."""
