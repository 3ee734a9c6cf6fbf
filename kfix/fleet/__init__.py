"""Many clusters at once: collecting and auditing them with all cores, and synthetic clusters for tests and demos."""
