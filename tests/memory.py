"""How much more memory a larger query takes, at its peak, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import resource, sys
from spagree.read import read
frame = read(sys.argv[1], query=sys.argv[2]).frame
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def growth(source: str, small: str, large: str) -> float:
    """Peak of reading the large query minus that of the small one, in MB."""
    return _peak(source, large) - _peak(source, small)


def _peak(source: str, query: str) -> float:
    done = subprocess.run([sys.executable, "-c", SCRIPT, source, query], capture_output=True, text=True, check=True)
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return int(done.stdout) / unit
