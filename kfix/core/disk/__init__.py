"""Reads the log directories of brokers from disk: one module per format. Files are opened for reading only."""
