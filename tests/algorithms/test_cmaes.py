"""CMA-ES: pycma's own trace, replayed exactly; generations in any order; starts and restarts."""

import numpy as np
import pytest
from desk import Desk, sphere

import boids
from boids.algorithms import CMAES, pycma_replay
from boids.algorithms.pycma_replay import Evolution, Strategy, default_population, into_box, ranked_last
from boids.records import Domain

cma = pytest.importorskip("cma")


def run(budget, dim=5, seed=3, forgetful=False, **settings):
    optimizer = boids.Optimizer([(-1, 1)] * dim, budget=budget, method=CMAES(**settings), seed=seed)
    while optimizer.remaining:
        if forgetful:
            pycma_replay.forget()
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x))
    return optimizer


def units(optimizer):
    return np.array([trial.unit for trial in optimizer.trials])


# ------------------------------------------------------------------------------------------------ reference facts


@pytest.mark.parametrize(("dim", "size"), [(100, 17), (102, 17), (124, 18), (180, 19), (500, 22), (1, 6), (2, 6)])
def test_population(dim, size):
    assert default_population(dim) == size


def test_bound_transform_is_that_of_pycma():
    handler = cma.boundary_handler.BoundTransform([[0.0], [1.0]])
    x = np.concatenate([np.linspace(-6, 7, 4001), [0.0, -0.1, 0.05, 0.95, -0.05, 1.05]])
    expected = [handler.repair([each])[0] for each in x]
    np.testing.assert_allclose(into_box(x), expected, atol=1e-13)
    np.testing.assert_allclose(into_box(np.array([0.0, -0.1])), [0.0125, 0.0125])


def test_constants_of_pycma():
    n = 100
    sp = Strategy(Evolution.at(np.zeros(n), 0.3, 17, 0))._es.sp
    raw = np.log((17 + 1) / 2) - np.log(np.arange(1, 18))
    positive = raw[raw > 0] / raw[raw > 0].sum()
    mu_eff = 1.0 / np.sum(positive**2)
    assert sp.weights.mueff == pytest.approx(mu_eff)
    assert sp.cc == pytest.approx((4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n))
    assert sp.c1 == pytest.approx(2 / ((n + 1.3) ** 2 + mu_eff))
    assert sp.cmu == pytest.approx(2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((n + 2) ** 2 + mu_eff))


def test_the_trace_is_that_of_pycma_itself():
    """The same points as pycma's own loop over ask and tell, with the same random numbers."""
    optimizer = run(40, dim=4)
    state = optimizer.run.state
    evolution, streams = state.evolution, []
    options = {
        "bounds": [0, 1], "popsize": 8, "seed": np.nan, "verbose": -10, "verb_log": 0,
        "randn": lambda *shape: streams[-1].standard_normal(shape),
    }  # fmt: skip
    strategy = cma.CMAEvolutionStrategy(evolution.start, 0.3, options)
    expected = []
    for generation in range(5):
        streams.append(np.random.default_rng([evolution.seed, generation]))
        points = strategy.ask()
        strategy.tell(points, [sphere(2 * x - 1) for x in points])
        expected.extend(points)
    np.testing.assert_allclose(0.5 * (units(optimizer) + 1), expected, atol=1e-14)
    assert len(evolution) == 5
    # The values told are those that came back.
    np.testing.assert_array_equal(evolution.values.ravel(), [trial.value for trial in optimizer.trials])


# ---------------------------------------------------------------------------------------------------------- replay


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_a_run_without_a_cache_is_the_same_bit_for_bit(dim):
    np.testing.assert_array_equal(units(run(60, dim)), units(run(60, dim, forgetful=True)))


@pytest.mark.parametrize("limit", [pycma_replay.KEPT, 50_000], ids=["all in the cache", "two in the cache"])
def test_runs_side_by_side_do_not_disturb_each_other(monkeypatch, limit):
    monkeypatch.setattr(pycma_replay._CACHE, "limit", limit)
    alone = [units(run(24, seed=seed)) for seed in range(3)]
    together = [boids.Optimizer([(-1, 1)] * 5, budget=24, method="cmaes", seed=seed) for seed in range(3)]
    for _ in range(24):
        for optimizer in together:
            trial = optimizer.ask()
            optimizer.tell(trial, sphere(trial.x))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, units(other))


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(pycma_replay._CACHE, "limit", 100_000)
    for seed in range(9):
        run(7, seed=seed)
    assert 1 <= len(pycma_replay._CACHE._kept) <= 4


def test_a_state_can_be_told_two_futures():
    """From one state: two different outcomes, and back to the first one."""
    desk = Desk(CMAES(population=4), Domain(3))
    proposals = [desk.ask() for _ in range(4)]
    for proposal in proposals[:3]:
        desk.tell(proposal, sphere(proposal.unit))
    rows, state, pending = list(desk.rows), desk.state, list(desk.pending)
    seen = []
    for value in (0.0, 99.0, 0.0):
        desk.rows, desk.state, desk.pending, desk.asked = list(rows), state, list(pending), 4
        desk.tell(proposals[3], value)
        seen.append([desk.ask().unit.tobytes() for _ in range(4)])
    assert seen[0] == seen[2] != seen[1]


def test_loading_replays(tmp_path):
    whole = run(45)
    optimizer = boids.Optimizer([(-1, 1)] * 5, budget=45, method=CMAES(), seed=3)
    while optimizer.remaining:
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x))
        optimizer.save(tmp_path / "run")
        pycma_replay.forget()
        optimizer = boids.Optimizer.load(tmp_path / "run")
    np.testing.assert_array_equal(units(whole), units(optimizer))


def test_nobody_elses_random_numbers_are_touched():
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    run(30)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_another_version_of_pycma_is_refused(tmp_path, monkeypatch):
    optimizer = boids.Optimizer([(-1, 1)] * 5, budget=45, method="cmaes", seed=3)
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x))
    pycma_replay.forget()
    monkeypatch.setattr(cma, "__version__", "99.0")
    with pytest.raises(boids.MethodError, match="pip install cma=="):
        optimizer.ask()


def test_without_pycma_the_extra_is_named(monkeypatch):
    def gone(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(pycma_replay, "import_module", gone)
    for method in ("cmaes", "cmabo"):
        with pytest.raises(boids.MissingExtra, match=r"pip install 'boids-opt\[cma\]'"):
            boids.Optimizer([(0, 1)] * 3, budget=5, method=method)


# ------------------------------------------------------------------------------------------- generations and starts


def test_the_order_of_tells_does_not_matter():
    found = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]):
        desk = Desk(CMAES(population=6), Domain(3))
        proposals = [desk.ask() for _ in range(6)]
        for i in order:
            desk.tell(proposals[i], sphere(proposals[i].unit))
        found.append(desk.ask().unit.tobytes())
    assert found[0] == found[1]


def test_a_generation_ends_with_the_first_values_that_are_there():
    desk = Desk(CMAES(population=5), Domain(3))
    proposals = [desk.ask() for _ in range(8)]  # three more than a generation has
    assert len({proposal.unit.tobytes() for proposal in proposals}) == 8
    for proposal in proposals[3:]:
        desk.tell(proposal, sphere(proposal.unit))
    assert len(desk.state.evolution) == 1
    for proposal in proposals[:3]:
        desk.tell(proposal, -5.0)  # too late
    assert len(desk.state.members) == 0
    assert desk.ask().memo["generation"] == 1
    assert desk.state.evolution.members.tolist() == [[3, 4, 5, 6, 7]]


def test_ready_is_the_rest_of_the_generation():
    desk = Desk(CMAES(), Domain(10))
    assert desk.algorithm.ready(desk.state) == 10
    desk.ask()
    assert desk.algorithm.ready(desk.state) == 9


def test_failures_rank_last():
    np.testing.assert_array_equal(ranked_last(np.array([1.0, np.nan, 3.0])), [1.0, 5.0, 3.0])
    np.testing.assert_array_equal(ranked_last(np.array([np.nan, 2.0])), [4.0, 2.0])
    np.testing.assert_array_equal(ranked_last(np.full(2, np.nan)), [0.0, 0.0])
    assert np.isfinite(ranked_last(np.array([-1.7e308, 1.7e308, np.nan]))).all()


def test_it_starts_at_the_best_known_point():
    desk = Desk(CMAES(), Domain(3))
    for point, value in (([0.5, 0.5, 0.5], 3.0), ([-0.2, 0.4, 0.0], 1.0), ([0.9, 0.9, 0.9], np.nan)):
        desk.tell(desk.guest(point), value)
    desk.ask()
    np.testing.assert_allclose(desk.state.evolution.start, [0.4, 0.7, 0.5])
    waiting = Desk(CMAES(), Domain(3))
    waiting.guest([0.2, 0.2, 0.2])
    waiting.ask()
    np.testing.assert_allclose(waiting.state.evolution.start, 0.6)
    stubborn = Desk(CMAES(start="centre", start_at_best=False), Domain(3))
    stubborn.tell(stubborn.guest([0.5] * 3), 1.0)
    stubborn.ask()
    np.testing.assert_allclose(stubborn.state.evolution.start, 0.5)


def test_it_starts_again_when_it_has_stopped():
    desk = Desk(CMAES(population=5), Domain(3))
    desk.go(lambda u: 1.0, 30)  # flat
    facts = desk.algorithm.diagnostics(desk.state)
    assert facts["restarts"] >= 1
    assert facts["population"] == 5 * 2 ** facts["restarts"]
    late = Desk(CMAES(population=5, population_growth=1.0), Domain(3)).go(lambda u: 1.0, 30)
    assert late.state.population == 5


def test_it_converges():
    assert run(400).best.value < 1e-4


@pytest.mark.parametrize("wrong", [{"sigma": 0}, {"population": 2}, {"start": "corner"}, {"population_growth": 0.5}])
def test_wrong_settings(wrong):
    with pytest.raises(boids.MethodError, match=next(iter(wrong))):
        CMAES(**wrong)
