"""Whatever is handed in, in whatever order: a result, or one clear error of boids, never anything else."""

from __future__ import annotations

from fuzz_machine import Calls
from fuzz_odd import examples

TestCalls = Calls.TestCase
TestCalls.settings = examples(60, stateful_step_count=30)
