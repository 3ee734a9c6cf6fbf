"""Broker logs: controller.log, state-change.log and server.log, rotated or gzipped, or all loggers in one file."""
