"""Requests to ONE broker over its own connection, with pinned versions of Kafka's protocol (docs/adr/001)."""
