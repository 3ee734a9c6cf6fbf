"""Zones of a lab: a network namespace each, joined by a bridge in one of its own, and the cuts between them."""
