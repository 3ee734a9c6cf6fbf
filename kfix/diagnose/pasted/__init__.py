"""Pasted text as a snapshot: one module per family of formats; `reader` gives each line to one of them."""
