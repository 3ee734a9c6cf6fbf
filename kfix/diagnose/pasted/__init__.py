"""Pasted text as a snapshot: one module for each family of formats, and `reader`, which gives each line to one."""
