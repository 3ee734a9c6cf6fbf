"""YAML files that people write: read strictly, and every mistake told with its place."""
