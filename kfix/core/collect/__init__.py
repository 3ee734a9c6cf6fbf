"""Takes a snapshot of a live cluster: all sources in parallel, one deadline, each failure recorded as a source."""
