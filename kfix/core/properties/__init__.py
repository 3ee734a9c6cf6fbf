"""The client properties file of Kafka's own tools, read as Java and Kafka read it."""
