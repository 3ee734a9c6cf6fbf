"""Several snapshots of one cluster, each from its own vantage, merged into one."""
