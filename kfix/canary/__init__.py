"""A client of its own that produces, consumes and joins groups, and removes what it made (docs/canary.md)."""
