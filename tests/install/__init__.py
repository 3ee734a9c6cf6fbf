"""Installs kfix as users do, from its wheel: `make test-install`."""
