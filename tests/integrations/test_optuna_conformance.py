"""Optuna's own checks of samplers, which it ships."""

import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna_studies import quiet  # noqa: F401 - a fixture

from boids.integrations.optuna import BoidsSampler


class Checks(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    pass


class TestBoids(Checks):
    @pytest.fixture
    def sampler(self):
        return lambda: BoidsSampler(seed=0, budget=20)


class TestTurbo(Checks):
    """A method that does not know BOIDS' subspaces, and without a seed."""

    @pytest.fixture
    def sampler(self):
        return lambda: BoidsSampler("turbo", budget=20)
