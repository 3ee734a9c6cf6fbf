"""Saved offsets, and what restoring them would change."""
