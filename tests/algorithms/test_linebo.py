import numpy as np
import pytest
from desk import Desk, sphere
from hypothesis import given
from hypothesis import strategies as st

import boids
from boids.algorithms import RandomSearch
from boids.algorithms.linebo import LineBO, grid_on, random_direction
from boids.algorithms.linebo_descent import against_gradient, promising, reach
from boids.errors import MethodError
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior
from boids.records import Domain

ORIGINAL = LineBO(original=True, noise_variance=1e-7)
DIRECTIONS = ("coordinate", "random", "descent")
DESCENT = LineBO(directions="descent", path_features=64)


def lines_of(desk):
    """The told proposals of every line, as {number: [phases]}."""
    found = {}
    for proposal, _, _ in desk.rows:
        found.setdefault(proposal.memo["line"], []).append(proposal.memo["phase"])
    return found


# --- settings -------------------------------------------------------------------------------------------------


def test_what_the_defaults_stand_for():
    ours, original = LineBO(), LineBO(original=True)
    assert (ours.line_queries, ours.confidence, ours.small_gap) == ((2, 6), 1.5, 0.1)
    assert (original.line_queries, original.confidence, original.small_gap) == ((5, 10), 8.0, 0.01)
    assert LineBO(queries=(8, 15), beta=2, tolerance=0.2).line_queries == (8, 15)


@pytest.mark.parametrize(
    "wrong",
    [
        {"queries": (5, 5)},
        {"queries": (-1, 5)},
        {"gradient_queries": (2.0, 1.0)},
        {"directions": "up"},
        {"grid": 1},
        {"margin": 0.6},
        {"beta": -1.0},
        {"acquisition": "ei"},
    ],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(MethodError, match=next(iter(wrong))):
        LineBO(**wrong)


# --- lines ----------------------------------------------------------------------------------------------------


@given(dim=st.integers(1, 8), seed=st.integers(0, 2**32 - 1), faces=st.integers(0, 3))
def test_the_grid_reaches_both_ends_of_the_chord_and_stays_in_the_box(dim, seed, faces):
    rng = np.random.default_rng(seed)
    origin = rng.uniform(-1.0, 1.0, dim)
    origin[:faces] = np.sign(origin[:faces])
    direction = random_direction(origin, rng)
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    points = grid_on(origin, direction, 50)
    assert (np.abs(points) <= 1.0).all()
    steps = np.diff(points @ direction)
    np.testing.assert_allclose(steps, steps[0], atol=1e-9)
    assert steps[0] > 0.0  # on a face as well
    # Both ends are on the box's boundary, the origin between them.
    np.testing.assert_allclose(np.abs(points[[0, -1]]).max(axis=1), 1.0, atol=1e-9)
    t = (origin - points[0]) @ direction
    assert -1e-9 <= t <= steps.sum() + 1e-9


def test_a_coordinate_line_is_as_wide_as_the_box():
    points = grid_on(np.array([0.3, -0.4]), np.array([0.0, 1.0]), 300)
    np.testing.assert_array_equal(points[:, 0], 0.3)
    np.testing.assert_allclose(points[:, 1], np.linspace(-1.0, 1.0, 300), atol=1e-15)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_coordinates_in_turn_and_number_zero_last(dim):
    desk = Desk(ORIGINAL, Domain(dim))
    order, last = [], 0
    for _ in range(11 * dim + 30):
        proposal = desk.ask()
        if desk.state.phase == "line" and desk.state.lines > last:
            last = desk.state.lines
            order.append(int(np.flatnonzero(desk.state.direction)[0]))
            assert desk.state.direction[order[-1]] == 1.0
        desk.tell(proposal, sphere(proposal.unit))
    assert order[:dim] == [t % dim for t in range(1, dim + 1)]


@pytest.mark.parametrize("algorithm", [ORIGINAL, LineBO(), LineBO(directions="random"), LineBO(queries=(0, 1))])
def test_evaluations_per_line(algorithm):
    desk = Desk(algorithm, Domain(4)).go(sphere, 70)
    lines = lines_of(desk)
    least, most = algorithm.line_queries
    assert lines.pop(0) == ["start"]
    lines.pop(max(lines))  # perhaps not finished
    for phases in lines.values():
        queries = phases.count("line")
        assert least + 1 <= queries <= most
        assert phases == ["line"] * queries + ["best"] * (len(phases) - queries)
        # Ours leaves out b where it has been evaluated already.
        assert phases[-1] == "best" or not algorithm.original


def test_the_original_line_ends_early_only_by_its_relative_test():
    # f = -100: g = 100 has a large positive mean, so 1 % of it is soon more than what is uncertain.
    sure = lines_of(Desk(LineBO(original=True, noise_variance=1e-7), Domain(3)).go(lambda u: -100.0, 30))
    assert sure[2].count("line") == 6
    # Of a negative mean of g it never is.
    never = lines_of(Desk(LineBO(original=True, noise_variance=1e-7), Domain(3)).go(lambda u: 100.0, 30))
    assert never[1].count("line") == 10


def test_the_best_point_keeps_off_the_ends_of_the_chord():
    desk = Desk(ORIGINAL, Domain(2)).go(lambda u: float(u.sum()), 40)
    best = [p.unit for p, _, _ in desk.rows if p.memo["phase"] == "best"]
    assert len(best) >= 2
    # The chord of a coordinate is the box: a tenth of it is 0.2.
    assert all(abs(point[i % 2]) <= 0.8 + 1e-9 for i, point in enumerate(best, start=1))


def test_the_original_looks_at_raw_values_through_fixed_parameters():
    desk = Desk(LineBO(original=True), Domain(3)).go(lambda u: 1e3 * sphere(u), 5)
    _, posterior = desk.algorithm._posterior(desk.state, desk.history, (), np.random.default_rng(0))
    np.testing.assert_array_equal(posterior.outputs, desk.history.values)
    np.testing.assert_array_equal(posterior.hyper.lengthscales, 0.4)
    assert (posterior.hyper.signal_variance, posterior.hyper.noise_variance, posterior.hyper.mean) == (1.0, 0.04, 0.0)
    assert posterior.surrogate.kernel == "rbf"


def test_our_version_does_not_depend_on_the_units_of_the_values():
    traces = []
    for factor in (1.0, 2.0**20):
        desk = Desk(LineBO(), Domain(3)).go(lambda u, factor=factor: factor * sphere(u), 25)
        traces.append(desk.history.units)
    np.testing.assert_allclose(*traces, atol=1e-6)


# --- descent --------------------------------------------------------------------------------------------------


def bowl(dim=4):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 1.0, (60, dim))
    hyper = Hyperparameters(np.full(dim, 1.5), 4.0, 1e-4)
    return Posterior.condition(Surrogate(kernel="rbf"), hyper, x, np.array([sphere(each) for each in x]))


def test_the_gradient_of_a_plane_and_at_the_edge_of_the_box():
    slope = np.array([3.0, 0.0, -4.0])

    def plane(points):
        assert (np.abs(points) <= 1.0).all()
        return points @ slope

    for point in (np.zeros(3), np.full(3, 0.999), np.array([1.0, 0.0, -1.0])):
        np.testing.assert_allclose(against_gradient(plane, point), [-0.6, 0.0, 0.8], atol=1e-9)
    np.testing.assert_allclose(against_gradient(plane, np.array([-1.0, 0.5, 1.0])), 0.0)  # both lead outside
    np.testing.assert_allclose(against_gradient(plane, np.array([1.0, 0.5, 1.0])), [-1.0, 0.0, 0.0], atol=1e-12)
    assert not against_gradient(lambda points: np.zeros(len(points)), np.zeros(3)).any()


def test_steps_stay_in_the_trust_region():
    rng = np.random.default_rng(0)
    for _ in range(50):
        centre = rng.uniform(-1.0, 1.0, 6)
        v = rng.standard_normal(6)
        v /= np.linalg.norm(v)
        end = centre + reach(centre, v, 0.2) * v
        assert np.abs(end - centre).max() <= 0.2 + 1e-12
        assert np.abs(end).max() <= 1.0 + 1e-12
        # As far as it goes: at the end of the region, or of the cube.
        assert max(np.abs(end - centre).max() / 0.2, np.abs(end).max()) == pytest.approx(1.0)
    assert reach(np.zeros(3), np.zeros(3), 0.2) == 0.0


def test_a_direction_must_lead_far_enough_and_down():
    posterior = bowl()
    centre, low = np.full(4, -0.3), np.full(4, -0.2)
    assert promising(posterior, low, centre, 0.2, relative=True)
    assert not promising(posterior, centre + 1e-3, centre, 0.2, relative=True)
    assert not promising(posterior, np.full(4, -0.4), centre, 0.2, relative=False)


def test_steps_and_lines_alternate_and_find_the_way_down():
    desk = Desk(DESCENT, Domain(3)).go(sphere, 60)
    phases = [p.memo["phase"] for p, _, _ in desk.rows]
    assert {"start", "descent", "line"} <= set(phases)
    for number, found in lines_of(desk).items():
        steps = found.count("descent")  # towards line number + 1
        assert steps <= 6
        assert steps >= 3 or number == desk.state.lines
    assert min(desk.history.values) < 0.02


# --- any run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("original", [False, True])
def test_small_dimensions(directions, dim, original):
    algorithm = LineBO(directions=directions, original=original, path_features=32)
    result = boids.minimize(sphere, [(-1.0, 1.0)] * dim, 25, method=algorithm, seed=1)
    assert result.nfev == 25
    assert all((np.abs(trial.unit) <= 1.0).all() for trial in result.trials)


@pytest.mark.parametrize(
    "algorithm", [LineBO(), ORIGINAL, DESCENT, LineBO(directions="random", acquisition="ts", path_features=32)]
)
def test_resuming_is_exact(algorithm, tmp_path):
    space = [(-1.0, 1.0)] * 4
    whole = boids.minimize(sphere, space, 26, method=algorithm, seed=3)
    part = boids.Optimizer(space, budget=26, method=algorithm, seed=3)
    for step in range(26):
        if step in (1, 9, 17):
            part.save(tmp_path / "run")
            part = boids.Optimizer.load(tmp_path / "run", method=algorithm)
        trial = part.ask()
        part.tell(trial, sphere(trial.x))
    assert [t.unit.tobytes() for t in part.trials] == [t.unit.tobytes() for t in whole.trials]


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_batches_failures_guests_and_late_outcomes(directions):
    algorithm = LineBO(directions=directions, path_features=32)
    desk = Desk(algorithm, Domain(3))
    rng = np.random.default_rng(0)
    waiting = [desk.guest([0.5, 0.5, 0.5]), *(desk.ask() for _ in range(3))]
    for step in range(40):
        while len(waiting) < 4:
            waiting.append(desk.ask())
        late = waiting.pop(int(rng.integers(len(waiting))))
        desk.tell(late, np.nan if step % 5 == 0 else sphere(late.unit))
    units = np.array([p.unit for p in desk.known()])
    assert (np.abs(units) <= 1.0).all()
    assert len(np.unique(units, axis=0)) == len(units)  # nothing twice, pending ones included
    assert np.nanmin(desk.history.values) < 0.3


def test_when_everything_fails():
    desk = Desk(LineBO(), Domain(3)).go(lambda u: np.nan, 12)
    assert len(np.unique(desk.history.units, axis=0)) == 12


def test_the_first_line_goes_through_the_best_guest():
    desk = Desk(LineBO(), Domain(3))
    for unit in ([0.9, 0.9, 0.9], [0.2, 0.3, 0.1], [-0.9, 0.0, 0.0]):
        desk.tell(desk.guest(unit), sphere(unit))
    proposal = desk.ask()
    assert proposal.memo == {"phase": "line", "line": 1}
    np.testing.assert_array_equal(proposal.unit[[0, 2]], [0.2, 0.1])


def test_noise_constraints_and_integers():
    space = boids.Space({"a": boids.Int(0, 4), "b": boids.Float(-1.0, 1.0), "c": boids.Categorical(["x", "y", "z"])})
    rng = np.random.default_rng(0)
    result = boids.minimize(
        lambda p: ((p["a"] - 2) ** 2 + p["b"] ** 2 + (p["c"] != "y") + 0.1 * rng.standard_normal(), [p["b"] - 0.5]),
        space, 40, method="linebo", seed=0, noisy=True, n_constraints=1,
    )  # fmt: skip
    assert result.x["a"] in (1, 2, 3)


@pytest.mark.parametrize("algorithm", [LineBO(), LineBO(directions="descent", path_features=128)])
def test_better_than_random_search(algorithm):
    ours, random = [], []
    for seed in range(5):
        centre = np.random.default_rng([9, seed]).uniform(-0.8, 0.8, 10)
        for method, found in ((algorithm, ours), (RandomSearch(), random)):
            fun = lambda x, centre=centre: float(np.sum((np.asarray(x) - centre) ** 2))  # noqa: E731
            found.append(boids.minimize(fun, [(-1.0, 1.0)] * 10, 70, method=method, seed=seed).fun)
    # Five pairs, all of one sign: one chance in 32 if there were no difference.
    assert all(a < b for a, b in zip(ours, random, strict=True))
