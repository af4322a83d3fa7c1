"""What the monitor takes: durable requests per second, answers, refresh, start and memory.

    python benchmarks/monitor.py [--annotations 1000000] [--seconds 10]

The server runs as people start it; 64 connections post to it from another process on the same machine.
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
from pathlib import Path

import httpx
import numpy as np

from spagree.monitor.events import Row
from spagree.monitor.ledger import Ledger
from spagree.monitor.live import look
from spagree.monitor.store import Store

CONNECTIONS, BATCH = 64, 1000


def started(store: Path) -> tuple[subprocess.Popen[str], str]:
    line = [sys.executable, "-m", "spagree", "monitor", "--port", "0", "--store", str(store)]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    return process, process.stderr.readline().split()[-1]


async def post(address: str, seconds: float, size: int) -> tuple[float, list[float]]:
    """Annotations per second, and how long each request took."""
    taken, times, end = 0, [], time.monotonic() + seconds

    async def one(client: httpx.AsyncClient, worker: int) -> None:
        nonlocal taken
        number = 0
        while time.monotonic() < end:
            rows = [{"item": f"{worker}-{(number + i) // 3}", "annotator": f"a{(number + i) % 3}", "label": "xyz"[i % 3]}
                    for i in range(size)]  # fmt: skip
            start = time.monotonic()
            answer = await client.post("/api/v1/annotations", content=json.dumps(rows if size > 1 else rows[0]))
            answer.raise_for_status()
            times.append(time.monotonic() - start)
            number += size
            taken += size

    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        await client.get("/healthz")
        start = time.monotonic()
        await asyncio.gather(*(one(client, worker) for worker in range(CONNECTIONS if size == 1 else 4)))
        return taken / (time.monotonic() - start), times


def filled(path: Path, annotations: int) -> None:
    store = Store(str(path))
    random = np.random.default_rng(0)
    labels = random.choice(["x", "y", "z"], annotations, p=[0.8, 0.1, 0.1])
    for start in range(0, annotations, 50_000):
        store.write([Row("p", "q", "api", str(i), f"item {i // 3}", f"a{i % 3 + 3 * (i // 3 % 16)}", str(labels[i]), 1.0,
                         float(i), deleted=False, seq=i + 1, arrived=float(i)) for i in range(start, min(start + 50_000, annotations))])  # fmt: skip
    store.close()


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--annotations", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for size in (1, BATCH):
            process, address = started(Path(folder) / f"{size}.sqlite")
            rate, times = asyncio.run(post(address, options.seconds, size))
            process.terminate()
            process.wait()
            p99 = np.quantile(times, 0.99) * 1000
            print(
                f"{size:>5} per request: {rate:,.0f} annotations/s, p99 {p99:.0f} ms, slowest {max(times) * 1000:.0f} ms"
            )
        path = Path(folder) / "large.sqlite"
        filled(path, options.annotations)
        before, start = memory(), time.perf_counter()
        store, ledger = Store(str(path)), Ledger()
        ledger.put(store.rows())
        loaded = time.perf_counter() - start
        per = (memory() - before) / options.annotations
        store.close()
        disk = sum(each.stat().st_size for each in Path(folder).glob("large.sqlite*")) / options.annotations
        print(
            f"{options.annotations:,} stored annotations: started in {loaded:.1f} s, {per:.0f} B memory, {disk:.0f} B disk each"
        )
        start, cpu = time.perf_counter(), time.process_time()
        look("p", "q", ledger.columns("p", "q"))
        print(f"all figures: {time.perf_counter() - start:.2f} s ({time.process_time() - cpu:.2f} s of processor)")


if __name__ == "__main__":
    main()
