"""The same rows in a real SQLite file and in a real PostgreSQL server."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from postgres import Server

Rows = Sequence[Sequence[Any]]
Keep = Callable[[str, Rows], str]  # columns and rows → the source; the table is called labels


def in_sqlite(folder: Path) -> Keep:
    def keep(columns: str, rows: Rows) -> str:
        path = folder / "labels.db"
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.execute(f"CREATE TABLE labels ({columns})")
        if rows:
            connection.executemany(f"INSERT INTO labels VALUES ({', '.join('?' * len(rows[0]))})", rows)
        connection.commit()
        connection.close()
        return str(path)

    return keep


def in_postgres(server: Server) -> Keep:
    def keep(columns: str, rows: Rows) -> str:
        server.fill("labels", columns, rows)
        return server.address

    return keep
