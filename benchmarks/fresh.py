"""A job in a process of its own: its time, its peak memory, its value, or how it failed.

Time runs from before the first import to the value. A job that takes too long or too much memory is ended, and
that is its result.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

GB = 1024**3
LEAST_FREE = GB  # memory that is left to the others on the machine

MEASURED = """
import json, resource, time
start, value = time.perf_counter(), None
{job}
seconds = time.perf_counter() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # of this process alone
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print()
print(json.dumps([seconds, int(peak.split()[1]) / 1024**2, value, sum(each.ru_utime + each.ru_stime for each in used)]))
"""


@dataclass(frozen=True)
class Limits:
    seconds: float = 600
    memory: float = 20
    """GB, of the process and those it started."""


@dataclass(frozen=True)
class Outcome:
    """``memory`` in GB; ``failure`` is empty when the job came to its end; ``cpu`` seconds of all its threads."""

    seconds: float
    memory: float
    value: Any = None
    failure: str = ""
    cpu: float = 0.0


def run(job: str, limits: Limits, python: str = sys.executable) -> Outcome:
    """Run Python code, which may set ``value``."""
    return watched([python, "-c", MEASURED.format(job=job)], limits, reports=True)


def command(arguments: list[str], limits: Limits) -> Outcome:
    """Run a command as a whole; its value is what it prints."""
    return watched(arguments, limits, reports=False)


def watched(arguments: list[str], limits: Limits, *, reports: bool) -> Outcome:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        # Compiled modules are kept, as on a user's machine, whatever is set here.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        start = time.perf_counter()
        process = subprocess.Popen(arguments, stdout=out, stderr=err, start_new_session=True, env=environment)
        try:
            peak, stopped = watch(process, limits)
        finally:
            end(process)
        seconds = time.perf_counter() - start
        failure = stopped or (last_line(err) or "ended by the system") * (process.returncode != 0)
        printed = text(out)
    if failure or not reports:
        return Outcome(seconds, peak, printed, failure)
    own_seconds, own_peak, value, cpu = json.loads(printed.splitlines()[-1])
    return Outcome(own_seconds, max(own_peak, peak), value, cpu=cpu)


def watch(process: subprocess.Popen[bytes], limits: Limits) -> tuple[float, str]:
    """The peak memory in GB, and why the process has to be stopped, if it has."""
    peak, start = 0.0, time.perf_counter()
    while process.poll() is None:
        peak = max(peak, resident(process.pid) / GB)
        if peak > limits.memory:
            return peak, f"out of memory: more than {limits.memory:g} GB"
        if available() < LEAST_FREE:
            return peak, f"out of memory: {peak:.1f} GB, and the machine has no more"
        if time.perf_counter() - start > limits.seconds:
            return peak, f"not done after {limits.seconds:g} s"
        time.sleep(0.02 if peak < 1 else 0.1)
    return peak, ""


def resident(pid: int) -> int:
    """Memory of a process and of all it started; the kernel's own high-water mark, where it is one process."""
    with suppress(OSError):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        threads = Path(f"/proc/{pid}/task").glob("*/children")
        children = [child for thread in threads for child in thread.read_text().split()]
        own = status.get("VmRSS" if children else "VmHWM", "0 kB")  # a process that has ended has neither
        return int(own.split()[0]) * 1024 + sum(resident(int(child)) for child in children)
    return 0


def available() -> int:
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those it started: it leads a group of its own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def text(file: IO[str]) -> str:
    file.seek(0)
    return file.read().strip()


def last_line(file: IO[str]) -> str:
    lines = [line.strip() for line in text(file).splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""
