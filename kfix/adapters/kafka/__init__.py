"""Asking ONE broker, over a connection of its own, with pinned versions of Kafka's protocol (see docs/adr/001)."""
