"""Brokers' own logs: controller.log, state-change.log and server.log, rotated or packed, or all loggers in one file."""
