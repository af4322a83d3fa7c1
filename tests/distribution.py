"""Which worker runs which tests: a group or a file stays together, and what takes longest starts first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdist.scheduler import LoadGroupScheduling

TESTS = Path(__file__).parent
# What takes seconds to start is started by one worker: Java, a browser, a database, what compiles studies and draws.
TOGETHER = {
    "spark": re.compile(r"/test_read_spark\.py|/test_engines\.py::.*spark"),
    "browser": re.compile(r"_browser\.py"),
    "postgres": re.compile(
        r"/read/databases/|/test_monitor_(store|promises)\.py|/read/tools/test_(doccano|label_studio)\.py"
    ),
    "drawing": re.compile(r"/studies/|/test_(studies_run|charts|comparing|compare_command|planning|docs)\.py"),
}
# Groups and files that take ten seconds or more; whatever starts last should end soon.
LONGEST = (
    "spark", "drawing", "browser", "counts/test_engines.py", "postgres", "read/tools/test_tools_laws.py",
    "read/files/test_read_hostile_files.py", "read/files/test_read_files.py", "read/files/test_read_laws.py",
    "estimate/test_development.py", "read/files/test_read_small_text.py", "cli/test_cli.py",
    "cli/test_progress.py", "cli/test_outcomes.py", "estimate/test_other_annotators.py", "estimate/test_clusters.py",
    "estimate/test_annotators.py", "fuzz/test_fuzz_files.py", "test_exit.py", "test_scale.py",
    "test_pipelines.py",
)  # fmt: skip


class GroupOrFile(LoadGroupScheduling):
    """Fixtures and caches of a module are made once, by the one worker that runs its tests; so is the Spark session.

    xdist 3.8 tells the groups of tests in their ids, which pytest 9.2 no longer lets it change.
    """

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    """The group or the file of a test."""
    found = (name for name, tests in TOGETHER.items() if tests.search(nodeid))
    return next(found, nodeid.partition("::")[0])


def rank(item: pytest.Item) -> int:
    """The place of the test's group or file among those that take longest."""
    name = scope(item.nodeid).removeprefix("tests/")
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)
