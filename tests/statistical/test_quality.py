"""What a user may expect of `method="boids"`, at full search effort; with fixed seeds nothing is left to chance.

The quick part runs in `make test`, the rest in `make test-slow` (several minutes).
"""

import numpy as np
import pytest

import boids


def final(name, dim, budget, seed, **options):
    problem = boids.problems.make(name, dim=dim, seed=seed, **options)
    return boids.minimize(problem, problem.space, budget, seed=seed).fun


@pytest.mark.parametrize("seed", [0, 1])
def test_the_centre_of_ackley_100_is_found_inside_the_first_subspace(seed):
    assert final("ackley", 100, 45, seed) < 8.0


def test_branin_hidden_among_500_is_nearly_solved_in_60_evaluations():
    assert final("branin", 500, 60, 0) < 2.0


@pytest.mark.slow
def test_ackley_100_ends_below_5_in_200_evaluations():
    assert final("ackley", 100, 200, 1) < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_branin_500_ends_below_one_half_in_200_evaluations(seed):
    assert final("branin", 500, 200, seed) < 0.5


@pytest.mark.slow
def test_hartmann_500_ends_below_minus_3_on_average():
    assert np.mean([final("hartmann", 500, 300, seed) for seed in range(3)]) < -3.0
