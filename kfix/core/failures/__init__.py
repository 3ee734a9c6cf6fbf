"""Failures judged before they happen: which partitions and groups stop if brokers go down."""
