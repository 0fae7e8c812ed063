import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.stats import norm

from boids.blocks.interior import _downhill, minimise_inside
from boids.blocks.maximise import LogImprovement, around, best_rows, boltzmann, maximise


class Bowl:
    """alpha = |x - centre|², with a note of how many points were looked at."""

    def __init__(self, centre):
        self.centre = np.asarray(centre, dtype=float)

    def values(self, points):
        return ((points - self.centre) ** 2).sum(axis=1)

    def slopes(self, points):
        return self.values(points), 2.0 * (points - self.centre)


def waves(points):
    """A mean and a variance with gradients, of two models: shapes (2, q) and (2, q, d)."""
    a, b = np.sin(2.0 * points).sum(axis=1), np.cos(points).sum(axis=1)
    c = 0.3 + 0.2 * np.cos(points).prod(axis=1)
    by_c = -0.2 * np.tan(points) * np.cos(points).prod(axis=1)[:, None]
    mean, variance = np.stack([a, b]), np.stack([c, 2.0 * c])
    return mean, variance, np.stack([2.0 * np.cos(2.0 * points), -np.sin(points)]), np.stack([by_c, 2.0 * by_c])


def one_model(points):
    return tuple(each[0] for each in waves(points))


@pytest.mark.parametrize("model", [one_model, waves])
@pytest.mark.parametrize("best", [-30.0, -1.0, 2.0])
def test_the_gradient_of_the_log_improvement(model, best):
    alpha = LogImprovement(lambda points: model(points)[:2], model, best)
    points = np.random.default_rng(0).uniform(-1, 1, (4, 3))
    values, slopes = alpha.slopes(points)
    np.testing.assert_allclose(values, alpha.values(points), rtol=1e-12)
    for point, slope in zip(points, slopes, strict=True):
        numeric = approx_fprime(point, lambda x: alpha.values(x[None, :])[0], 1e-7)
        np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


def test_the_improvement_of_several_models_is_the_mean_of_theirs():
    points = np.random.default_rng(1).uniform(-1, 1, (5, 2))
    alpha = LogImprovement(lambda x: waves(x)[:2], waves, 0.5)
    mean, variance = waves(points)[:2]
    s = np.sqrt(variance)
    u = (0.5 - mean) / s
    improvement = s * (norm.pdf(u) + u * norm.cdf(u))
    np.testing.assert_allclose(np.exp(-alpha.values(points)), improvement.mean(axis=0), rtol=1e-10)


def test_the_bottom_is_found_inside_and_at_the_walls():
    rng = np.random.default_rng(2)
    for centre in ([0.3, -0.2, 0.9], [2.0, 0.1, -3.0]):
        found = maximise(Bowl(centre), rng.uniform(-1, 1, (20, 3)), rng)
        np.testing.assert_allclose(found, np.clip(centre, -1, 1), atol=1e-4)


def test_what_is_not_allowed_is_not_proposed():
    rng = np.random.default_rng(3)
    bowl = Bowl([0.8, 0.8])
    found = maximise(bowl, rng.uniform(-1, 1, (200, 2)), rng, allowed=lambda points: points.sum(axis=1) <= 0.5)
    assert found.sum() <= 0.5
    assert bowl.values(found[None, :])[0] < 0.65  # 0.605 at the best
    nowhere = maximise(bowl, rng.uniform(-1, 1, (5, 2)), rng, allowed=lambda points: np.zeros(len(points), dtype=bool))
    assert np.abs(nowhere).max() <= 1.0


def test_values_that_are_not_numbers_are_passed_over():
    class Holed(Bowl):
        def values(self, points):
            return np.where(points[:, 0] > 0, np.nan, super().values(points))

    rng = np.random.default_rng(4)
    found = maximise(Holed([-0.5, 0.5]), rng.uniform(-1, 1, (50, 2)), rng)
    np.testing.assert_allclose(found, [-0.5, 0.5], atol=1e-4)


@given(st.integers(1, 60), st.integers(1, 30), st.integers(0, 1000))
def test_points_around_the_best_stay_in_the_box(dim, count, seed):
    rng = np.random.default_rng(seed)
    best = rng.choice([-1.0, 0.2, 1.0], (3, dim))
    points = around(best, count, rng)
    assert points.shape == (count, dim)
    assert np.abs(points).max() <= 1.0
    unchanged = (points[:, None, :] == best).all(axis=2)
    assert not unchanged.any()  # every point differs from what it surrounds


def test_half_of_the_points_around_the_best_change_about_twenty_coordinates():
    rng = np.random.default_rng(5)
    centre = np.zeros((1, 200))
    changed = (around(centre, 400, rng) != 0.0).sum(axis=1)
    assert (changed[:200] == 200).all()
    assert changed[200:].mean() == pytest.approx(21.0, abs=4 * math.sqrt(20 / 200))
    spread = around(centre, 400, rng, spread=0.1)[:200]
    assert spread.std() == pytest.approx(0.1, rel=0.02)


def test_the_best_rows():
    np.testing.assert_array_equal(best_rows(np.array([3.0, 1.0, 2.0])), [1])
    np.testing.assert_array_equal(best_rows(np.arange(100.0)[::-1]), [99, 98, 97, 96, 95])


def test_boltzmann_takes_the_best_and_prefers_the_good():
    rng = np.random.default_rng(6)
    values = np.concatenate([np.zeros(10), np.full(10, 2.0), [-1.0, np.nan]])
    drawn = np.array([boltzmann(values, 4, rng) for _ in range(300)])
    assert (drawn[:, 0] == 20).all()
    assert all(len(set(row)) == 4 for row in drawn)
    assert 21 not in drawn
    assert (drawn[:, 1:] < 10).mean() > 0.75
    np.testing.assert_array_equal(np.sort(boltzmann(np.zeros(3), 9, rng)), [0, 1, 2])


# ----------------------------------------------------------------------------------------------------- the polytope


def wavy(points):
    f = np.sin(3.0 * points).sum(axis=1) + 0.5 * (points**2).sum(axis=1)
    return f, 3.0 * np.cos(3.0 * points) + points


@pytest.mark.parametrize(("rows", "dim"), [(12, 2), (40, 5), (100, 10)])
def test_the_interior_search_is_as_good_as_slsqp(rows, dim):
    rng = np.random.default_rng(dim)
    polytope = rng.standard_normal((rows, dim)) / math.sqrt(dim)
    starts = rng.standard_normal((6, dim))
    starts *= (rng.uniform(0.1, 0.9, 6) / np.abs(starts @ polytope.T).max(axis=1))[:, None]
    found, values = minimise_inside(wavy, polytope, starts)
    assert np.abs(found @ polytope.T).max() <= 1.0
    np.testing.assert_allclose(values, wavy(found)[0])
    assert (values <= wavy(starts)[0]).all()
    walls = {"type": "ineq", "fun": lambda y: np.concatenate([1 - polytope @ y, 1 + polytope @ y])}
    others = [
        minimize(lambda y: wavy(y[None])[0][0], s, jac=lambda y: wavy(y[None])[1][0], constraints=walls, method="SLSQP")
        for s in starts
    ]
    assert values.min() <= min(other.fun for other in others) + 0.02


def test_steep_and_flat_functions_do_not_break_the_search():
    rng = np.random.default_rng(7)
    polytope, starts = rng.standard_normal((20, 3)), 0.01 * rng.standard_normal((4, 3))
    starts[0] = 0.0

    def cliffs(y):
        return -1e10 * np.exp(-1e8 * (y**2).sum(axis=1)), 2e18 * y * np.exp(-1e8 * (y**2).sum(axis=1))[:, None]

    def ravine(y):
        return 1e14 * y[:, 0] ** 2 + 1e-9 * y[:, 1], np.stack([2e14 * y[:, 0], 0 * y[:, 0] + 1e-9, 0 * y[:, 0]], axis=1)

    def flat(y):
        return np.zeros(len(y)), np.zeros_like(y)

    def undefined(y):
        return np.full(len(y), np.nan), np.full_like(y, np.nan)

    for function in (cliffs, ravine, flat, undefined):
        found, _ = minimise_inside(function, polytope, starts)
        assert np.abs(found @ polytope.T).max() <= 1.0


def test_a_spoilt_hessian_gives_way_to_the_steepest_descent():
    gradient = np.array([[1.0, 2.0], [1.0, 2.0]])
    np.testing.assert_allclose(_downhill(np.zeros((2, 2, 2)), gradient) @ [1.0, 2.0] < 0, True)
    upside_down = np.stack([-np.eye(2), np.eye(2)])
    np.testing.assert_allclose(_downhill(upside_down, gradient), -gradient, rtol=1e-9)


def test_the_interior_search_gets_to_the_walls():
    slope = np.array([1.0, 2.0])
    found, _ = minimise_inside(
        lambda y: (y @ slope, np.tile(slope, (len(y), 1))), np.eye(2), np.array([[0.0, 0.0], [0.9, 0.9]])
    )
    np.testing.assert_allclose(found, -1.0, atol=1e-3)
    assert (np.abs(found) < 1.0).all()
