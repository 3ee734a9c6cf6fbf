"""Every line of Kafka with every security and mechanism, cell by cell, on real brokers: `make test-security`."""
