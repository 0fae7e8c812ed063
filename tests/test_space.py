"""Spaces: round trips, exact bounds, and one clear sentence for every wrong definition or point."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds

import boids
from boids import Float, Space, SpaceError

LARGEST = np.finfo(float).max

finite = st.floats(allow_nan=False, allow_infinity=False)
pairs = st.tuples(finite, finite).map(lambda pair: tuple(sorted(pair))).filter(lambda pair: pair[0] < pair[1])
boxes = st.lists(pairs, min_size=1, max_size=5)
names = st.text(min_size=1, max_size=5)
coordinates = st.floats(-1, 1)


@st.composite
def boxes_and_units(draw):
    bounds = draw(boxes)
    return bounds, np.array(draw(st.lists(coordinates, min_size=len(bounds), max_size=len(bounds))))


@st.composite
def named_spaces(draw):
    parameters = {}
    for name in draw(st.lists(names, min_size=1, max_size=4, unique=True)):
        bounds = draw(boxes)
        is_vector = draw(st.booleans())
        parameters[name] = Float(*np.transpose(bounds)) if is_vector else Float(*bounds[0])
    return Space(parameters)


TINIEST = 5e-324


def spacing(low, high):
    """An upper bound on the distance of neighbouring floats between the bounds."""
    return np.maximum(np.abs(low), np.abs(high)) * 2.0**-52 + TINIEST


def resolution(low, high):
    """How finely floats can resolve a position between the bounds, as a fraction of the distance."""
    half = 0.5 * np.asarray(high) - 0.5 * np.asarray(low)
    return spacing(low, high) / np.maximum(half, TINIEST)


class TestRoundTrips:
    @given(boxes_and_units())
    def test_decode_stays_inside_and_encode_comes_back(self, case):
        bounds, unit = case
        space = Space(bounds)
        x = space.decode(unit)
        low, high = np.transpose(bounds)
        assert np.all((low <= x) & (x <= high))
        error = np.abs(space.encode(x) - unit)
        # Two roundings of x are unavoidable; where floats resolve the interval finely, 1e-12 is far more than that.
        assert np.all(error <= np.maximum(1e-12, 4 * resolution(low, high)))

    @given(pairs, coordinates)
    def test_well_resolved_intervals_come_back_within_1e_12(self, pair, u):
        low, high = pair
        if resolution(low, high) > 1e-14:  # no float in between can be found again that exactly
            low, high = 0.0, max(abs(low), 1.0)
        space = Space([(low, high)])
        assert abs(space.encode(space.decode([u]))[0] - u) <= 1e-12

    @given(boxes)
    def test_corners_are_exactly_the_bounds(self, bounds):
        space = Space(bounds)
        low, high = np.transpose(bounds)
        np.testing.assert_array_equal(space.decode(-np.ones(len(bounds))), low)
        np.testing.assert_array_equal(space.decode(np.ones(len(bounds))), high)
        np.testing.assert_array_equal(space.encode(low), -np.ones(len(bounds)))
        np.testing.assert_array_equal(space.encode(high), np.ones(len(bounds)))

    @given(boxes_and_units(), coordinates)
    def test_decode_is_monotone(self, case, other):
        bounds, unit = case
        space, moved = Space(bounds), np.minimum(unit, other)
        low, high = np.transpose(bounds)
        assert np.all(0.5 * space.decode(moved) <= 0.5 * space.decode(unit) + spacing(low, high))

    @pytest.mark.parametrize(
        ("low", "high"), [(-LARGEST, LARGEST), (-1e308, 1e308), (0.0, LARGEST), (0.0, 5e-324), (1.0, 1.0 + 2**-52)]
    )
    def test_extreme_bounds(self, low, high):
        space = Space([(low, high)])
        units = np.linspace(-1, 1, 11)[:, None]
        x = space.decode_many(units)
        assert np.isfinite(x).all()
        assert np.all(np.diff(x[:, 0]) >= 0)
        np.testing.assert_allclose(
            [space.encode(row)[0] for row in x], units[:, 0], rtol=0, atol=1e-12 + 4 * resolution(low, high)
        )

    @given(named_spaces(), st.integers(0, 2**32 - 1), st.integers(1, 4))
    def test_many_points_equal_one_by_one(self, space, seed, q):
        units = np.random.default_rng(seed).uniform(-1, 1, (q, space.dim))
        columns = space.decode_many(units)
        for i, unit in enumerate(units):
            point = space.decode(unit)
            assert list(point) == list(space.names) == list(columns)
            for name, value in point.items():
                np.testing.assert_array_equal(columns[name][i], value)

    @given(named_spaces())
    def test_named_spaces_know_their_blocks(self, space):
        assert space.dim == len(space.low) == len(space.high)
        lowest, highest = space.decode(-np.ones(space.dim)), space.decode(np.ones(space.dim))
        np.testing.assert_array_equal(np.hstack(list(lowest.values())), space.low)
        np.testing.assert_array_equal(np.hstack(list(highest.values())), space.high)
        np.testing.assert_array_equal(space.encode(highest), np.ones(space.dim))

    @given(named_spaces() | boxes.map(Space))
    def test_manifest_survives_json(self, space):
        again = Space.from_manifest(json.loads(json.dumps(space.to_manifest())))
        assert again == space
        assert hash(again) == hash(space)
        np.testing.assert_array_equal(again.low, space.low)


class TestDefinitions:
    def test_all_forms_of_a_box_are_equal(self):
        expected = Space([(0, 1), (-2, 2), (3, 4)])
        array = np.array([(0, 1), (-2, 2), (3, 4)])
        for form in (
            ((0, 1), (-2, 2), (3, 4)),
            array,
            array.astype(np.float32),
            array.tolist(),
            [np.array(pair) for pair in array],
            zip(array[:, 0], array[:, 1], strict=True),
            Bounds(array[:, 0], array[:, 1]),
        ):
            assert Space(form) == expected
        assert expected.dim == 3
        assert expected.names == ()
        assert not expected.is_named
        assert expected.decode(np.zeros(3)).tolist() == [0.5, 0.0, 3.5]

    def test_of_is_idempotent(self):
        space = Space.of([(0, 1)])
        assert Space.of(space) is space

    def test_bounds_of_scipy_broadcast(self):
        assert Space(Bounds([0, 0, 0], 1)) == Space([(0, 1)] * 3)

    def test_one_object_however_many_parameters(self):
        space = Space([(0, 1)] * 1000)
        assert space.dim == 1000
        assert len(space.to_manifest()["parameters"]) == 1

    def test_numbers_of_any_kind(self):
        assert Space([(Fraction(1, 2), 10**30)]).high == 1e30
        assert Float(np.float32(0), np.int8(1)) == Float(0, 1)

    def test_named_points_are_dicts_in_order(self):
        space = Space({"b": Float(0, 2), "a": Float([0, 0], [1, 4])})
        point = space.decode([0.0, 1.0, -1.0])
        assert list(point) == ["b", "a"]
        assert isinstance(point["b"], float)
        assert point["b"] == 1.0
        assert point["a"].tolist() == [1.0, 0.0]
        assert space.encode({"a": [1, 0], "b": 1}).tolist() == [0, 1, -1]

    def test_order_of_parameters_is_part_of_the_identity(self):
        a, b = Float(0, 1), Float(0, 2)
        assert Space({"a": a, "b": b}) != Space({"b": b, "a": a})
        assert Space([(0, 1)]) != Space({"x": Float([0], [1])})

    def test_equal_parameters_have_equal_hashes(self):
        assert Float(-0.0, 1) == Float(0.0, 1)
        assert hash(Float(-0.0, 1)) == hash(Float(0.0, 1))
        assert Float(0, 1) != Float([0], [1])

    def test_parameters_are_immutable(self):
        vector = Float([0, 0], [1, 1])
        with pytest.raises(ValueError, match="read-only"):
            vector.low[0] = 5
        with pytest.raises(AttributeError):
            vector.low = 3

    def test_the_caller_keeps_the_array(self):
        bounds = np.array([(0.0, 1.0), (0.0, 1.0)])
        space = Space(bounds)
        bounds[0, 1] = 99.0
        assert space.high.tolist() == [1.0, 1.0]

    def test_repr_is_short(self):
        assert repr(Space([(0, 1)] * 1000)) == "Space(<1000 bounds>)"
        assert repr(Space({"a": Float(0, 1)})) == "Space({'a': Float(0.0, 1.0)})"
        assert len(repr(Space({f"p{i}": Float(0, 1) for i in range(1000)}))) < 400


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ([(0, 1), (2, 1)], r"bounds\[1\] must have low < high, got \(2\.0, 1\.0\); swap"),
        ([(0, 1), (2, 2)], r"bounds\[1\] must have low < high, got \(2\.0, 2\.0\); leave out"),
        ([(0, 1), (np.nan, 1)], r"bounds\[1\] must have two finite bounds, got \(nan, 1\.0\)"),
        ([(0, np.inf)], r"bounds\[0\] must have two finite bounds"),
        ([(-np.inf, 0)], r"bounds\[0\] must have two finite bounds"),
        ([(0, 10**400)], r"bounds\[0\] must have two finite bounds"),
        (Bounds(), r"two finite bounds"),
        (Bounds([1, 0], [0, 1]), r"bounds\[0\] must have low < high"),
        ([], "empty"),
        ({}, "empty"),
        (np.empty((0, 2)), "empty"),
        ((0, 1), r"bounds\[0\] must be a pair \(low, high\), got 0; write \[\(low, high\)\]"),
        (np.array([0, 1]), r"bounds\[0\] must be a pair"),
        (np.zeros((2, 3)), r"bounds\[0\] must be a pair"),
        ([(0, 1), (0, 1, 2)], r"bounds\[1\] must be a pair"),
        ([(0, 1), 5], r"bounds\[1\] must be a pair"),
        ([(0, None)], r"upper bound of bounds\[0\] must be numeric, got None"),
        ([(0, 1), ("0", 1)], r"lower bound of bounds\[1\] must be numeric, got '0'"),
        ([(0, 1j)], r"upper bound of bounds\[0\] must be numeric"),
        ([(False, True)], r"lower bound of bounds\[0\] must be numeric"),
        ([([0], [1])], r"lower bound of bounds\[0\] must be numeric"),
        (np.array([["a", "b"]]), r"bounds\[0\] must be numeric"),
        ("ab", r"A space must be a list of \(low, high\) pairs"),
        (b"ab", "A space must be"),
        ({(0, 1)}, "A space must be"),
        (3, "A space must be"),
        (None, "A space must be"),
        (np.array(3.0), "A space must be"),
        ({"a": (0, 1)}, r"Parameter 'a' must be a boids\.Float\(low, high\), got \(0, 1\)"),
        ({"a": Float}, "Parameter 'a' must be"),
        ({1: Float(0, 1)}, "name must be a non-empty string, got 1"),
        ({"": Float(0, 1)}, "name must be a non-empty string"),
    ],
)
def test_wrong_definitions_say_what_is_wrong(definition, message):
    with pytest.raises(SpaceError, match=message):
        Space(definition)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1, 0, "Float must have low < high"),
        (1, 1, "Float must have low < high"),
        (0, np.nan, "two finite bounds"),
        ("a", 1, "The lower bound must be numeric, got 'a'"),
        (0, None, "The upper bound must be numeric, got None"),
        ([0, 0], 1, r"two arrays of the same length, got the shapes \(2,\) and \(\)"),
        ([0, 0], [1, 0], r"bounds\[1\] must have low < high"),
        ([], [], "two numbers or two arrays"),
        ([[0]], [[1]], "two numbers or two arrays"),
        (["a"], [1], "The lower bound must hold numbers"),
        ([0, [1]], [1, 2], "lists of different lengths"),
    ],
)
def test_wrong_floats_say_what_is_wrong(low, high, message):
    with pytest.raises(SpaceError, match=message):
        Float(low, high)


NAMED = {"a": Float(0, 1), "b": Float([0, 0], [1, 2])}


@pytest.mark.parametrize(
    ("definition", "point", "message"),
    [
        ([(0, 1)] * 3, [0, 1], r"x must be 3 numbers, got the shape \(2,\)"),
        ([(0, 1)] * 3, [[0, 1, 0]], "x must be 3 numbers"),
        ([(0, 1)] * 3, [0, 1, 2], r"x\[2\] must lie in \[0\.0, 1\.0\], got 2\.0"),
        ([(0, 1)] * 3, [0, np.nan, 1], r"x\[1\] must lie in \[0\.0, 1\.0\], got nan"),
        ([(0, 1)] * 3, [0, 1, "a"], "x must hold numbers"),
        ([(0, 1)] * 3, [0, [1], 1], "lists of different lengths"),
        ([(0, 1)] * 3, {"a": 1}, "x must be numeric"),
        ([(0, 1)] * 3, None, "x must be numeric, got None"),
        (NAMED, {"a": 1}, "no value for 'b'"),
        (NAMED, {"a": 1, "b": [0, 0], "c": 1, 5: 2}, "a value for 'c', 5, which the space does not have"),
        (NAMED, {"a": [1], "b": [0, 0]}, r"'a' must be a number, got the shape \(1,\)"),
        (NAMED, {"a": 1, "b": 0}, "'b' must be 2 numbers"),
        (NAMED, {"a": 2, "b": [0, 0]}, r"'a' must lie in \[0\.0, 1\.0\], got 2\.0"),
        (NAMED, {"a": 1, "b": [0, 3]}, r"'b'\[1\] must lie in"),
        (NAMED, {"a": "x", "b": [0, 0]}, "'a' must be numeric, got 'x'"),
        (NAMED, [1, 2, 3], "must be a dict with the names 'a', 'b', got list"),
    ],
)
def test_wrong_points_say_what_is_wrong(definition, point, message):
    with pytest.raises(SpaceError, match=message):
        Space(definition).encode(point)


@pytest.mark.parametrize("unit", [[0.0], [0.0, 0.0, 0.0], [[0.0, 0.0]], 0.0, [np.nan, 0.0], [np.inf, 0.0], ["a", "b"]])
def test_wrong_units(unit):
    with pytest.raises(SpaceError):
        Space([(0, 1)] * 2).decode(unit)


def test_units_outside_by_rounding_are_clipped():
    assert Space([(0, 1)] * 2).decode([1 + 1e-15, -1 - 1e-15]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "manifest",
    [
        None,
        [],
        {},
        {"named": True},
        {"named": True, "parameters": [{"name": "a", "kind": "os.system"}]},
        {"named": True, "parameters": [{"name": "a", "kind": "float", "low": 0}]},
        {"named": True, "parameters": [{"name": "a", "kind": "float", "low": 1, "high": 0}]},
        {"named": True, "parameters": [{"name": "a", "kind": "float", "low": 0, "high": 1, "step": 1}]},
        {"named": False, "parameters": [{"name": "a", "kind": "float", "low": [0], "high": [1]}]},
        {"named": True, "parameters": 3},
        {"named": True, "parameters": [3]},
    ],
)
def test_wrong_manifests(manifest):
    with pytest.raises(SpaceError):
        Space.from_manifest(manifest)


def test_errors_are_value_errors():
    with pytest.raises(ValueError, match="empty"):
        boids.Space([])
