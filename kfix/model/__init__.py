"""Frozen dataclasses of the standard library, and pure functions over them. Nothing here reads or changes anything."""
