"""Addresses of databases, and the errors about them.

Addresses often contain passwords, written in several ways, so messages show only the parts known to be harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from spagree.errors import UsageError, opt
from spagree.read.table import listed

SHOWN_TABLES = 20
EXAMPLE = opt.query("SELECT item, annotator, label FROM …")


def needed(name: str, tables: Iterable[str]) -> UsageError:
    """The error for a database without a query; lists its tables."""
    names = list(tables)
    others = f", but not Label Studio's or doccano's (tables: {listed(names, SHOWN_TABLES)})" if names else ""
    return UsageError(f"{name}: a database{others}; say which rows to read: {EXAMPLE}")


SERVERS = ("postgresql://", "postgres://")
SQLITE = "sqlite:///"
KNOWN = "spagree reads PostgreSQL (postgresql://…) and SQLite databases (a file, or sqlite:///path)"
HARMLESS = ("service", "host", "port", "user", "dbname")
PORT = re.compile(r":([^\]/,:]*)(?=[,/]|$)")
SECRET = re.compile(r"(?i)pass|secret|token")
PAIR = re.compile(r"(?i)(\w*(?:pass|secret|token)\w*\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;]+)")
USER, JDBC = re.compile(r"^([a-zA-Z][\w+.-]+:/*[^:@/]*):.*@"), re.compile(r"^(jdbc:).*@")
HIDDEN = "…"


def is_server(address: object) -> bool:
    """Whether it is the address of a PostgreSQL server."""
    return isinstance(address, str) and address.startswith(SERVERS)


def _parts(address: str) -> tuple[str, str, list[tuple[str, str]]]:
    """What stands before the host, with @, then the host and all up to the parameters, and these."""
    before, _, parameters = address.partition("://")[2].partition("?")
    credentials, at, place = before.rpartition("@")
    pairs = (part.partition("=") for part in parameters.split("&"))
    return credentials + at, place, [(key, value) for key, _, value in pairs]


def public(address: str) -> str:
    """The address as messages show it: user, host, port, database."""
    if "://" not in address:
        hidden = PAIR.sub(rf"\1{HIDDEN}", JDBC.sub(rf"\1{HIDDEN}@", address))
        return hidden if hidden.startswith("jdbc:") else USER.sub(rf"\1:{HIDDEN}@", hidden)
    credentials, place, parameters = _parts(address)
    if not credentials and "@" in address:  # perhaps a password with a question mark
        place = place.partition(":")[0]
    place = PAIR.sub(rf"\1{HIDDEN}", place)
    place = PORT.sub(lambda match: match[0] if match[1].isdigit() else f":{HIDDEN}", place)
    user = f"{credentials.removesuffix('@').partition(':')[0]}@" if credentials else ""
    kept = "&".join(f"{key}={value}" for key, value in parameters if key in HARMLESS)
    return f"{address.partition('://')[0]}://{user}{place}{'?' if kept else ''}{kept}"


def without_secrets(text: str, address: str) -> str:
    """A driver's message without the address's password, in any spelling."""
    credentials, _, parameters = _parts(address)
    written = {credentials.removesuffix("@").partition(":")[2]}
    written |= {value for key, value in parameters if SECRET.search(key)}
    plain = {unquote(secret) for secret in written}
    spellings = written | plain | {quote(secret, safe="") for secret in plain}
    for secret in sorted(filter(None, spellings), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return PAIR.sub(rf"\1{HIDDEN}", text)


def refuse_ambiguous(address: str) -> None:
    """Refuse an ambiguous address: half of the password would be read as the host, and shown."""
    credentials, place, parameters = _parts(address)
    user, at, rest = credentials.partition("@")
    ports = [port for port in PORT.findall(place) if not port.isdigit() and port]
    is_cut = not at and ":" in place and any("@" in part for pair in parameters for part in pair)  # by a question mark
    if rest or (at and "/" in user) or ports or is_cut:
        raise not_understood(address)


def not_understood(address: str) -> UsageError:
    """The error for an address that cannot be parsed; it shows only what is safe."""
    return UsageError(
        f"{public(address)}: cannot parse the address; write postgresql://USER@HOST:PORT/DATABASE with "
        "special characters percent-encoded (%40 for @, %2F for /), and leave the password to PGPASSWORD or ~/.pgpass"
    )
