"""Notifications: where they go, in which form, and their delivery (docs/watch.md)."""
