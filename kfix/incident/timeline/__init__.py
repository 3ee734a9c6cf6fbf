"""The timeline of an incident, built from snapshots, run journals and broker log entries. Pure: reads no file."""
