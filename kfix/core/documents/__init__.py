"""Strict reading of YAML files that people write: every mistake is reported with its place."""
