import numpy as np
import pytest

from boids.gp import training
from boids.gp.model import Surrogate


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (30, 2))
    return x, np.sin(3 * x[:, 0])


def train(name, data, last=None, fitted_at=0, refit_fraction=0.1):
    rng = np.random.default_rng(0)
    return training.train(name, Surrogate(), *data, last, fitted_at, refit_fraction, rng)


def test_warm_training_refits_when_the_data_have_grown_enough(data):
    last = train("warm", data)
    assert last is not None
    assert train("warm", data, last, fitted_at=28) is None  # 2 of 30 new: less than a tenth
    assert train("warm", data, last, fitted_at=27) is not None
    assert train("warm", data, last, fitted_at=29, refit_fraction=0.0) is not None
    assert train("warm", data, last, fitted_at=30, refit_fraction=0.0) is None


def test_a_warm_refit_has_one_start_and_the_others_have_several(data, monkeypatch):
    seen = []
    monkeypatch.setattr(
        training, "fit", lambda likelihood, starts, **more: seen.append((len(starts), more)) or starts[0]
    )
    last = Surrogate().default_start(2)
    train("warm", data)
    train("warm", data, last)
    train("multistart", data)
    train("multistart", data, last, fitted_at=30)
    assert seen == [(3, {}), (1, {"max_evaluations": training.WARM_EVALUATIONS}), (3, {}), (4, {})]


def test_released_training_is_the_released_procedure_every_time(data, monkeypatch):
    calls = []

    class Spy:
        def __call__(self, likelihood, rng):
            calls.append(len(likelihood.inputs))
            return Surrogate().default_start(2)

    monkeypatch.setattr(training, "ReleasedTraining", Spy)
    train("released", data, Surrogate().default_start(2), fitted_at=30)
    assert calls == [30]


def test_released_training_obeys_priors(data):
    free = training.train("released", Surrogate(), *data, None, 0, 0.0, np.random.default_rng(0))
    prior = Surrogate(lengthscale_prior="dimension-scaled")
    bound = training.train("released", prior, *data, None, 0, 0.0, np.random.default_rng(0))
    assert not np.allclose(free.lengthscales, bound.lengthscales)
