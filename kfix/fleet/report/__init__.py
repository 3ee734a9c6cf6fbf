"""The outputs of an audit. Each output has a module of its own; all are rendered from one `AuditReport`."""
