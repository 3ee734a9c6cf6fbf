"""YAML files that people write: they are read strictly, and every mistake is reported with its place."""
