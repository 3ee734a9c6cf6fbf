"""The recorder: snapshots in a bounded ring of files, which stores only differences (docs/watch.md)."""
