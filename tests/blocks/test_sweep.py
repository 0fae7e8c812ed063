"""Sweeps: every coordinate once, then down the slope; and whose turn it is."""

from dataclasses import replace

import numpy as np
import pytest

from boids.blocks.sweep import LEAST_STEP, MISSES, PROBED, STEP, UPHILL, Probe, Sweep, Turns, both_ways, descents, gain


def rng(seed=0):
    return np.random.default_rng(seed)


def tried(sweep):
    """Return the sweep after all its coordinates, and which these were."""
    order = []
    while not sweep.descends:
        order.append(int(sweep.order[0]))
        sweep = sweep.tried()
    return sweep, order


def test_every_coordinate_is_tried_once_and_then_it_descends():
    sweep, order = tried(Sweep.first(30, rng()))
    assert sorted(order) == list(range(30))
    assert order != sorted(order)
    assert sweep.descends


def probed(changes, dim=100, plenty=False):
    """Return a probe after steps of 0.1 in one coordinate after the other, and what it said after each."""
    probe, said = Probe.first(dim, plenty), []
    for coordinate, change in enumerate(changes):
        probe = probe.seen(coordinate, 0.0, 0.1, change)
        said.append(probe.passed)
    return probe, said


def test_a_probe_is_failed_as_soon_as_too_many_coordinates_change_nothing():
    assert probed([0.0] * 5)[1] == [None] * 4 + [False]
    assert probed([0.0, 1.0, -2.0] * (PROBED // 3))[0].passed is None
    # What seemed to matter does not beside a change a million times as large.
    assert probed([1.0] * 6 + [1e6])[1] == [None] * 6 + [False]
    # Later ones have no say.
    assert probed([1.0] * PROBED + [0.0] * 9)[0].passed is None


def test_with_plenty_of_evaluations_it_is_passed_then():
    assert probed([0.0] * 5, plenty=True)[1] == [None] * 4 + [True]
    assert probed([0.0, 1.0, -2.0] * (PROBED // 3), plenty=True)[0].passed is None


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_a_probe_of_few_dimensions_looks_at_all_of_them(dim):
    assert probed([0.0] * dim, dim)[1] == [None] * (dim // 3) + [False] * (dim - dim // 3)
    assert (probed([1.0] * dim, dim)[0].joined(np.zeros(dim)) is not None) == (dim >= UPHILL)


def test_steps_that_led_up_are_made_together():
    nowhere, changes = np.zeros(100), [-1.0, 2.0] * (PROBED // 2)
    assert probed(changes[:-1])[0].joined(nowhere) is None
    probe, _ = probed(changes)
    point, expected = probe.joined(nowhere)
    np.testing.assert_allclose(np.flatnonzero(point), np.arange(1, PROBED, 2))
    np.testing.assert_allclose(point[1], 0.1)
    assert expected == PROBED
    assert probed([-1.0] * PROBED + [1.0] * (UPHILL - 1))[0].joined(nowhere) is None
    assert replace(probe, together=True).joined(nowhere) is None


def test_steps_from_elsewhere_do_not_count():
    """Another point has become the best while steps from the one before it were being evaluated."""
    probe, _ = probed([2.0] * PROBED)
    elsewhere = np.zeros(100)
    elsewhere[: PROBED - UPHILL] = 0.95
    point, expected = probe.joined(elsewhere)
    assert expected == 2.0 * UPHILL
    assert np.abs(point).max() == 0.95
    assert probe.joined(np.full(100, 0.5)) is None


@pytest.mark.parametrize(("change", "passed"), [(8.0, True), (6.1, True), (9.9, True), (5.9, False), (-8.0, False)])
def test_a_probe_is_passed_if_their_changes_add_up(change, passed):
    assert Probe.first(9, plenty=False).judged(8.0, change).passed is passed


@pytest.mark.parametrize(("change", "passed"), [(8.0, True), (5.4, True), (10.6, True), (5.3, False), (-8.0, False)])
def test_with_plenty_of_evaluations_by_a_third(change, passed):
    assert Probe.first(9, plenty=True).judged(8.0, change).passed is passed


def test_descents_grow_with_success_and_end_with_the_misses():
    sweep, _ = tried(Sweep.first(9, rng()))
    longer = sweep.descended(True, 9, rng())
    assert longer.radius > sweep.radius
    for k in range(MISSES - 1):
        shorter = longer.descended(False, 9, rng())
        assert shorter.radius < longer.radius
        assert (shorter.misses, shorter.descends) == (k + 1, True)
        longer = shorter
    assert longer.descended(True, 9, rng()).misses == 0
    after = longer.descended(False, 9, rng())
    assert (after.done, after.descends, after.misses, after.step) == (1, False, 0, STEP / 2)
    assert sorted(after.order) == list(range(9))


def test_descents_that_are_evaluated_at_once_are_of_different_lengths():
    sweep = Sweep.first(9, rng())
    radii = [sweep.radius_beside(others) for others in range(6)]
    assert radii[0] == sweep.radius
    assert len({round(each, 9) for each in radii}) == 6
    assert [each > sweep.radius for each in radii[1:]] == [False, True, False, True, False]


def test_steps_do_not_vanish():
    sweep = Sweep.first(3, rng())
    for _ in range(10):
        sweep, _ = tried(sweep)
        for _ in range(MISSES):
            sweep = sweep.descended(False, 3, rng())
    assert (sweep.done, sweep.step) == (10, LEAST_STEP)


def test_turns_go_to_who_gains():
    even = Turns()
    assert even.share == 0.5
    assert even.credited("descent", 0.5).share > 0.5 > even.credited("line", 0.5).share
    assert even.credited("coordinate", 0.0).share < 0.5 < even.credited("line", 0.0).share
    for turn, end in [("line", Turns.LEAST), ("coordinate", 1 - Turns.LEAST)]:
        turns = even
        for _ in range(50):
            turns = turns.credited(turn, 1.0)
        assert turns.share == pytest.approx(end)
    nothing = even
    for _ in range(10_000):
        nothing = nothing.credited("line", 0.0).credited("descent", 0.0)
    assert nothing.share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("merits", "expected"),
    [
        ([3.0, 1.0, 5.0, 2.0], 0.0),
        ([3.0, 1.0, 3.0, 0.0], 1.0),  # the median is 2, the best before 1
        ([3.0, 1.0, 3.0, 0.5], 0.5),
        ([3.0, 1.0, 3.0, -9.0], 1.0),
        ([3.0, np.nan, 1.0, 3.0, 0.5], 0.5),
        ([3.0, 1.0, np.nan], 0.0),
        ([np.nan, 1.0], 0.0),
        ([1.0], 0.0),
        ([2.0, 2.0, 2.0], 0.0),
    ],
)
def test_a_gain_is_a_share_of_the_way_from_the_median_to_the_best(merits, expected):
    assert gain(np.array(merits)) == pytest.approx(expected)


def test_a_step_both_ways_or_away_from_a_wall():
    low, high = -np.ones(3), np.ones(3)
    centre = np.array([0.0, 1.0, -0.9])
    np.testing.assert_allclose(both_ways(centre, 0, 0.3, low, high), [[0.3, 1.0, -0.9], [-0.3, 1.0, -0.9]])
    np.testing.assert_allclose(both_ways(centre, 1, 0.3, low, high), [[0.0, 0.7, -0.9]])
    np.testing.assert_allclose(both_ways(centre, 2, 0.3, low, high), [[0.0, 1.0, -0.6], [0.0, 1.0, -1.0]])
    assert both_ways(np.zeros(1), 0, 0.3, np.zeros(1), np.zeros(1)).shape == (0, 1)


class Plane:
    def __init__(self, slope):
        self.slope = slope

    def values(self, points):
        return points @ self.slope

    def slopes(self, points):
        return self.values(points), np.repeat(self.slope[None], len(points), axis=0)


class Bowl:
    def __init__(self, bottom):
        self.bottom = bottom

    def values(self, points):
        return ((points - self.bottom) ** 2).sum(axis=1)

    def slopes(self, points):
        return self.values(points), 2 * (points - self.bottom)


def test_down_a_plane_to_the_edge_of_the_ball():
    slope, centre = rng(1).standard_normal(40), rng(2).uniform(-0.3, 0.3, 40)
    points = descents(Plane(slope), centre, 0.8, -np.ones(40), np.ones(40), rng())
    np.testing.assert_allclose(points[0], centre - 0.8 * slope / np.linalg.norm(slope), atol=0.02)
    assert (np.linalg.norm(points - centre, axis=1) <= 0.8 + 1e-9).all()
    values = Plane(slope).values(points)
    assert (np.diff(values) >= 0.0).all()


def test_down_a_bowl_to_its_bottom_and_no_further():
    centre, bottom = np.zeros(20), rng(1).uniform(-0.2, 0.2, 20)
    best = descents(Bowl(bottom), centre, 2.0, -np.ones(20), np.ones(20), rng())[0]
    assert np.linalg.norm(best - bottom) < 0.2 * np.linalg.norm(bottom)


def test_the_box_is_kept():
    centre = np.full(10, 0.95)
    points = descents(Plane(-np.arange(10.0)), centre, 3.0, -np.ones(10), np.ones(10), rng())
    assert np.abs(points).max() <= 1.0
    np.testing.assert_allclose(points[0][5:], 1.0)


def test_where_there_is_no_slope_it_still_answers():
    points = descents(Plane(np.zeros(4)), np.zeros(4), 1.0, -np.ones(4), np.ones(4), rng())
    assert np.isfinite(points).all()
    assert len(points)
