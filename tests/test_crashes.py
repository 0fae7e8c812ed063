"""Runs that are killed at random moments; `python tests/crash_runs.py --kills 1000` is the long version."""

import sys

import pytest
from crash_runs import crash

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


@pytest.mark.parametrize(("method", "workers"), [("boids", 1), ("boids", 2), ("random", 1)])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(method, workers):
    report = crash(3, method=method, workers=workers, seed=7)
    assert report.kills == 3
    assert report.ends >= 1
