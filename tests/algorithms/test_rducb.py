import numpy as np
import pytest
from desk import Desk, sphere

import boids
from boids.algorithms import RandomSearch
from boids.algorithms.rducb import AMPLITUDES, LENGTHSCALES, RDUCB
from boids.blocks.forest import Forest
from boids.errors import MethodError
from boids.gp.additive import Components, log_likelihood
from boids.records import Domain

QUICK = RDUCB(n_init=5, grid=40)


@pytest.mark.parametrize(
    "wrong",
    [{"edge_fraction": 1.5}, {"n_init": 0}, {"grid": 1}, {"branching": 1}, {"lengthscale": 0.0}, {"amplitude": 0.1}],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        RDUCB(**wrong)


def test_the_design_is_random_points_of_the_grid():
    desk = Desk(RDUCB(grid=11), Domain(7)).go(sphere, 10)
    tenths = (desk.history.units + 1.0) * 5.0
    np.testing.assert_allclose(tenths, np.round(tenths), atol=1e-12)
    assert len(np.unique(desk.history.units, axis=0)) == 10
    assert {p.info["phase"] for p, _, _ in desk.rows} == {"design"}
    proposal = desk.ask()
    assert proposal.info["phase"] == "forest"
    np.testing.assert_allclose((proposal.unit + 1.0) * 5.0, np.round((proposal.unit + 1.0) * 5.0), atol=1e-12)


@pytest.mark.parametrize(("dim", "edges"), [(1, 0), (2, 1), (3, 1), (10, 2), (100, 20)])
def test_every_proposal_has_a_forest_of_a_fifth_as_many_edges(dim, edges):
    desk = Desk(QUICK, Domain(dim)).go(sphere, 7)
    assert [p.info["edges"] for p, _, _ in desk.rows[5:]] == [edges, edges]


def test_the_confidence_grows_with_the_proposals_of_the_model():
    desk = Desk(QUICK, Domain(2)).go(sphere, 15)
    assert [p.memo["t"] for p, _, _ in desk.rows] == [0] * 5 + list(range(1, 11))
    assert desk.algorithm.diagnostics(desk.state)["beta"] == pytest.approx(1.498, abs=1e-3)  # ½ ln 20


@pytest.mark.parametrize(
    ("dim", "n", "rule"),
    [(100, 130, 1), (100, 131, 2), (100, 500, 14), (100, 1000, 200), (500, 500, 31), (500, 1000, 1000)],
)
def test_the_rule_for_likelihood_evaluations(dim, n, rule):
    assert RDUCB(original=True).evaluations(n, dim) == rule
    assert RDUCB().evaluations(n, dim) == min(10, rule)


def test_a_fit_keeps_to_its_evaluations_and_its_bounds_and_improves(monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.random((200, 100))
    y, noise = np.sin(6.0 * x[:, 0]), np.full(200, 0.1)
    forest = Forest.random(100, 20, rng)
    start = Components(forest.singles, forest.edges, np.full(100, 0.4), np.full(100, 0.5))
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return log_likelihood(*arguments)

    monkeypatch.setattr("boids.algorithms.rducb.log_likelihood", counted)
    assert RDUCB()._fitted(start, x[:130], y[:130], noise[:130]) is start
    assert not calls
    monkeypatch.setattr(RDUCB, "evaluations", lambda self, n, dim: 5)
    fitted = RDUCB()._fitted(start, x, y, noise)
    assert 2 <= len(calls) <= 6
    assert log_likelihood(fitted, x, y, noise)[0] > log_likelihood(start, x, y, noise)[0]
    assert (fitted.lengthscales >= LENGTHSCALES[0]).all()
    assert (fitted.amplitudes >= AMPLITUDES[0]).all()


def test_the_original_learns_from_raw_values():
    desk = Desk(RDUCB(original=True), Domain(3)).go(lambda u: 1e3 + sphere(u), 4)
    x, y, noise = desk.algorithm._data(desk.history)
    np.testing.assert_array_equal(y, desk.history.values)
    np.testing.assert_allclose(x, (desk.history.units + 1.0) / 2.0)
    np.testing.assert_allclose(noise, 0.1 + 1e-8)
    np.testing.assert_array_equal(desk.state.lengthscales, 0.1)
    _, y, _ = RDUCB()._data(desk.history)
    assert y.mean() == pytest.approx(0.0, abs=1e-12)
    assert y.std(ddof=1) == pytest.approx(1.0)


def test_one_coordinate_is_minimised_over_the_grid():
    """With one dimension zooming has no partner to please: compare with the bound at all points of the grid."""
    desk = Desk(RDUCB(grid=16, noise_variance=1e-4), Domain(1)).go(sphere, 30)
    assert min(desk.history.values) == pytest.approx(min(sphere(u) for u in np.linspace(-1.0, 1.0, 16)))


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("original", [False, True])
def test_small_dimensions_and_any_budget(dim, original):
    for budget in (3, 18):
        result = boids.minimize(sphere, [(-1.0, 1.0)] * dim, budget, method=RDUCB(original=original), seed=1)
        assert result.nfev == budget
        assert all((np.abs(trial.unit) <= 1.0).all() for trial in result.trials)


@pytest.mark.parametrize("algorithm", [QUICK, RDUCB(original=True, n_init=3)])
def test_resuming_is_exact(algorithm, tmp_path):
    space = [(-1.0, 1.0)] * 6
    whole = boids.minimize(sphere, space, 24, method=algorithm, seed=3)
    part = boids.Optimizer(space, budget=24, method=algorithm, seed=3)
    for step in range(24):
        if step in (1, 9, 17):
            part.save(tmp_path / "run")
            part = boids.Optimizer.load(tmp_path / "run", method=algorithm)
        trial = part.ask()
        part.tell(trial, sphere(trial.x))
    assert [t.unit.tobytes() for t in part.trials] == [t.unit.tobytes() for t in whole.trials]


def test_batches_failures_guests_and_late_outcomes():
    desk = Desk(QUICK, Domain(3))
    assert desk.algorithm.ready(desk.state) == 5
    rng = np.random.default_rng(0)
    waiting = [desk.guest([0.5, 0.5, 0.5]), *(desk.ask() for _ in range(7))]
    for step in range(40):
        while len(waiting) < 4:
            waiting.append(desk.ask())
        late = waiting.pop(int(rng.integers(len(waiting))))
        desk.tell(late, np.nan if step % 5 == 0 else sphere(late.unit))
    assert (np.abs(desk.history.units) <= 1.0).all()
    assert np.nanmin(desk.history.values) < 0.3


def test_a_pending_point_is_not_proposed_again():
    desk = Desk(QUICK, Domain(4)).go(sphere, 12)
    units = np.array([desk.ask().unit for _ in range(5)])
    assert len(np.unique(units, axis=0)) == 5


def test_when_everything_fails():
    desk = Desk(QUICK, Domain(3)).go(lambda u: np.nan, 12)
    assert len(np.unique(desk.history.units, axis=0)) == 12


def test_guests_shorten_the_design():
    desk = Desk(QUICK, Domain(3))
    for unit in np.random.default_rng(0).uniform(-1.0, 1.0, (4, 3)):
        desk.tell(desk.guest(unit), sphere(unit))
    assert desk.algorithm.ready(desk.state) == 1
    assert [desk.ask().info["phase"] for _ in range(2)] == ["design", "forest"]


def test_noise_constraints_and_integers():
    space = boids.Space({"a": boids.Int(0, 4), "b": boids.Float(-1.0, 1.0), "c": boids.Categorical(["x", "y", "z"])})
    rng = np.random.default_rng(0)
    result = boids.minimize(
        lambda p: ((p["a"] - 2) ** 2 + p["b"] ** 2 + (p["c"] != "y") + 0.1 * rng.standard_normal(), [p["b"] - 0.5]),
        space, 40, method="rducb", seed=0, noisy=True, n_constraints=1,
    )  # fmt: skip
    assert result.x["a"] in (1, 2, 3)


def test_better_than_random_search():
    ours, random = [], []
    for seed in range(5):
        centre = np.random.default_rng([9, seed]).uniform(-0.8, 0.8, 10)
        for method, found in ((RDUCB(), ours), (RandomSearch(), random)):
            fun = lambda x, centre=centre: float(np.sum((np.asarray(x) - centre) ** 2))  # noqa: E731
            found.append(boids.minimize(fun, [(-1.0, 1.0)] * 10, 50, method=method, seed=seed).fun)
    # Five pairs, all of one sign: one chance in 32 if there were no difference.
    assert all(a < b for a, b in zip(ours, random, strict=True))
