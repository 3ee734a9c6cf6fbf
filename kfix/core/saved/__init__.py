"""Snapshots on disk: named files, and a small store with the last snapshots of every cluster."""
