import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from boids.blocks.bandit import select_line
from boids.blocks.design import DESIGNS, latin_hypercube
from boids.blocks.line import Lines, chord
from boids.blocks.swarm import Swarm

unit = st.floats(-1, 1, allow_nan=False, width=32)


@given(st.integers(1, 8).flatmap(lambda d: st.tuples(arrays(float, (3, d), elements=unit), st.integers(0, 2**32))))
def test_a_chord_is_exactly_the_part_inside_the_cube(case):
    origins, seed = case
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=origins.shape)
    vectors[0, 0] = 0.0 if origins.shape[1] > 1 else 1.0
    lines = Lines.through(origins, vectors)
    assert np.all(lines.low <= 0)
    assert np.all(lines.high >= 0)
    for i in range(3):
        for t in (lines.low[i], 0.5 * (lines.low[i] + lines.high[i]), lines.high[i]):
            assert np.abs(origins[i] + t * lines.directions[i]).max() <= 1 + 1e-12
        for t in (lines.low[i] - 1e-6, lines.high[i] + 1e-6):
            assert np.abs(origins[i] + t * lines.directions[i]).max() > 1 - 1e-5
    assert np.abs(lines.sample(1, 20, rng)).max() <= 1.0


def test_chords_of_zero_components_and_corners():
    low, high = chord(np.array([[0.5, 1.0]]), np.array([[1.0, 0.0]]))
    assert (low[0], high[0]) == (-1.5, 0.5)
    low, high = chord(np.array([[1.0, 1.0]]), np.array([[0.6, 0.8]]))
    assert high[0] == 0.0
    assert low[0] == pytest.approx(-2.5)
    assert Lines.through(np.zeros((1, 2)), np.array([[3.0, 4.0]])).one_sided().low[0] == 0.0


def test_mean_chord_length_in_100_dimensions():
    """Random points and directions in [-1, 1]^100: about 0.47; 4000 lines have a standard error below 0.005."""
    rng = np.random.default_rng(0)
    lines = Lines.through(rng.uniform(-1, 1, (4000, 100)), rng.normal(size=(4000, 100)))
    assert (lines.high - lines.low).mean() == pytest.approx(0.47, abs=0.03)


def swarm_of(m=4, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return Swarm.at(rng.uniform(-1, 1, (m, d)), rng.normal(size=m), rng.uniform(-1, 1, (m, d)))


def test_velocity_is_equation_1():
    """With the same generator the two random matrices can be drawn again."""
    swarm = swarm_of()
    got = swarm.velocities(0.7, 1.5, 1.4, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    r1, r2 = rng.random((4, 3)), rng.random((4, 3))
    for i in range(4):
        expected = (
            0.7 * swarm.displacements[i]
            + 1.5 * r1[i] * (swarm.best_positions[i] - swarm.positions[i])
            + 1.4 * r2[i] * (swarm.leader - swarm.positions[i])
        )
        np.testing.assert_allclose(got[i], expected, rtol=1e-14)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5)), max_size=30), st.integers(0, 1000))
def test_incumbents_are_the_best_of_their_histories(moves, seed):
    rng = np.random.default_rng(seed)
    swarm = swarm_of(seed=seed)
    seen = [[(swarm.best_values[i], swarm.positions[i])] for i in range(4)]
    for i, value in moves:
        z = rng.uniform(-1, 1, 3)
        before = swarm.positions[i]
        swarm = swarm.move(i, z, value)
        seen[i].append((value, z))
        np.testing.assert_array_equal(swarm.displacements[i], z - before)
        np.testing.assert_array_equal(swarm.positions[i], z)
    for i in range(4):
        best = min(value for value, _ in seen[i])
        assert swarm.best_values[i] == best
        assert any(v == best and np.array_equal(z, swarm.best_positions[i]) for v, z in seen[i])
    assert swarm.leader_value == swarm.best_values.min()


def test_a_swarm_keeps_its_meaning_through_a_split():
    swarm = swarm_of()
    parent = np.array([0, 1, 2, 1, 1])
    finer = swarm.reindex(parent)
    for name in ("positions", "displacements", "best_positions"):
        np.testing.assert_array_equal(getattr(finer, name), getattr(swarm, name)[:, parent])
    np.testing.assert_array_equal(finer.leader, swarm.leader[parent])
    assert finer.leader_value == swarm.leader_value


def test_failures_lead_nobody_and_newcomers_may():
    z = np.zeros((2, 2))
    swarm = Swarm.at(z, np.array([np.nan, 3.0]), z)
    assert swarm.leader_value == 3.0
    assert swarm.best_values[0] == np.inf
    joined = swarm.join(np.ones(2), 1.0, np.zeros(2))
    assert len(joined) == 3
    assert joined.leader_value == 1.0
    assert swarm.join(np.ones(2), np.nan, np.zeros(2)).leader_value == 3.0
    nobody = Swarm.at(z, np.full(2, np.nan), z)
    assert nobody.leader_value == np.inf
    assert nobody.move(0, np.ones(2), 5.0).leader_value == 5.0


@st.composite
def stories(draw):
    """A swarm's run: values at its first particles, then moves, newcomers and failures, in any order."""
    values = st.one_of(st.integers(-5, 5).map(float), st.just(np.nan))
    first = draw(st.lists(values, min_size=1, max_size=4))
    events = draw(st.lists(st.tuples(st.sampled_from(["move", "join", "follow"]), st.integers(0, 3), values)))
    return first, events, draw(st.integers(0, 2**32))


@given(stories())
def test_incumbents_chosen_anew_are_those_kept_all_along(story):
    """With merits that never change, judging all points gives what was kept step by step, ties included."""
    first, events, seed = story
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (len(first), 2))
    swarm = Swarm.at(z, np.array(first), np.zeros_like(z))
    points, merits, homes, owners = list(z), list(first), list(range(len(first))), [-1] * len(first)
    for kind, number, value in events:
        point, i = rng.uniform(-1, 1, 2), number % len(swarm)
        if kind == "join":
            homes.append(len(points))
            swarm = swarm.join(point, value, np.zeros(2))
        elif kind == "follow":
            swarm = swarm.follow(point, value)
        elif not np.isnan(value):
            swarm = swarm.move(i, point, value)
        points.append(point)
        merits.append(value)
        owners.append(i if kind == "move" and not np.isnan(value) else -1)
    judged = swarm.judged(np.array(points), np.array(merits), np.array(homes), np.array(owners))
    np.testing.assert_array_equal(judged.best_values, swarm.best_values)
    np.testing.assert_array_equal(judged.best_positions, swarm.best_positions)
    assert judged.leader_value == swarm.leader_value
    np.testing.assert_array_equal(judged.leader, swarm.leader)
    np.testing.assert_array_equal(judged.positions, swarm.positions)
    np.testing.assert_array_equal(judged.displacements, swarm.displacements)


def test_incumbents_follow_merits_that_change():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    swarm = Swarm.at(points[:2], np.array([1.0, 2.0]), np.zeros((2, 2)))
    homes, owners = np.array([0, 1]), np.array([-1, -1, 0, 1])
    judged = swarm.judged(points, np.array([5.0, 1.0, 3.0, np.nan]), homes, owners)
    np.testing.assert_array_equal(judged.best_positions, points[[2, 1]])
    np.testing.assert_array_equal(judged.best_values, [3.0, 1.0])
    np.testing.assert_array_equal(judged.leader, points[1])
    again = judged.judged(points, np.array([0.5, 4.0, 3.0, 2.0]), homes, owners)
    np.testing.assert_array_equal(again.best_positions, points[[0, 3]])
    assert again.leader_value == 0.5
    # A point on nobody's line may lead, but is nobody's own incumbent.
    stray = swarm.judged(points, np.array([5.0, 4.0, 3.0, 1.0]), homes, np.array([-1, -1, 0, -1]))
    np.testing.assert_array_equal(stray.leader, points[3])
    np.testing.assert_array_equal(stray.best_values, [3.0, 4.0])


def test_the_bandit_follows_the_line_on_which_the_draw_is_lowest():
    rng = np.random.default_rng(0)
    lines = Lines.through(rng.uniform(-0.5, 0.5, (5, 2)), rng.normal(size=(5, 2)))
    seen = {}

    def draw(origins, directions, t):
        values = np.sum((origins[:, None] + t[..., None] * directions[:, None]) ** 2, axis=-1)
        seen["values"] = values
        return values

    chosen, rewards = select_line(draw, lines, 50, np.random.default_rng(1))
    flat = int(np.argmin(seen["values"]))
    assert chosen == flat // 50
    np.testing.assert_allclose(rewards, -seen["values"].min(axis=1))
    # Being followed costs a line a quarter of a standard deviation each time: enough to lose against its like.
    ranked = np.argsort(-rewards)
    gap = (rewards[ranked[0]] - rewards[ranked[1]]) / rewards.std()
    for times in range(20):
        next_one, _ = select_line(draw, lines, 50, np.random.default_rng(1), busy=[chosen] * times)
        assert next_one == (chosen if 0.25 * times < gap else ranked[1])
    again, _ = select_line(draw, lines, 50, np.random.default_rng(1), busy=range(5))
    assert again == chosen


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32))
def test_a_latin_hypercube_has_one_point_in_every_cell(count, dim, seed):
    design = latin_hypercube(count, dim, np.random.default_rng(seed))
    assert design.shape == (count, dim)
    cells = np.floor((design + 1) / 2 * count).astype(int)
    assert np.all(np.sort(cells, axis=0) == np.arange(count)[:, None])


@pytest.mark.parametrize("name", sorted(DESIGNS))
@pytest.mark.parametrize("count", [0, 1, 5, 20])
def test_designs_stay_in_the_cube(name, count):
    design = DESIGNS[name](count, 3, np.random.default_rng(0))
    assert design.shape == (count, 3)
    assert np.all(np.abs(design) <= 1)
