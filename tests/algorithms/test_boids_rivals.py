"""Rival priors: scored by what they said beforehand, and the best of them is believed."""

from dataclasses import replace

import numpy as np
import pytest
from desk import HASTY, Desk, sphere
from hypothesis import given
from hypothesis import strategies as st

from boids.algorithms import Boids
from boids.algorithms.boids_models import Beliefs, Data, Fits
from boids.algorithms.boids_rivals import MEMORY, NAMES, Rival, believed, log_predictions, priors
from boids.algorithms.boids_training import Fit
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.records import Domain

HYPER = Hyperparameters(np.array([0.7, 1.5, 3.0]), 1.0, 0.01, 0.2)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("noise", [None, 0.3])
def test_predictions_are_those_of_the_data_before(noise):
    surrogate, points = Surrogate.regularised(), rng().uniform(-1, 1, (12, 3))
    values = rng(1).normal(size=12)
    known = None if noise is None else rng(2).uniform(0, noise, 12)
    got = log_predictions(Posterior.condition(surrogate, HYPER, points, values, known), 5)
    for k, value in zip(range(7, 12), got, strict=True):
        before = Posterior.condition(surrogate, HYPER, points[:k], values[:k], None if known is None else known[:k])
        mean, variance = before.predict(points[[k]])
        variance = variance[0] + HYPER.noise_variance + (0.0 if known is None else known[k])
        expected = -0.5 * np.log(variance) - 0.5 * (values[k] - mean[0]) ** 2 / variance
        assert value == pytest.approx(expected, rel=1e-9)


def test_no_news_no_predictions():
    process = Posterior.condition(Surrogate.regularised(), HYPER, rng().uniform(-1, 1, (4, 3)), np.arange(4.0))
    assert log_predictions(process, 0).shape == (0,)
    assert Rival(Fit(HYPER, 4), 2.5).judged(np.empty(0)) == 2.5


@given(st.lists(st.floats(-50, 50), max_size=20), st.integers(0, 20))
def test_a_score_is_the_same_however_the_news_come(surprises, cut):
    news, rival = np.array(surprises), Rival(Fit(HYPER, 4), 1.0)
    at_once = rival.judged(news)
    twice = replace(rival, score=rival.judged(news[:cut])).judged(news[cut:])
    assert at_once == pytest.approx(twice, rel=1e-9, abs=1e-9)
    one_by_one = 1.0
    for surprise in surprises:
        one_by_one = MEMORY * one_by_one + surprise
    assert at_once == pytest.approx(one_by_one, rel=1e-9, abs=1e-9)


def test_a_surrogate_that_somebody_has_chosen_has_no_rivals():
    assert len(priors(Boids())) == len(NAMES)
    own = Surrogate.regularised()
    assert priors(Boids(rivals=False)) == (own,)
    for changes in ({"kernel": "rbf"}, {"lengthscale_spread": 0.5}, {"noise_prior": "none"}):
        chosen = replace(own, **changes)
        assert priors(Boids(surrogate=chosen)) == (chosen,)
    # The variance of runs with sweeps is ours, any other somebody's choice.
    assert [p.signal_variance for p in priors(Boids(surrogate=replace(own, signal_variance=5.0)))] == [5.0] * len(NAMES)
    assert len(priors(Boids(surrogate=replace(own, signal_variance=2.0)))) == 1
    assert not Boids.paper().rivals
    assert not Boids.released().rivals


def test_rivals_have_the_same_bounds():
    """A split clips all fits to those of the settings' surrogate."""
    for prior in priors(Boids()):
        assert prior.theta_bounds(3)[0].tolist() == Surrogate.regularised().theta_bounds(3)[0].tolist()
        assert prior.theta_bounds(3)[1].tolist() == Surrogate.regularised().theta_bounds(3)[1].tolist()


def learned(function, dim=16, begin=20, end=70, settings=None):
    """Return the fits after data have come in one by one."""
    points = rng(3).uniform(-1, 1, (end, dim))
    values, fits, settings = function(points), Fits(), settings or Boids()
    for n in range(begin, end):
        fits, beliefs = Beliefs.form(settings, Data(points[:n], values[:n], None, None), fits, rng())
    return fits, beliefs


def test_where_all_inputs_matter_alike_those_are_believed_that_say_so():
    fits, beliefs = learned(lambda x: (x**2).sum(axis=1) + x.sum(axis=1))
    assert NAMES[believed(fits.rivals)] in ("inputs alike", "inputs alike, smooth")
    assert beliefs.objective.surrogate.lengthscale_spread == 0.3
    assert fits.objective is fits.rivals[believed(fits.rivals)].fit


def test_where_few_inputs_matter_those_are_believed_that_allow_it():
    fits, beliefs = learned(lambda x: np.sin(3 * x[:, 0]) + x[:, 1])
    assert NAMES[believed(fits.rivals)] in ("inputs differ", "inputs apart")
    assert beliefs.objective.surrogate.kernel == "matern52"


def test_the_others_are_trained_less_often():
    fits, _ = learned(lambda x: np.sin(3 * x[:, 0]) + x[:, 1], settings=Boids(refit_fraction=0.05))
    latest = [rival.fit.fitted_at for rival in fits.rivals]
    assert max(latest) == fits.objective.fitted_at
    assert min(latest) < max(latest)
    assert min(latest) > 0.8 * max(latest)


def test_only_what_is_new_is_judged(monkeypatch):
    counts, real = [], log_predictions
    monkeypatch.setattr("boids.algorithms.boids_rivals.log_predictions", lambda p, n: counts.append(n) or real(p, n))
    learned(lambda x: x[:, 0], end=60, settings=Boids(refit_fraction=0.1))
    expected, at = [], 20
    for n in range(21, 60):
        if n - at >= 0.1 * n:
            expected, at = [*expected, n - at], n
    assert counts == [count for count in expected for _ in NAMES]


def test_there_are_none_beside_modelled_constraints():
    points = rng().uniform(-1, 1, (20, 2))
    fits, beliefs = Beliefs.form(Boids(), Data(points, points[:, 0], points[:, :1], None), Fits(), rng())
    assert fits.rivals == ()
    assert fits.objective is not None
    assert beliefs.objective.surrogate == Boids().surrogate


def test_nothing_but_failures_leaves_nothing_behind():
    points = rng().uniform(-1, 1, (6, 2))
    fits, _ = Beliefs.form(Boids(), Data(points, np.full(6, np.nan), None, None), Fits(), rng())
    assert fits.objective is None
    assert fits.rivals == ()
    assert fits.judged == 0


def test_a_split_carries_every_rival_with_its_score():
    points = rng().uniform(-1, 1, (20, 2))
    fits, _ = Beliefs.form(Boids(), Data(points, points[:, 0], None, None), Fits(), rng())
    fits = replace(fits, rivals=tuple(replace(r, score=float(k)) for k, r in enumerate(fits.rivals)))
    parent = np.array([0, 0, 1])
    carried = fits.carried(Boids(), parent)
    for old, new in zip(fits.rivals, carried.rivals, strict=True):
        assert new.score == old.score
        assert new.fit.fitted_at == 0
        np.testing.assert_allclose(new.fit.hyper.lengthscales, old.fit.hyper.lengthscales[parent] * np.sqrt([2, 2, 1]))
    assert carried.objective is carried.rivals[-1].fit


def test_a_split_leaves_the_noise_as_it_was_fitted():
    noisy = Fit(Hyperparameters(np.ones(2), 1.0, 1.5), 20)  # of an objective that is said to be noisy
    assert noisy.carried(Surrogate.regularised(), np.array([0, 0, 1])).hyper.noise_variance == 1.5


def test_the_run_says_which_is_believed():
    desk = Desk(HASTY, Domain(6), 40)
    assert desk.algorithm.diagnostics(desk.state)["prior"] is None
    desk.go(sphere, 30)
    assert desk.algorithm.diagnostics(desk.state)["prior"] in NAMES
