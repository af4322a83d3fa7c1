"""One self-contained HTML page: everything a reader asks, in the order they ask it."""
