"""What BOIDS believes of constraints and failures, and what these beliefs cost a point."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from boids.algorithms import Boids, boids_limits
from boids.algorithms.boids_limits import (
    CONSTRAINTS,
    FAILURES,
    Limit,
    Limits,
    at_stake,
    margins,
    penalty_weight,
    scaled,
)
from boids.algorithms.boids_lines import FORBIDDEN, choose_line, within_limits
from boids.algorithms.boids_models import Beliefs, Data, Fits
from boids.blocks.embedding import Embedding
from boids.blocks.line import Lines
from boids.blocks.merit import violations
from boids.gp.model import Hyperparameters
from boids.gp.paths import mean_path
from boids.gp.posterior import Posterior
from boids.records import Domain

HYPER = Hyperparameters(np.array([0.8, 1.5]), 1.0, 1e-3, 0.0)


def rng(seed=0):
    return np.random.default_rng(seed)


def process(outputs, surrogate=CONSTRAINTS, seed=0, **options):
    points = rng(seed).uniform(-1, 1, (len(outputs), 2))
    return Posterior.condition(surrogate, HYPER, points, np.asarray(outputs, dtype=float), **options)


# --- scaling, relevance, weight, margins -------------------------------------------------------------------------


@given(
    arrays(float, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(-20, 20).map(float)),
    st.sampled_from([1e-300, 1e-6, 1.0, 1e300]),
)
def test_scaled_constraints_keep_their_sign_and_forget_their_unit(c, unit):
    got = scaled(c)
    np.testing.assert_array_equal(np.sign(got), np.sign(c))
    for j in range(c.shape[1]):
        column = got[:, j]
        if np.ptp(c[:, j]) > 0:
            assert column.std() == pytest.approx(1.0)
            np.testing.assert_allclose(column * c[0, j], c[:, j] * column[0], atol=1e-9)  # a multiple, not a shift
    if np.abs(c).max() < 17:
        np.testing.assert_allclose(scaled(c * unit), got, rtol=1e-9)


def test_constraints_at_stake_are_those_near_their_bound_where_it_matters():
    r = rng()
    near, far = r.normal(size=40), -5.0 + 0.5 * r.normal(size=40)
    c = np.stack([near, far, near - 0.2], axis=1)
    np.testing.assert_array_equal(at_stake(c), [True, False, True])
    # None is near its bound: then all have a say, or there would be nothing to fit.
    np.testing.assert_array_equal(at_stake(np.stack([far, far - 1], axis=1)), [True, True])
    # Violated only among the more infeasible half of the rows: of no interest among the others.
    c = np.full((40, 2), -5.0)
    c[20:, 0] = 3.0
    c[:, 1] = np.where(np.arange(40) < 20, 0.1, 1.0)
    np.testing.assert_array_equal(at_stake(c), [False, True])


def test_the_weight_grows_while_nothing_is_feasible_and_falls_back_when_something_is():
    bad, good = [[1.0, -1.0]], [[-1.0, 0.0]]
    design = 5

    def weight(rows):
        return penalty_weight(np.array(bad * design + rows), design)

    first = weight([])
    grown = [weight(bad * k) for k in range(60)]
    assert grown[0] == first
    assert np.all(np.diff(grown) > 0)
    double = int(boids_limits._DOUBLING)
    assert weight(bad * double) == pytest.approx(2 * first)
    assert weight(bad * 2 * double) == pytest.approx(4 * first)
    assert weight(bad * 30 + good) == first
    assert weight(bad * 30 + good + bad * 7) == weight(bad * 7)
    assert np.isfinite(weight(bad * 10_000))
    # The design does not count: it is not the method's doing.
    assert penalty_weight(np.array(good * design + bad * 7), design) == weight(bad * 7)
    assert penalty_weight(np.array(bad * 3), design) == first


def test_margins_are_shares_of_the_latest_errors():
    y = rng(1).normal(size=(50, 3)) * [1.0, 10.0, 0.1]
    posterior = process(y)
    errors = posterior.leave_one_out()[-boids_limits._LATEST :]
    got = margins(posterior)
    np.testing.assert_allclose(got, boids_limits._MARGIN * np.sqrt((errors**2).mean(axis=0)))
    assert got[1] > got[0] > got[2] > 0
    smooth = process(np.zeros((50, 1)))
    assert margins(smooth)[0] == pytest.approx(0.0, abs=1e-12)


# --- the cost of a point ------------------------------------------------------------------------------------------


def test_the_cost_is_the_weighted_sum_of_what_is_positive():
    r = rng(2)
    constraints = process(r.normal(size=(12, 3)), refit_mean=True)
    failures = process(np.where(np.arange(12) < 4, 1.0, -1.0), FAILURES)
    limits = Limits.of(constraints, margins(constraints), 0.7, failures, np.float64, np.zeros(2))
    z = r.uniform(-1, 1, (30, 2))
    c = constraints.predict(z)[0] + margins(constraints)
    expected = 0.7 * np.maximum(c, 0).sum(axis=1)
    expected += boids_limits._FAILURE_WEIGHT * np.maximum(failures.predict(z)[0], 0)
    np.testing.assert_allclose(limits(z), expected, atol=1e-9)
    assert (expected > 0).any()

    origins, directions, t = z[:4], r.normal(size=(4, 2)), r.uniform(-0.4, 0.4, (4, 5))
    there = origins[:, None] + t[..., None] * directions[:, None]
    np.testing.assert_allclose(
        limits.on_lines(origins, directions, t), limits(there.reshape(-1, 2)).reshape(4, 5), atol=1e-9
    )


def test_one_constraint_in_a_column_is_not_taken_for_values():
    column = process(rng(3).normal(size=(9, 1)), refit_mean=True)
    z = rng(4).uniform(-1, 1, (6, 2))
    limit = Limit(mean_path(column), 2.0)
    assert limit.cost(limit.mean(z), 1).shape == (6,)
    np.testing.assert_allclose(limit.cost(limit.mean(z), 1), 2 * np.maximum(column.predict(z)[0][:, 0], 0))


def test_without_constraints_and_failures_there_is_no_limit():
    assert Limits.of(None, 0.0, 1.0, None, np.float64, np.zeros(2)) is None


def test_the_bandit_leaves_lines_where_the_limits_are_broken():
    class Flat:
        def on_lines(self, origins, directions, t):
            return np.zeros(t.shape)

    class Wall:
        """Costs 1 wherever the first coordinate is positive."""

        def on_lines(self, origins, directions, t):
            return (origins[:, None, 0] + t * directions[:, None, 0] > 0).astype(float)

    lines = Lines.through(np.array([[0.5, 0.0], [-0.5, 0.0], [0.7, 0.1]]), np.array([[0.0, 1.0]] * 3))
    for seed in range(5):
        chosen, rewards = choose_line(Boids(), Flat(), 0.0, lines, [], rng(seed), Wall())
        assert chosen == 1
        np.testing.assert_array_equal(rewards, [-1.0, 0.0, -1.0])


# --- at the points that would really be evaluated ---------------------------------------------------------------


def test_alpha_stays_as_it_is_where_nothing_limits_it():
    def alpha(z):
        return z.sum(axis=1)

    assert within_limits(alpha, None, Embedding.identity(3), Domain(3, n_constraints=2)) is alpha


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_alpha_is_asked_at_the_mean_of_the_snapped_coordinates(dtype):
    embedding = Embedding.random(7, 3, rng(5))
    seen = []

    def alpha(z):
        seen.append(z)
        return z.sum(axis=1)

    domain = Domain(7, snapping=lambda units: np.sign(units).astype(units.dtype))
    z = rng(6).uniform(-1, 1, (5, 3)).astype(dtype)
    bounded = within_limits(alpha, None, embedding, domain)
    got = bounded(z)
    expected = embedding.average(np.sign(embedding.lift(z)))
    np.testing.assert_array_equal(seen[0], expected)
    np.testing.assert_allclose(got, expected.sum(axis=1), rtol=1e-6)
    assert got.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_linear_constraints_come_before_everything_and_the_less_broken_before_the_more(dtype):
    embedding = Embedding.identity(2)
    domain = Domain(2, violating=lambda units: np.maximum(units[:, 0].astype(float), 0.0))
    bounded = within_limits(lambda z: z[:, 1] * 1e3, None, embedding, domain)
    got = bounded(np.array([[-0.5, 1.0], [0.1, -1.0], [0.2, -1.0], [0.9, -1.0]], dtype=dtype))
    assert got.dtype == dtype
    assert got[0] == 1e3
    assert np.all(np.diff(got) > 0)
    assert got[1] >= FORBIDDEN


def test_limits_are_added_to_alpha_in_its_precision():
    constraints = process(rng(7).normal(size=(9, 2)), refit_mean=True)
    limits = Limits.of(constraints, margins(constraints), 3.0, None, np.float64, np.zeros(2))
    z = rng(8).uniform(-1, 1, (20, 2)).astype(np.float32)
    bounded = within_limits(lambda z: z[:, 0], limits, Embedding.identity(2), Domain(2))
    got = bounded(z)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, z[:, 0] + limits(z), rtol=1e-6)


# --- beliefs --------------------------------------------------------------------------------------------------------


def case(n=30, failing=0.0, seed=0, noisy=False):
    """Rows of a run in 2 dimensions: a bowl, two constraints, and failures where the second coordinate is high."""
    r = rng(seed)
    z = r.uniform(-1, 1, (n, 2))
    values = (z**2).sum(axis=1)
    constraints = np.stack([0.3 - z[:, 0], z[:, 1] - 2.0], axis=1)
    failed = z[:, 1] > 1 - 2 * failing
    values[failed], constraints[failed] = np.nan, np.nan
    return Data(z, values, constraints, None, noisy)


def form(data, settings=None, fits=None, seed=0):
    return Beliefs.form(settings or Boids(), data, fits or Fits(), rng(seed))


def test_every_constraint_is_predicted_on_its_own_scale():
    data = case()
    fits, beliefs = form(data)
    assert fits.constraints.fitted_at == fits.objective.fitted_at == 30
    assert fits.failures is None
    assert beliefs.failures is None
    np.testing.assert_allclose(beliefs.violation, violations(scaled(data.constraints)))
    inside, outside = np.array([[0.9, 0.0]]), np.array([[-0.9, 0.0]])
    limits = beliefs.limits(np.float64, np.zeros(2))
    assert limits(outside)[0] > 1.0 * beliefs.weight
    assert limits(inside)[0] == pytest.approx(0.0, abs=1e-6)
    # The second constraint, far from its bound everywhere, is predicted but has no say in the kernel.
    assert beliefs.constraints.outputs.shape == (30, 2)
    assert fits.constraints.hyper.mean.shape == (1,)


def test_a_region_of_failures_is_learnt_and_its_rows_teach_the_objective_nothing():
    data = case(n=40, failing=0.25)
    failed = ~data.succeeded
    assert 4 < failed.sum() < 20
    fits, beliefs = form(data)
    assert len(beliefs.objective.inputs) == (~failed).sum()
    assert len(beliefs.constraints.inputs) == (~failed).sum()
    assert len(beliefs.failures.inputs) == 40
    limits = beliefs.limits(np.float64, np.zeros(2))
    assert limits(np.array([[0.8, 0.95]]))[0] > 3.0
    assert limits(np.array([[0.8, -0.5]]))[0] == pytest.approx(0.0, abs=1e-6)
    assert fits.failures.fitted_at == 40
    worst = form(data, Boids(failures="worst"))[1]
    assert worst.failures is None
    assert len(worst.objective.inputs) == 40
    np.testing.assert_array_equal(worst.targets[failed], worst.targets.max())


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_failures_that_strike_at_random_forbid_little(dim):
    """30 % of 100 rows fail whatever the point: most of the cube stays free, unlike a region where all of them fail."""
    r = rng(3)
    z, grid = r.uniform(-1, 1, (100, dim)), r.uniform(-1, 1, (500, dim))
    values = (z**2).sum(axis=1)
    at_random = form(Data(z, np.where(r.random(100) < 0.3, np.nan, values), None, None))[1]
    assert (at_random.failures.predict(grid)[0] < 0.0).mean() > 0.8
    in_a_region = form(Data(z, np.where(z[:, 0] > 0.4, np.nan, values), None, None))[1]
    forbidden = in_a_region.failures.predict(grid)[0] > 0.0
    assert (forbidden == (grid[:, 0] > 0.4)).mean() > 0.95


def test_without_any_success_there_is_still_a_model_and_no_incumbent():
    data = replace(case(n=12), values=np.full(12, np.nan), constraints=np.full((12, 2), np.nan))
    fits, beliefs = form(data)
    assert not beliefs.targets.any()
    assert beliefs.constraints is None
    assert fits.constraints is None
    judgement = beliefs.judge(data)
    assert np.isnan(judgement.merits).all()
    assert judgement.to_beat == np.inf
    assert np.all(beliefs.limits(np.float64, np.zeros(2))(data.points) > 0)


def test_judgement_by_values_alone():
    data = replace(case(), constraints=None)
    judgement = form(data)[1].judge(data)
    np.testing.assert_array_equal(judgement.merits, data.values)
    assert judgement.to_beat == np.inf


def test_judgement_with_constraints_adds_the_weighted_violation():
    data = case(failing=0.1)
    beliefs = form(data)[1]
    judgement = beliefs.judge(data)
    good = data.succeeded
    expected = beliefs.targets[good] + beliefs.weight * violations(scaled(data.constraints[good]))
    np.testing.assert_allclose(judgement.merits[good], expected)
    assert np.isnan(judgement.merits[~good]).all()
    assert judgement.best_target == beliefs.targets[int(np.nanargmin(judgement.merits))]


def test_noisy_rows_are_judged_by_their_means():
    data = replace(case(n=100, noisy=True), constraints=None)
    noisy = replace(data, values=data.values + 0.3 * rng(9).normal(size=100))
    fits, beliefs = form(noisy)
    judgement = beliefs.judge(noisy)
    np.testing.assert_allclose(judgement.merits, beliefs.scale.restore(beliefs.objective.predict(noisy.points)[0]))
    # Means are nearer to the truth than what was observed.
    assert np.abs(judgement.merits - data.values).mean() < 0.7 * np.abs(noisy.values - data.values).mean()
    deviation = np.sqrt(fits.objective.hyper.noise_variance)
    targets = beliefs.objective.predict(noisy.points)[0]
    assert judgement.best_target == targets.min()
    assert judgement.to_beat == pytest.approx(beliefs.scale.restore(targets.min() - deviation))
    assert judgement.to_beat < judgement.merits.min()


def test_known_noise_reaches_the_objective_on_its_scale():
    noise = np.full(30, np.nan)
    noise[:20] = 0.5
    data = replace(case(failing=0.1, noisy=True), constraints=None, noise=noise)
    _, beliefs = form(data)
    known = beliefs.objective.known_noise
    spread = data.values[data.succeeded].std(ddof=1)
    np.testing.assert_allclose(known, np.nan_to_num(noise[data.succeeded]) / spread**2)


def test_fits_last_until_there_is_enough_news():
    settings = Boids(refit_fraction=0.5)
    first, _ = form(case(n=20, failing=0.1), settings)
    kept, _ = form(case(n=25, failing=0.1), settings, first)
    assert kept.objective is first.objective
    assert kept.constraints is first.constraints
    assert kept.failures is first.failures
    renewed, _ = form(case(n=60, failing=0.1), settings, first)
    assert renewed.failures.fitted_at == 60
    assert renewed.objective.fitted_at > first.objective.fitted_at


def test_a_split_carries_all_three_fits():
    settings = Boids()
    fits, _ = form(case(failing=0.2), settings)
    parent = np.array([0, 1, 1])
    carried = fits.carried(settings, parent)
    for name, surrogate in (("objective", settings.surrogate), ("constraints", CONSTRAINTS), ("failures", FAILURES)):
        old, new = getattr(fits, name), getattr(carried, name)
        expected = old.hyper.lengthscales[parent] * np.sqrt([1, 2, 2])
        np.testing.assert_allclose(new.hyper.lengthscales, np.clip(expected, *surrogate.lengthscale_bounds))
        assert new.fitted_at == 0
    assert Fits().carried(settings, parent) == Fits()


def test_fantasies_reach_all_models():
    data = case(failing=0.2)
    beliefs = form(data)[1]
    points = rng(1).uniform(-1, 1, (3, 2))
    fantasy = beliefs.fantasise(points)
    for name in ("objective", "constraints", "failures"):
        before, after = getattr(beliefs, name), getattr(fantasy, name)
        assert len(after.inputs) == len(before.inputs) + 3
        np.testing.assert_allclose(after.predict(points)[0], before.predict(points)[0], atol=1e-8)
    assert beliefs.fantasise(np.empty((0, 2))) is beliefs
