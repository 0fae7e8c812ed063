"""Which trial of a noisy run is reported."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids import recommendation
from boids.blocks.scaling import Scale
from boids.gp.model import Surrogate
from boids.gp.posterior import Posterior
from boids.recommendation import Recommender, fit_size
from boids.records import Trial


def trials(n=40, dim=2, deviation=0.5, seed=0, **changes):
    """Done trials of a noisy bowl around (0.3, 0.3)."""
    rng = np.random.default_rng(seed)
    units = rng.uniform(-1, 1, (n, dim))
    values = ((units - 0.3) ** 2).sum(axis=1) + deviation * rng.normal(size=n)
    return [
        Trial(i, unit, unit, float(value), state="done", **changes)
        for i, (unit, value) in enumerate(zip(units, values, strict=True))
    ]


def truth(trial):
    return float(((trial.unit - 0.3) ** 2).sum())


def test_few_trials_are_taken_at_their_word():
    few = trials(7)
    found = Recommender().recommend(few, 7)
    best = min(few, key=lambda trial: trial.value)
    assert found.trial is best
    assert found.mean == best.value
    assert found.told == 7


def test_it_is_the_lowest_posterior_mean_by_hand():
    data = trials()
    recommender = Recommender()
    found = recommender.recommend(data, 40)
    size = fit_size(40)
    units, values = np.array([t.unit for t in data]), np.array([t.value for t in data])
    scale = Scale.of(values[:size])
    first, hyper = recommender._fitted
    assert first == tuple(range(size))
    posterior = Posterior.condition(Surrogate.regularised().for_noise(), hyper, units, scale.standardise(values))
    means = scale.restore(posterior.predict(units)[0])
    assert found.trial is data[int(np.argmin(means))]
    assert found.mean == pytest.approx(means.min(), rel=1e-12)


def test_the_mean_is_nearer_to_the_truth_than_the_lucky_value():
    """20 runs of 80 points: the lowest value is too good by about two standard deviations of the noise, here 1; the
    reported mean clearly less on average, and what it stands for is no worse a point."""
    lucky, reported, regret_lucky, regret = [], [], [], []
    for seed in range(20):
        data = trials(80, seed=seed)
        best = min(data, key=lambda trial: trial.value)
        found = Recommender().recommend(data, 80)
        lucky.append(best.value - truth(best))
        reported.append(found.mean - truth(found.trial))
        regret_lucky.append(truth(best))
        regret.append(truth(found.trial))
    assert np.mean(lucky) < -0.5
    assert abs(np.mean(reported)) < 0.7 * abs(np.mean(lucky))
    assert np.mean(regret) <= np.mean(regret_lucky) + 0.02


def test_infeasible_trials_lose_and_the_least_infeasible_wins_if_all_are():
    data = trials()
    marked = [replace(t, constraints=((1.0,) if t.id % 2 else (-1.0,))) for t in data]
    found = Recommender().recommend(marked, 40)
    assert found.trial.feasible
    everything = [replace(t, constraints=(1.0 + t.id, -1.0)) for t in data]
    assert Recommender().recommend(everything, 40).trial.id == 0
    tied = [replace(t, constraints=(1.0 if t.id in (5, 9, 30) else 2.0,)) for t in data]
    found = Recommender().recommend(tied, 40)
    means = Recommender()._means(tied, np.array([t.value for t in tied]))
    assert found.trial.id == min((5, 9, 30), key=lambda i: means[i])


def test_failed_and_pending_trials_have_no_part_in_it():
    data = trials(20)
    failed = [Trial(20, np.zeros(2), np.zeros(2), error="x", state="failed"), Trial(21, np.zeros(2), np.zeros(2))]
    alone, together = Recommender().recommend(data, 20), Recommender().recommend(data + failed, 21)
    assert together.trial is alone.trial
    assert together.mean == alone.mean


def test_the_answer_does_not_depend_on_earlier_questions():
    data = trials(60)
    curious, patient = Recommender(), Recommender()
    for n in range(1, 61):
        asked = curious.recommend(data[:n], n)
    answer = patient.recommend(data, 60)
    assert asked.trial is answer.trial
    assert asked.mean == answer.mean


def test_a_recommender_that_has_seen_another_order_of_outcomes_starts_afresh():
    """Trials finish in any order: what was fitted to others than the first ones is fitted again."""
    data = trials(30)
    late = Recommender()
    late.recommend(data[5:], 25)
    assert late.recommend(data, 30).mean == Recommender().recommend(data, 30).mean


def test_fits_are_few(monkeypatch):
    counted = []
    real = recommendation.fit
    monkeypatch.setattr(recommendation, "fit", lambda *args, **more: counted.append(1) or real(*args, **more))
    data, recommender = trials(120), Recommender()
    for n in range(8, 121, 2):
        recommender.recommend(data[:n], n)
    assert len(counted) <= len({fit_size(n) for n in range(8, 121)})
    assert len(counted) < 32


@given(st.integers(1, 10_000))
def test_fits_follow_the_data_within_a_tenth(count):
    size = fit_size(count)
    assert size <= count
    if count >= 16:
        assert count < 1.1 * size + 1
        assert fit_size(size) == size
    else:
        assert size == count
    assert fit_size(count + 1) >= size


def test_known_variances_decide_whom_to_believe():
    """Two evaluations at each of ten points; the exact one says 1, the other, known to be worthless, 1 or -3."""
    points = np.linspace(-1, 1, 10)
    data = []
    for i, x in enumerate(points):
        data.append(Trial(2 * i, x, np.array([x]), 1.0 + 0.1 * x, noise_variance=1e-6, state="done"))
        lie = -3.0 if i == 4 else 1.0
        data.append(Trial(2 * i + 1, x, np.array([x]), lie, noise_variance=100.0, state="done"))
    found = Recommender().recommend(data, 20)
    assert found.trial.unit[0] == -1.0
    assert found.mean == pytest.approx(0.9, abs=0.1)
    blind = Recommender().recommend([replace(trial, noise_variance=None) for trial in data], 20)
    assert blind.trial.unit[0] == pytest.approx(points[4])


@pytest.mark.parametrize("value", [0.0, 3.3, -1e300])
def test_equal_values(value):
    data = [replace(trial, value=value) for trial in trials(20)]
    found = Recommender().recommend(data, 20)
    assert found.trial.id == 0
    assert found.mean == pytest.approx(value)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_values_of_any_size(unit):
    data = trials(30)
    usual = Recommender().recommend(data, 30)
    found = Recommender().recommend([replace(trial, value=trial.value * unit) for trial in data], 30)
    assert found.trial.id == usual.trial.id
    assert found.mean == pytest.approx(usual.mean * unit, rel=1e-6)
