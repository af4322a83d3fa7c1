"""Random requests from the API's own description: answered or refused, never an error of ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from serving import running

CALLS = int(os.environ.get("SPAGREE_FUZZ", "8"))


def test_no_request_breaks_the_server(tmp_path: Path) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed: pip install schemathesis")
    with running(tmp_path / "s.sqlite") as monitor:
        schema = schemathesis.openapi.from_url(f"{monitor.address}/api/v1/openapi.json")
        calls = 0
        for result in schema.get_all_operations():
            operation = result.ok()

            @settings(max_examples=CALLS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @schemathesis_given(operation)
            def call(case: object) -> None:
                nonlocal calls
                answer = case.call(base_url=monitor.address)  # type: ignore[attr-defined]
                calls += 1
                assert answer.status_code < 500, (answer.status_code, answer.text)

            call()
        assert calls >= (10_000 if CALLS >= 2000 else 8)


def schemathesis_given(operation: object) -> object:
    from hypothesis import given

    return given(case=operation.as_strategy())  # type: ignore[attr-defined]
