"""One look at a live cluster: every source at once, within one deadline, each failure recorded as a source."""
