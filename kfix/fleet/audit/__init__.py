"""The nightly audit of a stored run: each cluster judged, compared with the audit before, scored, kept, reported."""
