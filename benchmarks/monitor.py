"""What the monitor can take: durable annotations per second, answers, refresh, start, memory and disk.

    python benchmarks/monitor.py [--annotations 1000000] [--seconds 8]

The server runs as people start it. Requests come over 64 connections from another process on the same machine, so that
client and server share its cores; the processor time of the server alone is measured too. Writes
docs/studies/monitor-load.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
from publish import publish

from spagree.monitor.ledger import Reported
from spagree.monitor.store import Store

CONNECTIONS, BATCH = 64, 1000
AIMS = {1: 2_000, BATCH: 50_000}
TICKS = os.sysconf("SC_CLK_TCK")


Measured = tuple[str, float]


@dataclass
class Server:
    process: subprocess.Popen[str]
    address: str

    def processor(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def started(store: Path) -> Iterator[Server]:
    line = [sys.executable, "-m", "spagree", "monitor", "--port", "0", "--store", str(store)]
    with store.with_suffix(".log").open("w+") as log, subprocess.Popen(line, stderr=log, text=True) as process:
        try:
            while "live page" not in (text := store.with_suffix(".log").read_text()):
                if process.poll() is not None:
                    raise RuntimeError(text)
                time.sleep(0.02)
            address = text.split("live page: ")[1].split()[0]
            with httpx.Client(base_url=address) as client:
                client.get("/healthz")
            yield Server(process, address)
        finally:
            process.terminate()


@dataclass(frozen=True)
class Load:
    """The result of posting for a while; times are those of single requests."""

    annotations: float
    """Per second."""
    times: list[float]
    processor: float
    """Seconds of the server's processor time per second."""

    def rows(self, size: int) -> list[Measured]:
        p50, p99 = np.quantile(self.times, [0.5, 0.99])
        per_processor = self.annotations / self.processor
        names = ("per second", "per processor second", "median", "p99", "slowest")
        values = (self.annotations, per_processor, p50, p99, max(self.times))
        return [(f"{size} per request: {name}", float(value)) for name, value in zip(names, values, strict=True)]


def bodies(worker: int, size: int) -> Iterator[bytes]:
    """Requests of one connection, each about other annotations."""
    number = int(time.time() * 1000) * size
    while True:
        rows = [{"item": f"{worker}-{(number + i) // 3}", "annotator": f"a{(number + i) % 3}", "label": "xyz"[i % 3]}
                for i in range(size)]  # fmt: skip
        body = json.dumps(rows if size > 1 else rows[0]).encode()
        head = f"POST /api/v1/annotations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        yield head.encode() + body
        number += size


async def post(server: Server, seconds: float, size: int, connections: int) -> Load:
    """Post over several connections, each request after the answer to the one before."""
    where = urlsplit(server.address)
    times: list[float] = []
    end = time.monotonic() + seconds

    async def one(worker: int) -> None:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        for request in bodies(worker, size):
            start = time.monotonic()
            if start > end:
                break
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head)
            times.append(time.monotonic() - start)
        writer.close()

    start, before = time.monotonic(), server.processor()
    await asyncio.gather(*(one(worker) for worker in range(connections)))
    passed = time.monotonic() - start
    return Load(len(times) * size / passed, times, (server.processor() - before) / passed)


def filled(path: Path, annotations: int) -> None:
    """A project of 48 annotators, three annotations for each item."""
    store = Store(str(path))
    random = np.random.default_rng(0)
    labels = random.choice(["x", "y", "z"], annotations, p=[0.8, 0.1, 0.1])
    for start in range(0, annotations, 50_000):
        numbers = range(start, min(start + 50_000, annotations))
        names = ((str(i), f"item {i // 3}", f"a{i % 3 + 3 * (i // 3 % 16)}", str(labels[i])) for i in numbers)
        whole = (Reported("p", "q", "api", *each, 1.0) for each in names)
        store.write([each._replace(time=float(i), seq=i + 1) for i, each in zip(numbers, whole, strict=True)])
    store.close()


def refreshed(client: httpx.Client, server: Server) -> tuple[float, float]:
    """Seconds from a posted annotation to the new number, and seconds of processor time."""
    shown = annotations_of(client)
    start, before = time.monotonic(), server.processor()
    new = {"item": "item 0", "annotator": f"new {shown}", "label": "x", "project": "p", "question": "q"}
    client.post("/api/v1/annotations", json=new)
    while annotations_of(client) == shown:
        time.sleep(0.01)
    return time.monotonic() - start, server.processor() - before


def annotations_of(client: httpx.Client) -> int:
    """How many annotations the latest figures are about."""
    return int(client.get("/api/v1/projects").json()["questions"][0]["annotations"])


def to_page(server: Server, times: int = 30) -> list[float]:
    """Seconds from a webhook to the page's new figures, as a page gets them: it is notified, then asks."""
    delays = []
    with httpx.Client(base_url=server.address, timeout=60) as client, httpx.Client(base_url=server.address) as other:
        for number in range(300):
            client.post("/hooks/potato", json=webhook(number))
        with other.stream("GET", "/events") as events:
            changed = (line for line in events.iter_lines() if line == "event: changed")
            for number in range(300, 300 + times):
                time.sleep(0.6)
                start = time.monotonic()
                client.post("/hooks/potato", json=webhook(number))
                next(changed)
                client.get("/changing", params={"project": "potato"})
                delays.append(time.monotonic() - start)
    return delays


def webhook(number: int) -> dict[str, object]:
    """What potato sends when somebody has annotated."""
    data = {
        "user_id": f"a{number % 3}",
        "instance_id": f"item {number // 3}",
        "annotations": {"mood": "xyz"[number % 7 // 3]},
    }
    return {"event": "annotation.created", "timestamp": time.time(), "data": data}


def of_large(folder: Path, annotations: int) -> list[Measured]:
    """Start, refresh, memory and disk of a large project."""
    path = folder / "large.sqlite"
    filled(path, annotations)
    disk = sum(each.stat().st_size for each in folder.glob("large.sqlite*")) / annotations
    with started(folder / "empty.sqlite") as server:
        nothing = server.memory()
    start = time.monotonic()
    with started(path) as server, httpx.Client(base_url=server.address, timeout=600) as client:
        loaded, loaded_processor = time.monotonic() - start, server.processor()
        annotations_of(client)
        first = time.monotonic() - start
        start = time.monotonic()
        client.get("/")
        shown = time.monotonic() - start
        wait, processor = min(refreshed(client, server) for _ in range(3))
        memory = (server.memory() - nothing) / annotations
    measured = {
        "start": loaded,
        "start processor": loaded_processor,
        "first figures": first,
        "first page": shown,
        "refresh": wait,
    }
    return [*measured.items(), ("refresh processor", processor), ("memory", memory), ("disk", disk)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--annotations", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--warm-up", type=float, default=3, help="seconds before: everything is imported by then")
    options = parser.parse_args()
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory() as name:
        for size, connections in ((1, CONNECTIONS), (BATCH, 4)):
            with started(Path(name) / f"{size}.sqlite") as server:
                asyncio.run(post(server, options.warm_up, size, connections))
                measured += asyncio.run(post(server, options.seconds, size, connections)).rows(size)
        with started(Path(name) / "page.sqlite") as server:
            measured.append(("webhook to page", float(np.median(to_page(server)))))
        print(*measured, sep="\n", flush=True)
        measured += of_large(Path(name), options.annotations)
    measured.append(("load", os.getloadavg()[1]))
    rows = [{"what": what, "value": value} for what, value in measured]
    publish("monitor-load", rows, page(dict(measured), options.annotations))


def _priority() -> str:
    """Whether others had to wait; otherwise rates and waits are those of a shared machine."""
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        return "With more programs than cores, rates and waits\nare those of a busy machine. "
    return "Client and server had priority over them\n(`chrt -r 1`), except on the disk. "


def page(measured: dict[str, float], annotations: int) -> str:
    lines = "\n".join(
        f"| {size:,} | {measured[f'{size} per request: per second']:,.0f} "
        f"| {measured[f'{size} per request: per processor second']:,.0f} | {AIMS[size]:,} | "
        + " | ".join(
            f"{measured[f'{size} per request: {name}'] * 1000:.0f} ms" for name in ("median", "p99", "slowest")
        )
        + " |"
        for size in (1, BATCH)
    )
    return f"""# Load of the monitor

Written by `benchmarks/monitor.py`: single annotations over {CONNECTIONS} connections, batches over 4; every answer comes after
the annotations are on disk (SQLite, WAL, synchronous=FULL). Client and server share the {os.cpu_count()} cores of the machine with
whatever else runs on it: on average {measured["load"]:.1f} programs were ready to run. {_priority()}Processor time is that of the server alone.

| annotations per request | per second | per second of the server's processor time | aim | median | p99 | slowest |
|--:|--:|--:|--:|--:|--:|--:|
{lines}

The aim for single annotations is a p99 of 100 ms and 1 s at most. From a webhook to the new figures on the page it takes
{measured["webhook to page"] * 1000:.0f} ms (median of 30; aim 100 ms).

With {annotations:,} annotations stored:

| | measured | processor time | aim |
|---|--:|--:|--:|
| start until the first answer | {measured["start"]:.1f} s | {measured["start processor"]:.1f} s | 10 s |
| start until every figure is measured | {measured["first figures"]:.1f} s | | |
| the whole page, the first time | {measured["first page"]:.1f} s | | |
| from a posted annotation to the new number | {measured["refresh"]:.2f} s | {measured["refresh processor"]:.2f} s | 1 s |
| memory of the server per annotation | {measured["memory"]:.0f} B | | 1,000 B |
| disk per annotation | {measured["disk"]:.0f} B | | |
"""


if __name__ == "__main__":
    main()
