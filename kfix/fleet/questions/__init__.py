"""The questions of a fleet, a file of SQL each (docs/fleet-questions.md)."""
