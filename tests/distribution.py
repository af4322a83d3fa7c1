"""Which worker runs which tests: a group or a file stays together, and what takes longest starts first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdist.scheduler import LoadGroupScheduling

TESTS = Path(__file__).parent
ON_SPARK = re.compile(r"/test_read_spark\.py|/test_tally_(engines|groups)\.py::.*spark")
# Groups and files that take ten seconds or more; whatever starts last should end soon.
LONGEST = (
    "spark",
    "browser",
    "test_docs.py",
    "tally/test_tally_engines.py",
    "studies",
    "postgres",
    "read/tools/test_tools_laws.py",
    "read/files/test_read_hostile_files.py",
    "read/files/test_read_files.py",
    "read/files/test_read_laws.py",
    "estimate/test_estimate_development.py",
    "comparing/test_comparing_simulated.py",
    "cli/test_cli.py",
    "cli/test_progress.py",
    "cli/test_outcomes.py",
    "present/test_charts.py",
    "present/test_report_page.py",
    "present/test_report_verdicts.py",
    "estimate/test_interval_for.py",
    "estimate/test_clusters.py",
    "estimate/test_breakdowns_annotators.py",
    "fuzz/test_fuzz_files.py",
    "monitor/test_monitor_run.py",
    "monitor/test_monitor_browser.py",
    "test_exit.py",
    "scale",
    "test_pipelines.py",
)


class GroupOrFile(LoadGroupScheduling):
    """Fixtures and caches of a module are made once, by the one worker that runs its tests; so is the Spark session.

    xdist 3.8 tells the groups of tests in their ids, which pytest 9.2 no longer lets it change.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if ON_SPARK.search(nodeid) else nodeid.partition("::")[0]


def rank(item: pytest.Item) -> int:
    """The place of the test's group or file among those that take longest."""
    group = item.get_closest_marker("xdist_group")
    name = group.args[0] if group else item.path.relative_to(TESTS).as_posix()
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)
