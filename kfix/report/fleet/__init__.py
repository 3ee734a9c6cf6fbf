"""One audit of many clusters, in every shape: each output has a file, all are made of one `AuditReport`."""
