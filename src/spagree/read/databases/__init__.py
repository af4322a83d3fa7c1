"""PostgreSQL and SQLite: the rows of a query as a table."""
