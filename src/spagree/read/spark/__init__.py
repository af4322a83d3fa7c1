"""Files on a Spark cluster as a table."""
