"""What runs the work and the SQL of an audit: a process pool and DuckDB on one machine, or Spark."""
