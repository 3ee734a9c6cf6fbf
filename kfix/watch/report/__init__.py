"""What a watch shows: a terminal view, lines for a log, and Prometheus metrics."""
