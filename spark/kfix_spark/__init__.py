"""Spark as an engine of the fleet audit: the same function in its tasks, and SQL over what they found.

Nothing here is imported unless Spark is asked for (`kfix.wiring.fleet.engine`).
"""
