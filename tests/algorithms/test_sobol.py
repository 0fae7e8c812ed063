"""Sobol: SciPy's scrambled sequence, evenly spread, without a state that grows."""

import numpy as np
import pytest
from desk import Desk, sphere
from scipy.stats import qmc

import boids
from boids.algorithms import Sobol
from boids.algorithms.sobol import BLOCK
from boids.records import Domain


def test_it_is_the_sequence_of_scipy():
    desk = Desk(Sobol(), Domain(3), budget=600).go(sphere, 600)
    expected = qmc.Sobol(3, rng=np.random.default_rng(desk.state.seed)).random(1024)[:600]
    assert BLOCK < 600
    np.testing.assert_array_equal(desk.history.units, 2 * expected - 1)


def test_every_cell_has_its_point():
    points = Desk(Sobol(), Domain(5), budget=64).go(sphere, 64).history.units
    cells = np.floor((points + 1) / 2 * 64).astype(int)
    assert all(len(set(column)) == 64 for column in cells.T)


def test_more_even_than_random():
    points = Desk(Sobol(), Domain(6), budget=256).go(sphere, 256).history.units
    random = np.random.default_rng(0).random((256, 6))
    assert qmc.discrepancy(0.5 * (points + 1)) < 0.5 * qmc.discrepancy(random)


def test_linear_constraints_skip_points_rather_than_move_them():
    optimizer = boids.Optimizer(
        {"a": (0.0, 1.0), "b": (0.0, 1.0)}, budget=40, method="sobol", seed=1, linear_constraints="a + b <= 0.6"
    )
    trials = optimizer.ask(40)
    total = np.array([trial.params["a"] + trial.params["b"] for trial in trials])
    assert (total <= 0.6 + 1e-12).all()
    assert (total < 0.599).mean() > 0.9  # a projection would put most of them on the line
    assert optimizer.run.state.place > 40


def test_a_needle_of_a_region_is_found_all_the_same():
    optimizer = boids.Optimizer([(0, 1)] * 6, budget=4, method="sobol", seed=1, linear_constraints="sum(x) <= 0.05")
    assert all(trial.x.sum() <= 0.05 + 1e-9 for trial in optimizer.ask(4))


def test_too_many_dimensions():
    with pytest.raises(boids.MethodError, match="at most 21201 dimensions, not 21202"):
        Sobol().init(Domain(21202), 5, np.random.default_rng(0))
