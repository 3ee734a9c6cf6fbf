"""A cluster in memory that follows Kafka's own rules: for unit tests, and for the tests inside runbooks."""
