"""The recorder: snapshots in a bounded ring of files, of which only differences are stored (docs/watch.md)."""
