"""LINE-OPT by climbing: gradients, the part of each kind of limit, what may be proposed."""

import numpy as np
import pytest

from boids.algorithms import Boids
from boids.algorithms.boids_climb import Ground, changed, climb_from_line, improvement
from boids.algorithms.boids_limits import CONSTRAINTS, FAILURES, Limits
from boids.blocks.embedding import Embedding
from boids.blocks.line import Lines
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.records import Domain

DIM, ROWS = 5, 25


def rng(seed=0):
    return np.random.default_rng(seed)


def hyper(noise=0.01, mean=0.0):
    return Hyperparameters(np.linspace(0.6, 1.4, DIM), 1.0, noise, mean)


@pytest.fixture
def points():
    return rng().uniform(-1, 1, (ROWS, DIM))


@pytest.fixture
def posterior(points):
    y = (points**2).sum(axis=1)
    return Posterior.condition(Surrogate.regularised(), hyper(), points, (y - y.mean()) / y.std())


@pytest.fixture
def limits(points):
    c = np.column_stack([points[:, 0], -points[:, 1] - 0.2, np.full(ROWS, -3.0)])
    constraints = Posterior.condition(CONSTRAINTS, hyper(mean=np.zeros(3)), points, c)
    labels = np.where(points[:, 2] > 0.3, 1.0, -1.0)
    failures = Posterior.condition(FAILURES, hyper(0.1), points, labels)

    def make(**which):
        chosen = {"constraints": constraints, "failures": failures, **which}
        return Limits.of(chosen["constraints"], 0.05, 0.7, chosen["failures"], np.float64, np.zeros(DIM))

    return make


@pytest.mark.parametrize("which", [None, {}, {"constraints": None}, {"failures": None}])
def test_slopes_are_those_of_the_values(posterior, limits, which):
    alpha = improvement(posterior, None if which is None else limits(**which), -0.5)
    z = rng(3).uniform(-0.9, 0.9, (6, DIM))
    values, slopes = alpha.slopes(z)
    np.testing.assert_allclose(values, alpha.values(z), rtol=1e-9)
    step = 1e-6
    for k in range(DIM):
        shift = step * np.eye(DIM)[k]
        numeric = (alpha.values(z + shift) - alpha.values(z - shift)) / (2 * step)
        np.testing.assert_allclose(slopes[:, k], numeric, rtol=2e-4, atol=1e-6)


def test_limits_only_ever_make_a_point_worse(posterior, limits):
    z = rng(4).uniform(-1, 1, (200, DIM))
    free = improvement(posterior, None, -0.5).values(z)
    for which in ({}, {"constraints": None}, {"failures": None}):
        held = improvement(posterior, limits(**which), -0.5).values(z)
        assert (held >= free - 1e-12).all()
        assert (held > free + 1e-3).any()


def climbed(posterior, points, domain, embedding=None, is_new=lambda z: True, seed=1, **settings):
    lines = Lines.through(points[:3], rng(2).standard_normal((3, DIM)))
    method = Boids(line_search="climb", acquisition="logei", **settings)
    ground = Ground(embedding or Embedding.identity(DIM), domain)
    return climb_from_line(
        method, posterior, None, -0.5, lines, 1, points, posterior.outputs, ground, rng(seed), is_new
    )


def test_a_climb_beats_every_candidate_and_stays_in_the_box(posterior, points):
    alpha = improvement(posterior, None, -0.5)
    z = climbed(posterior, points, Domain(DIM))
    assert (np.abs(z) <= 1.0).all()
    assert alpha.values(z[None])[0] < alpha.values(rng(9).uniform(-1, 1, (4000, DIM))).min()


def test_linear_constraints_are_kept(posterior, points):
    def violating(units):
        return np.maximum(units[:, 0] + units[:, 1] + 0.5, 0.0)

    for seed in range(5):
        z = climbed(posterior, points, Domain(DIM, violating=violating), seed=seed)
        assert z[0] + z[1] <= -0.5 + 1e-9


def test_whole_numbers_are_judged_where_they_are_evaluated(posterior, points):
    def snapping(units):
        units = np.array(units)
        units[..., 0] = np.where(units[..., 0] > 0.0, 1.0, -1.0)
        return units

    domain = Domain(DIM, snapping=snapping)
    alpha = improvement(posterior, None, -0.5)
    z = climbed(posterior, points, domain)
    reached = snapping(z)[None]
    others = rng(9).uniform(-1, 1, (4000, DIM))
    assert alpha.values(reached)[0] <= alpha.values(snapping(others)).min()


def test_the_best_point_that_is_new_is_taken(posterior, points):
    best = climbed(posterior, points, Domain(DIM))
    other = climbed(posterior, points, Domain(DIM), is_new=lambda z: np.abs(z - best).max() > 1e-3)
    assert np.abs(other - best).max() > 1e-3
    same = climbed(posterior, points, Domain(DIM), is_new=lambda z: False)
    np.testing.assert_array_equal(same, best)


def test_without_points_around_the_best_only_the_line_counts(posterior, points):
    z = climbed(posterior, points, Domain(DIM), near_samples=0, climb_evaluations=1, climbs=1)
    assert (np.abs(z) <= 1.0).all()


def test_changed_points_differ_in_a_few_coordinates():
    best = np.zeros((2, 30))
    points = changed(best, 500, rng())
    count = (points != 0.0).sum(axis=1)
    assert count.min() == 1
    assert count.max() == 4
    assert np.abs(points).max() > 0.99
