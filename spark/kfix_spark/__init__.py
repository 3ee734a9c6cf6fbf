"""The fleet audit on Spark: the same pure checks, one task a cluster. Its layer rule stands; the jobs come next."""
