"""Codecs: exact bounds, exact round trips as far as integers go, and the distributions that uniform points give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from space.strategies import LARGEST, ordered

from boids.space.codecs import LARGEST_INT, LARGEST_LOG_INT, Cells, Interval, LogCells, LogInterval, OneHot, Signs, join
from boids.space.layout import Layout

coordinates = st.floats(-1, 1)
integer_pairs = ordered(st.integers(-LARGEST_INT, LARGEST_INT)).filter(lambda pair: pair[1] - pair[0] < LARGEST_INT)
log_integer_pairs = ordered(st.integers(1, LARGEST_LOG_INT))
log_pairs = ordered(st.floats(5e-324, LARGEST)).filter(lambda pair: pair[1] / 2 / pair[0] < LARGEST / 2)


def codec(kind, low, high):
    return kind(np.array([float(low)]), np.array([float(high)]))


def array(*numbers):
    return np.array(numbers, dtype=float)[:, None]


class TestLogInterval:
    @given(log_pairs)
    def test_bounds_are_exact(self, pair):
        scale = codec(LogInterval, *pair)
        assert scale.decode(array(-1, 1)).ravel().tolist() == list(pair)
        assert scale.encode(array(*pair)).ravel().tolist() == [-1, 1]

    @given(log_pairs, st.data())
    def test_values_come_back_within_a_few_units_in_the_last_place(self, pair, data):
        low, high = pair
        x = data.draw(st.floats(low, high))
        scale = codec(LogInterval, low, high)
        again = scale.decode(scale.encode(array(x)))[0, 0]
        assert low <= again <= high
        # The exponent is as large as the log of the range, and its rounding is a relative error of the value.
        assert abs(again - x) <= 8 * (1 + np.log(high) - np.log(low)) * 2.0**-53 * x + 5e-324

    @given(log_pairs, coordinates, coordinates)
    def test_it_rises(self, pair, a, b):
        scale = codec(LogInterval, *pair)
        less, more = scale.decode(array(min(a, b), max(a, b))).ravel()
        assert less * (1 - 1e-12) <= more

    def test_it_is_uniform_in_the_logarithm(self):
        scale = codec(LogInterval, 1e-5, 10)
        np.testing.assert_allclose(
            scale.decode(np.linspace(-1, 1, 7)[:, None]).ravel(), 10.0 ** np.arange(-5, 2), rtol=1e-14
        )

    @pytest.mark.parametrize("low", [1e300, 1.1, 0.7, 1e-300])
    def test_neighbouring_floats(self, low):
        """Their logarithms may be one float, and their ratios are rounded."""
        scale = codec(LogInterval, low, low + 8 * np.spacing(low))
        units = scale.encode(array(*(low + np.arange(9) * np.spacing(low)))).ravel()
        np.testing.assert_allclose(units, np.linspace(-1, 1, 9), rtol=0, atol=1e-12)


class TestCells:
    @given(integer_pairs, st.data())
    def test_every_integer_comes_back(self, pair, data):
        low, high = pair
        k = data.draw(st.integers(low, high) | st.sampled_from([low, low + 1, high - 1, high]))
        cells = codec(Cells, low, high)
        unit = cells.encode(array(k))
        assert abs(unit[0, 0]) <= 1
        assert cells.decode(unit)[0, 0] == k

    @pytest.mark.parametrize("count", [2**53, 2**53 - 1, 2**53 - 2, 2**52 + 1, 3**33, 2**51 - 1, 10**9])
    @pytest.mark.parametrize("offset", [0.0, 0.5, 1.0])
    def test_many_neighbours_in_the_finest_ranges(self, count, offset):
        """All over the cube, where the floats are of different fineness."""
        low = -int(offset * (count - 1))
        places = np.unique(np.r_[np.arange(2000), (count - 1) * np.arange(50) // 49, np.arange(count - 2000, count)])
        near_the_middle = count // 2 + np.arange(-1000, 1000)
        k = (low + np.unique(np.r_[places, near_the_middle])).astype(float)[:, None]
        cells = codec(Cells, low, low + count - 1)
        np.testing.assert_array_equal(cells.decode(cells.encode(k)), k)

    @given(st.integers(2, 2**20), coordinates)
    def test_cells_are_equal(self, count, u):
        """Against exact arithmetic: u lies in cell floor(count (u + 1) / 2)."""
        exact = count * (Fraction(u) + 1) / 2
        if abs(exact - round(exact)) > Fraction(1, 2**30):  # at an edge, rounding decides
            assert codec(Cells, 0, count - 1).decode(array(u))[0, 0] == min(int(exact), count - 1)

    @given(st.integers(2, 2**20), st.data())
    def test_encode_gives_the_centre(self, count, data):
        k = data.draw(st.integers(0, count - 1))
        assert codec(Cells, 0, count - 1).encode(array(k))[0, 0] == pytest.approx((2 * k + 1) / count - 1, abs=1e-15)

    def test_where_two_cells_meet_the_upper_counts(self):
        assert codec(Cells, 0, 1).decode(array(np.nextafter(0, -1), -0.0, 0.0)).ravel().tolist() == [0, 1, 1]
        assert codec(Cells, 0, 3).decode(array(-0.5, 0.5)).ravel().tolist() == [1, 3]

    def test_uniform_points_give_every_integer_the_same_chance(self):
        """Chi-square on 5 × 10^4 draws; a right codec fails in one of 10^4 seeds."""
        u = np.random.default_rng(1).uniform(-1, 1, (50_000, 1))
        counts = np.bincount(codec(Cells, -3, 7).decode(u).ravel().astype(int) + 3)
        assert stats.chisquare(counts).pvalue > 1e-4


class TestLogCells:
    @given(log_integer_pairs, st.data())
    def test_every_integer_comes_back(self, pair, data):
        low, high = pair
        k = data.draw(st.integers(low, high) | st.sampled_from([low, low + 1, high - 1, high]))
        cells = codec(LogCells, low, high)
        unit = cells.encode(array(k))
        assert abs(unit[0, 0]) <= 1
        assert cells.decode(unit)[0, 0] == k

    @pytest.mark.parametrize(
        ("low", "high"),
        [(1, 2**48), (2, 2**48), (2**24, 2**48), (2**47, 2**48), (2**48 - 1, 2**48), (1, 10**9), (1, 2)],
    )
    def test_many_neighbours_in_the_finest_ranges(self, low, high):
        exponents = np.linspace(np.log2(low), np.log2(high), 4000)
        k = np.r_[np.floor(2**exponents), low + np.arange(2000), high - np.arange(2000)]
        k = np.clip(k, low, high)[:, None]
        cells = codec(LogCells, low, high)
        np.testing.assert_array_equal(cells.decode(cells.encode(k)), k)

    def test_places_are_those_of_the_integers_themselves(self):
        cells = codec(LogCells, 1, 1000)
        k = np.arange(1, 1001)
        expected = 2 * np.log(k / 0.5) / np.log(1000.5 / 0.5) - 1
        np.testing.assert_allclose(cells.encode(k[:, None].astype(float)).ravel(), expected, rtol=0, atol=1e-14)

    def test_uniform_points_give_the_log_uniform_chances(self):
        """Chi-square on 5 × 10^4 draws; a right codec fails in one of 10^4 seeds."""
        u = np.random.default_rng(2).uniform(-1, 1, (50_000, 1))
        counts = np.bincount(codec(LogCells, 1, 20).decode(u).ravel().astype(int), minlength=21)[1:]
        edges = np.log(np.arange(1, 22) - 0.5)
        expected = np.diff(edges) / (edges[-1] - edges[0]) * len(u)
        assert stats.chisquare(counts, expected).pvalue > 1e-4


class TestChoices:
    def test_signs(self):
        signs = Signs(3)
        assert signs.decode(np.array([-1e-300, -0.0, 1.0])).tolist() == [0, 1, 1]
        assert signs.encode(np.array([0.0, 1.0, 1.0])).tolist() == [-1, 1, 1]

    def test_one_hot_blocks_stand_side_by_side_and_the_first_of_equals_counts(self):
        blocks = OneHot(2, 3)
        assert blocks.width == 6
        assert blocks.decode(np.array([0.1, 0.3, 0.2, 0.5, -1, 0.5])).tolist() == [1, 0]
        assert blocks.encode(np.array([1.0, 2.0])).tolist() == [-1, 1, -1, -1, -1, 1]

    @given(st.integers(1, 4), st.integers(3, 6), st.integers(0, 2**32 - 1))
    def test_indices_come_back(self, n, k, seed):
        indices = np.random.default_rng(seed).integers(0, k, (5, n)).astype(float)
        blocks = OneHot(n, k)
        np.testing.assert_array_equal(blocks.decode(blocks.encode(indices)), indices)

    def test_uniform_points_give_every_choice_the_same_chance(self):
        """Chi-square on 5 × 10^4 draws; a right codec fails in one of 10^4 seeds."""
        u = np.random.default_rng(3).uniform(-1, 1, (50_000, 5))
        assert stats.chisquare(np.bincount(OneHot(1, 5).decode(u).ravel().astype(int))).pvalue > 1e-4


@pytest.mark.parametrize(
    "codecs",
    [
        [codec(Interval, 0, 1), codec(Interval, -3, 5)],
        [codec(LogInterval, 1, 2), codec(LogInterval, 1e-5, 5)],
        [codec(Cells, 0, 1), codec(Cells, -3, 5), codec(Cells, 0, 2**53 - 1)],
        [codec(LogCells, 1, 10), codec(LogCells, 1, 2**48)],
        [Signs(2), Signs(1)],
        [OneHot(2, 3), OneHot(1, 3)],
    ],
    ids=lambda codecs: type(codecs[0]).__name__,
)
def test_joined_codecs_equal_the_single_ones(codecs):
    joined = join(codecs)
    units = np.random.default_rng(0).uniform(-1, 1, (50, joined.width))
    cuts = np.cumsum([each.width for each in codecs])[:-1]
    numbers = [each.decode(block) for each, block in zip(codecs, np.split(units, cuts, axis=1), strict=True)]
    np.testing.assert_array_equal(joined.decode(units), np.hstack(numbers))
    again = [each.encode(block) for each, block in zip(codecs, numbers, strict=True)]
    np.testing.assert_array_equal(joined.encode(np.hstack(numbers)), np.hstack(again))
    np.testing.assert_array_equal(joined.low, np.hstack([each.low for each in codecs]))


@pytest.mark.parametrize(
    "each",
    [
        codec(Interval, -3, 5),
        codec(LogInterval, 1e-150, 1e150),
        codec(Cells, -3, 5),
        codec(LogCells, 1, 2**48),
        Signs(1),
    ],
    ids=lambda each: type(each).__name__,
)
def test_beyond_the_cube_are_the_bounds(each):
    units = array(-1e300, -3, -1 - 1e-15, 1 + 1e-15, 3, 1e300)
    np.testing.assert_array_equal(each.decode(units).ravel(), [*each.low] * 3 + [*each.high] * 3)


class Lopsided:
    """Two cells that meet right above the place of the lower one, nearer to it than float32 can tell."""

    key, counts, width, room, low, high = "lopsided", np.array([2]), 1, 1e-12, np.zeros(1), np.ones(1)
    place = 0.3 - 1e-12

    def decode(self, u):
        return (u > 0.3).astype(float)

    def encode(self, c):
        return np.where(c == 0, self.place, 0.9)


def test_the_nearest_float32_is_not_taken_if_it_means_something_else():
    units = np.array([[-0.5], [0.2], [0.8]], dtype=np.float32)
    assert float(np.float32(Lopsided.place)) > 0.3
    Layout([(Lopsided(), 0)]).snap(units)
    np.testing.assert_array_equal(units, np.array([[-0.5], [0.2], [0.9]], dtype=np.float32))
