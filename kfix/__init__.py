"""kfix: diagnose a sick Kafka cluster, heal it behind gates, prove it."""

__version__ = "0.1.0"
