from dataclasses import replace

import numpy as np

from boids.algorithms import StandardBO, Turbo
from boids.algorithms.boids_models import Data
from boids.algorithms.boids_training import Fit
from boids.algorithms.thompson import Model
from boids.gp.model import Hyperparameters

METHOD = StandardBO()


def bowl(n=40, dim=4, seed=0):
    points = np.random.default_rng(seed).random((n, dim))
    return Data(points, ((points - 0.65) ** 2).sum(axis=1), None, None)


def test_a_warm_fit_leaves_a_length_scale_near_zero():
    stuck = Fit(Hyperparameters(np.array([2.0, 0.013, 2.0, 2.0]), 1.0, 5e-4), fitted_at=20)
    fit, _ = Model.learn(METHOD, bowl(), stuck, np.random.default_rng(0))
    assert fit.hyper.lengthscales.min() > 0.3


def test_a_fit_is_kept_until_the_data_have_grown():
    data = bowl()
    fit, _ = Model.learn(METHOD, data, None, np.random.default_rng(0))
    for method in (METHOD, replace(METHOD, training="adam")):
        assert Model.learn(method, data, fit, np.random.default_rng(1))[0] is fit
    more = bowl(n=41)
    assert Model.learn(replace(METHOD, refit_fraction=0.1), more, fit, np.random.default_rng(1))[0] is fit
    assert Model.learn(METHOD, more, fit, np.random.default_rng(1))[0].fitted_at == 41


def test_the_best_point_is_the_best_value_or_with_noise_the_best_mean():
    data, values = bowl(), bowl().values.copy()
    data.points[8:12] = data.points[7]
    values[7:12] = [-0.5, 2.5, 2.0, 2.0, 2.5]  # one point, once with luck
    _, plain = Model.learn(METHOD, replace(data, values=values), None, np.random.default_rng(0))
    _, noisy = Model.learn(METHOD, replace(data, values=values, noisy=True), None, np.random.default_rng(0))
    assert plain.best == 7
    assert noisy.best not in range(7, 12)
    assert noisy.posterior.hyper.noise_variance > plain.posterior.hyper.noise_variance
    assert noisy.to_beat < noisy.scale.restore(np.array(noisy.lowest))


def test_draws_are_in_the_objectives_units():
    data = bowl()
    shifted = replace(data, values=1e6 + 10.0 * data.values)
    _, model = Model.learn(Turbo(), shifted, None, np.random.default_rng(0))
    draw = model.draw(data.points, np.random.default_rng(0))
    assert np.abs(draw - shifted.values).max() < 5.0


def test_the_greatest_expected_improvement_is_near_the_minimum_and_away_from_pending_points():
    _, model = Model.learn(METHOD, bowl(n=60), None, np.random.default_rng(0))
    low, high = np.zeros(4), np.ones(4)
    first = model.most_improving(low, high, np.empty((0, 4)), np.random.default_rng(1), 50, 3)
    assert np.abs(first - 0.65).max() < 0.2
    second = model.most_improving(low, high, first[None], np.random.default_rng(1), 50, 3)
    assert np.abs(second - first).max() > 1e-3
    half = model.most_improving(low, np.full(4, 0.5), first[None], np.random.default_rng(1), 50, 3)
    assert half.max() <= 0.5
