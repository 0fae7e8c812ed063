"""Polytopes in the unit cube: nearest points against certificates and closed forms, walks against exact laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import isotonic_regression, linprog

from boids.space.polytope import TOLERANCE, Polytope
from boids.space.projection import project
from boids.space.walk import Walk

seeds = st.integers(0, 2**32 - 1)


def polytope(rows, lower, upper, steps=None):
    """A polytope whose rows are brought to the scale that the code expects."""
    rows = np.atleast_2d(np.asarray(rows, dtype=float))
    scale = np.abs(rows).sum(axis=1)
    lower, upper = (np.broadcast_to(np.asarray(end, dtype=float), len(rows)) / scale for end in (lower, upper))
    steps = np.zeros(rows.shape[1], dtype=int) if steps is None else np.asarray(steps)
    return Polytope(rows / scale[:, None], lower, upper, steps)


def simplex(k):
    return polytope(np.ones((1, k)), 1.0, 1.0)


def order(k):
    """y0 ≤ y1 ≤ …"""
    rows = np.zeros((k - 1, k))
    rows[np.arange(k - 1), np.arange(k - 1)] = 1.0
    rows[np.arange(k - 1), np.arange(1, k)] = -1.0
    return polytope(rows, -np.inf, 0.0)


def random_polytope(rng, largest=30):
    """A polytope around a random point, often in a corner, often with rows that have no slack or are redundant."""
    k, m = int(rng.integers(1, largest)), int(rng.integers(1, 12))
    rows = rng.normal(size=(m, k)) * (rng.random((m, k)) < rng.choice([0.2, 0.5, 1.0]))
    rows[~rows.any(axis=1), 0] = 1.0
    inside = rng.random(k)
    if rng.random() < 0.5:
        inside = np.where(rng.random(k) < 0.7, np.rint(inside), inside)
    if rng.random() < 0.3:
        rows = np.concatenate([rows, rows[:1], -2.0 * rows[:1]])
    activity, scale = rows @ inside, np.abs(rows).sum(axis=1)
    slack = scale * rng.choice([0.0, 1e-3, 0.1], len(rows)) * rng.random(len(rows))
    kind = rng.integers(4, size=len(rows))
    lower = np.where(kind == 0, -np.inf, activity - np.where(kind == 1, 0.0, slack))
    upper = np.where(kind == 2, np.inf, activity + np.where(kind == 1, 0.0, slack))
    return polytope(rows, lower, upper), inside


def excess(polytope, y):
    activity = polytope.rows @ y
    return max(np.max(activity - polytope.upper), np.max(polytope.lower - activity), 0.0)


class TestProjection:
    @given(seeds)
    @settings(max_examples=200)
    def test_is_optimal(self, seed):
        """No direction into the polytope is downhill: an exact certificate, by a linear program over the polytope."""
        rng = np.random.default_rng(seed)
        body, _ = random_polytope(rng)
        k = len(body.steps)
        point = rng.random(k) if rng.random() < 0.7 else np.rint(rng.random(k))
        w = np.ones(k) if rng.random() < 0.5 else 10.0 ** rng.uniform(-2, 2, k)
        y = project(body.rows, body.lower, body.upper, point, w)
        assert excess(body, y) < 1e-10
        assert y.min() >= 0.0
        assert y.max() <= 1.0
        uphill = w * (y - point)
        rows, ends = np.concatenate([body.rows, -body.rows]), np.concatenate([body.upper, -body.lower])
        finite = np.isfinite(ends)
        lowest = linprog(uphill, A_ub=rows[finite], b_ub=ends[finite] + 1e-9, bounds=(0.0, 1.0)).x
        lowest = project(body.rows, body.lower, body.upper, lowest, np.ones(k))  # the solver's point is outside by 1e-9
        assert excess(body, lowest) < 1e-10
        assert uphill @ (y - lowest) <= 1e-7 * max(1.0, w.max())

    @given(seeds, st.integers(1, 200))
    def test_on_the_simplex_is_the_closed_form(self, seed, k):
        """Duchi et al. (ICML 2008): subtract a threshold that sorting finds, and cut at zero."""
        point = np.random.default_rng(seed).random(k)
        falling = np.sort(point)[::-1]
        thresholds = (np.cumsum(falling) - 1.0) / np.arange(1, k + 1)
        threshold = thresholds[np.flatnonzero(falling > thresholds)[-1]]
        body = simplex(k)
        y = project(body.rows, body.lower, body.upper, point, np.ones(k))
        np.testing.assert_allclose(y, np.maximum(point - threshold, 0.0), atol=1e-12)

    @given(seeds, st.integers(2, 60))
    @settings(max_examples=30)
    def test_on_an_order_is_isotonic_regression(self, seed, k):
        rng = np.random.default_rng(seed)
        point, w, body = rng.random(k), rng.uniform(0.5, 2.0, k), order(k)
        y = project(body.rows, body.lower, body.upper, point, w)
        np.testing.assert_allclose(y, isotonic_regression(point, weights=w).x, atol=1e-9)

    def test_a_large_sparse_order_too(self):
        point, body = np.random.default_rng(0).random(200), order(200)
        y = project(body.rows, body.lower, body.upper, point, np.ones(200))
        np.testing.assert_allclose(y, isotonic_regression(point).x, atol=1e-9)

    def test_columns_without_rows_stay(self):
        body = polytope([[1.0, 1.0, 0.0]], -np.inf, 0.5)
        y = project(body.rows, body.lower, body.upper, np.array([0.5, 0.5, 0.3]), np.ones(3))
        np.testing.assert_allclose(y, [0.25, 0.25, 0.3])


class TestNearest:
    @given(seeds)
    @settings(max_examples=100)
    def test_holds_with_very_different_weights(self, seed):
        rng = np.random.default_rng(seed)
        body, _ = random_polytope(rng, largest=60)
        k = len(body.steps)
        y = body.nearest(rng.random(k), 10.0 ** rng.uniform(0, 6, k))
        assert y is not None
        assert excess(body, y) < 1e-10

    def test_keeps_a_margin_where_there_is_room(self):
        body = polytope([[1.0, 1.0]], -np.inf, 1.0)
        y = body.nearest(np.ones(2), np.ones(2), margin=1e-6)
        np.testing.assert_allclose(y.sum(), 1.0 - 2e-6, atol=1e-12)
        flat = polytope([[1.0, 1.0]], 2.0, np.inf)
        np.testing.assert_allclose(flat.nearest(np.zeros(2), np.ones(2), margin=1e-6), 1.0, atol=1e-9)

    @pytest.mark.parametrize("steps", [None, [3, 3], [3, 0]])
    def test_an_empty_polytope_has_none(self, steps):
        body = polytope([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0]], [1.9, 0.5, -np.inf], np.inf, steps)
        assert body.point() is None
        assert Walk.of(body) is None

    @given(seeds)
    @settings(max_examples=60)
    def test_of_a_grid_is_found_if_there_is_one(self, seed):
        """Against all points of small grids; that some are near and yet far apart is where rounding goes wrong."""
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, 4))
        steps = rng.integers(1, 5, k)
        rows = rng.integers(-3, 4, (int(rng.integers(1, 3)), k)).astype(float) * steps
        rows[~rows.any(axis=1), 0] = steps[0]
        center = rows @ (rng.integers(0, 5, k) / steps)
        body = polytope(rows, center - rng.integers(0, 2), center + rng.integers(0, 2), steps)
        grid = np.array(list(itertools.product(*(np.arange(n + 1) / n for n in steps))))
        allowed = grid[[body.holds(y) for y in grid]]
        point = rng.random(k)
        y = body.nearest(point, np.ones(k))
        assert (y is None) == (len(allowed) == 0)
        if y is not None:
            assert np.abs(allowed - y).sum(axis=1).min() < 1e-12
            nearest = np.abs(allowed - point).sum(axis=1).min()
            # Rounding the nearest point of the relaxation may cost up to half a step in each column.
            assert np.abs(y - point).sum() <= nearest + (1.0 / steps).sum() + 1e-9

    def test_integers_and_continuous_columns_settle_together(self):
        # 3 a + b = 2.5 on a in {0, 1/2, 1} and b in [0, 1]: only a = 1/2, b = 1 will do.
        body = polytope([[3.0, 1.0]], 2.5, 2.5, [2, 0])
        np.testing.assert_allclose(body.nearest(np.array([0.9, 0.1]), np.ones(2)), [0.5, 1.0], atol=1e-12)


class TestWalk:
    """False alarms: every test on a distribution has a level of 1e-4, and the seeds are fixed."""

    level = 1e-4

    def sample(self, body, count, seed=0, offsets=None):
        offsets = np.full(len(body.steps), np.inf) if offsets is None else offsets
        return Walk.of(body).sample(count, offsets, np.random.default_rng(seed))

    def test_is_uniform_on_a_triangle(self):
        y = self.sample(order(2), 2000)
        # The smaller of two uniform numbers is Beta(1, 2), the larger one Beta(2, 1); their ratio is uniform.
        assert stats.kstest(y[:, 0], stats.beta(1, 2).cdf).pvalue > self.level
        assert stats.kstest(y[:, 1], stats.beta(2, 1).cdf).pvalue > self.level
        assert stats.kstest(y[:, 0] / y[:, 1], "uniform").pvalue > self.level

    @pytest.mark.parametrize("k", [2, 3, 10, 100])
    def test_is_uniform_on_a_simplex(self, k):
        y = self.sample(simplex(k), 1000, seed=k)
        np.testing.assert_allclose(y.sum(axis=1), 1.0, atol=1e-12)
        for column in (0, k - 1):
            assert stats.kstest(y[:, column], stats.beta(1, k - 1).cdf).pvalue > self.level
        # The mean of Σ y² is 2 / (k + 1); its standard deviation comes from the sample.
        squares = (y**2).sum(axis=1)
        assert stats.ttest_1samp(squares, 2.0 / (k + 1)).pvalue > self.level

    def test_is_uniform_on_an_order(self):
        y = self.sample(order(8), 2000)
        for i in range(8):  # the i-th smallest of eight uniform numbers
            assert stats.kstest(y[:, i], stats.beta(i + 1, 8 - i).cdf).pvalue > self.level

    def test_is_uniform_along_a_narrow_band(self):
        """|y0 - y1| ≤ 1e-4 and y2 anywhere: steps of single columns would take millions to get along."""
        y = self.sample(polytope([[1.0, -1.0, 0.0]], -1e-4, 1e-4), 1000)
        assert stats.kstest(0.5 * (y[:, 0] + y[:, 1]), "uniform").pvalue > self.level
        assert stats.kstest((y[:, 0] - y[:, 1] + 1e-4) / 2e-4, "uniform").pvalue > self.level

    def test_has_many_equations(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(6, 40))
        body = polytope(rows, rows @ np.full(40, 0.5), rows @ np.full(40, 0.5))
        y = self.sample(body, 500)
        np.testing.assert_allclose(y @ rows.T, np.tile(rows @ np.full(40, 0.5), (500, 1)), atol=1e-11)
        # The polytope is symmetric about its middle.
        assert stats.ttest_1samp(y[:, 0], 0.5).pvalue > self.level
        assert y.std(axis=0).min() > 0.2

    def test_draws_log_scaled_columns_by_their_density(self):
        """y0 + y1 ≤ 1/2, x0 = 1e-4 + (1 - 1e-4) y0 log-uniform: against rejection, the two-sample way."""
        low = 1e-4
        y = self.sample(polytope([[1.0, 1.0]], -np.inf, 0.5), 3000, offsets=np.array([low / (1.0 - low), np.inf]))
        t = np.random.default_rng(1).random((20_000, 2))
        x = (low ** (1.0 - t[:, 0]) - low) / (1.0 - low)
        kept = x + t[:, 1] <= 0.5
        assert stats.ks_2samp(y[:, 0], x[kept]).pvalue > self.level
        assert stats.ks_2samp(y[:, 1], t[kept, 1]).pvalue > self.level

    def test_stays_in_flat_polytopes(self):
        """y0 + y1 ≥ 2 leaves a corner; 2 y2 + y3 both ≤ 1 and ≥ 1, in two rows, a line."""
        rows = [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 4.0, 2.0]]
        y = self.sample(polytope(rows, [2.0, -np.inf, 2.0], [np.inf, 1.0, np.inf]), 500)
        np.testing.assert_allclose(y[:, :2], 1.0, atol=1e-9)
        np.testing.assert_allclose(2.0 * y[:, 2] + y[:, 3], 1.0, atol=1e-9)
        assert stats.kstest(y[:, 3], "uniform").pvalue > self.level

    def test_of_a_point_stays_there(self):
        y = self.sample(polytope([[1.0, 1.0], [1.0, -1.0]], [1.0, 0.0], [1.0, 0.0]), 5)
        np.testing.assert_allclose(y, 0.5, atol=1e-9)

    @given(seeds)
    @settings(max_examples=40)
    def test_never_leaves(self, seed):
        rng = np.random.default_rng(seed)
        body, _ = random_polytope(rng, largest=12)
        y = self.sample(body, 5, seed)
        assert y.shape == (5, len(body.steps))
        assert max(excess(body, each) for each in y) < TOLERANCE
        assert y.min() >= 0.0
        assert y.max() <= 1.0

    def test_is_reproducible_and_distinct(self):
        first, again, other = (self.sample(order(5), 20, seed) for seed in (3, 3, 4))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)
        assert len(np.unique(first, axis=0)) == 20
        assert self.sample(order(5), 0).shape == (0, 5)
