"""`kfix watch`: one process that reads a cluster again and again, judges, records and reports what has changed."""
