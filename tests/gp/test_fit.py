import numpy as np
import pytest

from boids.gp.fit import ReleasedTraining, SigmoidBoxes, fit, screened_starts
from boids.gp.likelihood import MarginalLikelihood
from boids.gp.model import Hyperparameters, Surrogate


def drawn_from_a_gp(n=120, seed=3):
    """Data from a known process in which only the first two of five inputs matter."""
    rng = np.random.default_rng(seed)
    surrogate = Surrogate()
    x = rng.uniform(-1, 1, (n, 5))
    a = x[:, :2] / np.array([0.5, 1.0])
    q = ((a[:, None] - a[None]) ** 2).sum(-1)
    k = 2.0 * surrogate.correlation.value(q) + 0.01 * np.eye(n)
    return x, np.linalg.cholesky(k) @ rng.normal(size=n)


def test_fit_recovers_the_process_that_made_the_data():
    x, y = drawn_from_a_gp()
    surrogate = Surrogate()
    found = fit(MarginalLikelihood(surrogate, x, y), [surrogate.default_start(5)], max_evaluations=200)
    assert found.lengthscales[0] == pytest.approx(0.5, rel=0.5)
    assert found.lengthscales[1] == pytest.approx(1.0, rel=0.5)
    assert np.all(found.lengthscales[2:] > 3.0)
    assert found.noise_variance == pytest.approx(0.01, rel=0.7)


def test_fit_is_stationary_and_stays_in_the_bounds():
    x, y = drawn_from_a_gp()
    surrogate = Surrogate()
    likelihood = MarginalLikelihood(surrogate, x, y)
    found = fit(likelihood, [surrogate.default_start(5)], max_evaluations=500)
    theta = surrogate.pack(found)
    low, high = surrogate.theta_bounds(5)
    assert np.all((theta >= low - 1e-9) & (theta <= high + 1e-9))
    gradient = likelihood(theta).gradient / len(x)
    inside = (theta > low + 1e-6) & (theta < high - 1e-6)
    assert np.abs(gradient[inside]).max() < 2e-3
    assert np.all(gradient[theta >= high - 1e-6] > -1e-4)
    assert np.all(gradient[theta <= low + 1e-6] < 1e-4)


def test_more_starts_never_do_worse():
    x, y = drawn_from_a_gp(n=30)
    surrogate = Surrogate()
    likelihood = MarginalLikelihood(surrogate, x, y)
    one = [surrogate.default_start(5)]
    more = [*one, *screened_starts(likelihood, np.random.default_rng(0), candidates=8, keep=3)]
    assert len(more) == 4
    value = [likelihood(surrogate.pack(fit(likelihood, s))).value for s in (one, more)]
    assert value[1] >= value[0] - 1e-9


def test_screening_keeps_the_best_in_order():
    x, y = drawn_from_a_gp(n=30)
    surrogate = Surrogate()
    likelihood = MarginalLikelihood(surrogate, x, y)
    kept = screened_starts(likelihood, np.random.default_rng(0), candidates=12, keep=12)
    values = [likelihood(surrogate.pack(h)).value for h in kept]
    assert values == sorted(values, reverse=True)
    assert all(np.ptp(h.lengthscales) == 0 for h in kept)


def test_constant_outputs_and_repeated_points_are_fine():
    x = np.zeros((10, 3))
    surrogate = Surrogate()
    found = fit(MarginalLikelihood(surrogate, x, np.zeros(10)), [surrogate.default_start(3)])
    assert np.all(np.isfinite(surrogate.pack(found)))


def test_sigmoid_boxes_are_inverse_and_their_slope_is_right():
    boxes = SigmoidBoxes(np.array([0.005, 5e-4]), np.array([10.0, 0.2]))
    raw = np.array([-2.0, 0.7])
    value, slope = boxes.to_value(raw)
    np.testing.assert_allclose(boxes.to_raw(value), raw, rtol=1e-10)
    step = 1e-6
    numeric = (boxes.to_value(raw + step)[0] - boxes.to_value(raw - step)[0]) / (2 * step)
    np.testing.assert_allclose(slope, numeric, rtol=1e-6)
    extreme, _ = boxes.to_value(np.array([1e6, -1e6]))
    assert np.all(np.isfinite(boxes.to_raw(extreme)))


class TestReleasedTraining:
    def test_the_first_start_is_the_default_and_the_others_fill_a_linear_latin_hypercube(self):
        starts = ReleasedTraining(configurations=50)._starts(Surrogate(), 3, np.random.default_rng(0))
        assert len(starts) == 50
        assert (starts[0].lengthscales[0], starts[0].signal_variance, starts[0].noise_variance) == (0.5, 1.0, 0.005)
        lengths = np.sort([s.lengthscales[0] for s in starts[1:]])
        cells = np.floor((lengths - 0.005) / (10.0 - 0.005) * 49)
        np.testing.assert_array_equal(cells, np.arange(49))

    def test_it_takes_the_winner_by_mean_loss(self):
        x, y = drawn_from_a_gp(n=25)
        likelihood = MarginalLikelihood(Surrogate(), x, y)
        training = ReleasedTraining(configurations=6, trained=3, steps=12)
        rng = np.random.default_rng(5)
        starts = training._starts(Surrogate(), 5, np.random.default_rng(5))
        losses = [-likelihood(Surrogate().pack(s), mean=0.0).value / 25 for s in starts]
        runs = [training._train(likelihood, starts[i]) for i in np.argsort(losses)[:3]]
        expected = min(runs, key=lambda run: run[0])[1]
        got = training(likelihood, rng)
        np.testing.assert_allclose(got.lengthscales, expected.lengthscales, rtol=1e-9)

    def test_one_step_of_adam_moves_every_raw_parameter_by_the_learning_rate(self):
        x, y = drawn_from_a_gp(n=25)
        surrogate = Surrogate()
        likelihood = MarginalLikelihood(surrogate, x, y)
        start = Hyperparameters(np.full(5, 0.5), 1.0, 0.005)
        _, end = ReleasedTraining(steps=1)._train(likelihood, start)
        boxes = SigmoidBoxes(*(np.exp(b) for b in surrogate.theta_bounds(5)))
        moved = boxes.to_raw(np.exp(surrogate.pack(end))) - boxes.to_raw(np.exp(surrogate.pack(start)))
        np.testing.assert_allclose(np.abs(moved), 0.1, rtol=1e-4)
        assert abs(end.mean) == pytest.approx(0.1, rel=1e-4)

    def test_training_lowers_the_loss(self):
        x, y = drawn_from_a_gp(n=40)
        surrogate = Surrogate()
        likelihood = MarginalLikelihood(surrogate, x, y)
        found = ReleasedTraining(configurations=10, trained=2)(likelihood, np.random.default_rng(0))
        before = likelihood(surrogate.pack(surrogate.default_start(5)), mean=0.0).value
        assert likelihood(surrogate.pack(found), mean=found.mean).value > before
