"""One file for asking others: a snapshot, its diagnosis, journals, versions and settings, without secrets."""
