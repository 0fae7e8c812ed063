"""Spaces: round trips, exact bounds, snapping, grids, natural columns, and one clear sentence for every mistake."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds
from space.strategies import boxes, named_spaces, ordered, same, spaces, spaces_with, units_of, values_of

import boids
from boids import Bool, Categorical, Float, Int, Space, SpaceError

LARGEST = np.finfo(float).max
TINIEST = 5e-324

finite = st.floats(allow_nan=False, allow_infinity=False)
pairs = ordered(finite)
lists_of_pairs = st.lists(pairs, min_size=1, max_size=5)
coordinates = st.floats(-1, 1)

MIXED = Space(
    {
        "lr": Float(1e-5, 1, log=True),
        "n": Int(1, 100),
        "act": Categorical(["a", "b", "c"]),
        "on": Bool(),
        "w": Float(-1, 1, shape=2),
        "kind": Categorical(["x", "y"]),
        "k": Int(1, 1000, log=True, shape=2),
    }
)


@st.composite
def boxes_and_units(draw):
    bounds = draw(lists_of_pairs)
    return bounds, np.array(draw(st.lists(coordinates, min_size=len(bounds), max_size=len(bounds))))


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

    @given(lists_of_pairs)
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

    @given(spaces_with(values_of))
    def test_points_come_back(self, case):
        """Integers, choices and truth values exactly; floats within rounding, which tests/space/test_parameters has."""
        space, point = case
        unit = space.encode(point)
        again = space.decode(unit)
        assert np.all(np.abs(unit) <= 1)
        for name, parameter in space.parameters.items():
            one, other = (point[name], again[name]) if space.is_named else (point, again)
            if parameter.kind == "float":
                np.testing.assert_allclose(other, one, rtol=1e-13, atol=1e-9)
            else:
                assert same(one, other)

    @given(spaces_with(lambda space: units_of(space, q=4)))
    def test_many_points_equal_one_by_one(self, case):
        space, units = case
        many = space.decode_many(units)
        for i, unit in enumerate(units):
            point = space.decode(unit)
            if not space.is_named:
                assert same(many[i], point)
                continue
            assert list(point) == list(space.names) == list(many)
            for name, value in point.items():
                plain = (
                    many[name][i].item() if np.ndim(many[name]) == 1 and isinstance(many[name], np.ndarray) else None
                )
                assert same(value, many[name][i] if plain is None else plain)

    @given(spaces(extreme=True))
    def test_corners_of_the_cube(self, space):
        lowest, highest = space.natural(-np.ones(space.dim)), space.natural(np.ones(space.dim))
        np.testing.assert_array_equal(lowest, space.natural_low)
        np.testing.assert_array_equal(highest, space.natural_high)

    @given(spaces(extreme=True))
    def test_manifest_survives_json(self, space):
        again = Space.from_manifest(json.loads(json.dumps(space.to_manifest())))
        assert again == space
        assert hash(again) == hash(space)
        unit = np.linspace(-1, 1, space.dim)
        assert same(again.decode(unit), space.decode(unit))

    def test_manifests_of_the_first_version_are_still_read(self):
        old = {"named": False, "parameters": [{"name": "x", "kind": "float", "low": [0.0, -1.0], "high": [1.0, 2.0]}]}
        assert Space.from_manifest(old) == Space([(0, 1), (-1, 2)])
        old = {"named": True, "parameters": [{"name": "a", "kind": "float", "low": 0.0, "high": 1.0}]}
        assert Space.from_manifest(old) == Space({"a": Float(0, 1)})

    @given(spaces())
    def test_spaces_travel_to_other_processes(self, space):
        space.snap(np.zeros(space.dim))  # so that there is something cached to take along
        again = pickle.loads(pickle.dumps(space))
        assert again == space
        assert same(again.decode(np.zeros(space.dim)), space.decode(np.zeros(space.dim)))


class TestSnapping:
    @given(spaces_with(lambda space: units_of(space, q=3), named_spaces() | named_spaces(extreme=True) | boxes()))
    def test_snapping_is_encoding_what_is_decoded(self, case):
        space, units = case
        snapped = space.snap(units)
        for unit, moved in zip(units, snapped, strict=True):
            expected = space.encode(space.decode(unit))
            assert np.array_equal(moved[space.discrete], expected[space.discrete])
            # Bits, not values: -0.0 stays -0.0.
            assert moved[~space.discrete].tobytes() == unit[~space.discrete].tobytes()
            assert np.array_equal(space.snap(unit), moved)
            assert same(space.decode(moved), space.decode(unit))

    @given(spaces_with(lambda space: units_of(space, q=3), named_spaces(extreme=True)))
    def test_snapping_twice_is_snapping_once(self, case):
        space, units = case
        snapped = space.snap(units)
        assert space.snap(snapped).tobytes() == snapped.tobytes()
        single = space.snap(units.astype(np.float32))
        assert single.dtype == np.float32
        assert space.snap(single).tobytes() == single.tobytes()

    @given(spaces_with(lambda space: units_of(space, q=3), named_spaces() | named_spaces(extreme=True)))
    def test_single_precision_means_the_same_values(self, case):
        space, units = case
        units = units.astype(np.float32)
        snapped = space.snap(units)
        assert np.array_equal(snapped[:, ~space.discrete], units[:, ~space.discrete])
        numeric = space.natural_integer
        assert np.array_equal(space.natural(snapped)[:, numeric], space.natural(units)[:, numeric])
        for name, values in space.decode_many(snapped).items():
            if space.parameters[name].kind != "float":
                assert same(values, space.decode_many(units)[name])

    def test_single_precision_gives_the_nearest_numbers_where_they_will_do(self):
        space = Space({"n": Int(1, 100), "k": Int(1, 1000, log=True), "c": Categorical(["a", "b", "c"])})
        units = np.random.default_rng(0).uniform(-1, 1, (50, 5)).astype(np.float32)
        np.testing.assert_array_equal(space.snap(units), space.snap(units.astype(float)).astype(np.float32))

    def test_single_precision_of_integers_beyond_its_resolution(self):
        space = Space({"n": Int(1, 10**9, shape=1000), "k": Int(1, 10**12, log=True, shape=1000)})
        units = np.random.default_rng(0).uniform(-1, 1, 2000).astype(np.float32)
        np.testing.assert_array_equal(space.natural(space.snap(units)), space.natural(units))

    @given(boxes())
    def test_a_box_is_returned_as_it_is(self, space):
        unit = np.zeros(space.dim)
        assert space.snap(unit) is unit
        assert space.is_continuous
        assert not space.discrete.any()

    def test_the_argument_is_left_alone(self):
        unit = np.full(MIXED.dim, 0.1)
        MIXED.snap(unit)
        assert np.all(unit == 0.1)

    def test_what_snaps(self):
        assert MIXED.discrete.tolist() == [False, True, True, True, True, True, False, False, True, True, True]
        assert not MIXED.is_continuous

    @pytest.mark.parametrize("units", [np.zeros(3), np.zeros((2, 3)), np.zeros((1, 1, 11)), 0.0])
    def test_wrong_shapes(self, units):
        for function in (MIXED.snap, MIXED.natural):
            with pytest.raises(SpaceError, match=r"must have the shape \(11,\) or \(q, 11\), got"):
                function(units)


class TestSizeAndGrid:
    @pytest.mark.parametrize(
        ("definition", "size"),
        [
            ({"a": Int(1, 3)}, 3),
            ({"a": Int([1, 1], [3, 4]), "b": Bool(shape=3)}, 96),
            ({"a": Categorical(["a", "b", "c"], shape=2)}, 9),
            ({"a": Int(1, 10**9, shape=10)}, 10**90),
            ({"a": Int(0, 2**53 - 1, log=False, shape=100)}, 2**5300),
            ({"a": Int(1, 3), "b": Float(0, 1)}, math.inf),
        ],
    )
    def test_size(self, definition, size):
        space = Space(definition)
        assert space.size == size
        assert type(space.size) is type(size)

    @given(named_spaces(continuous=False, max_size=3).filter(lambda space: space.size <= 1000))
    def test_the_grid_has_every_point_once_and_each_is_snapped(self, space):
        grid = list(space.grid())
        assert len(grid) == space.size
        assert len({point.tobytes() for point in grid}) == space.size
        np.testing.assert_array_equal(space.snap(np.array(grid)), grid)

    def test_order(self):
        space = Space({"n": Int(3, 5), "c": Categorical(["x", "y", "z"]), "b": Bool(shape=2)})
        points = [space.decode(unit) for unit in space.grid()]
        got = [(point["n"], point["c"], *point["b"].tolist()) for point in points]
        assert got == list(product([3, 4, 5], ["x", "y", "z"], [False, True], [False, True]))

    def test_a_huge_grid_is_made_bit_by_bit(self):
        grid = Space({"k": Int(1, 2**40, log=True), "n": Int(-5, 2**50, shape=30)}).grid()
        points = [next(grid) for _ in range(3)]
        assert [Space({"n": Int(-5, 2**50, shape=30)}).decode(p[1:])["n"][-1] for p in points] == [-5, -4, -3]

    def test_many_chunks(self):
        space = Space({"a": Int(0, 6), "b": Int(0, 99), "c": Bool()})
        rows = np.array([space.natural(unit) for unit in space.grid()])
        np.testing.assert_array_equal(rows, list(product(range(7), range(100), range(2))))

    def test_a_continuum_has_no_grid(self):
        with pytest.raises(SpaceError, match="has no grid"):
            MIXED.grid()


class TestNaturalColumns:
    def test_columns_of_a_mixed_space(self):
        assert MIXED.columns == ("lr", "n", "on", "w[0]", "w[1]", "k[0]", "k[1]")
        assert MIXED.natural_low.tolist() == [1e-5, 1, 0, -1, -1, 1, 1]
        assert MIXED.natural_high.tolist() == [1, 100, 1, 1, 1, 1000, 1000]
        assert MIXED.natural_integer.tolist() == [False, True, True, False, False, True, True]
        assert MIXED.natural_log.tolist() == [True, False, False, False, False, True, True]
        assert MIXED.natural_index.tolist() == [0, 1, 5, 6, 7, 9, 10]

    def test_columns_of_a_box(self):
        space = Space([(0, 1), (2, 3)])
        assert space.columns == ("x[0]", "x[1]")
        assert space.natural_index.tolist() == [0, 1]
        np.testing.assert_array_equal(space.natural(np.zeros((2, 2))), [[0.5, 2.5], [0.5, 2.5]])

    def test_choices_alone_have_none(self):
        space = Space({"c": Categorical(["a", "b", "c"])})
        assert space.columns == ()
        assert space.natural(np.zeros((4, 3))).shape == (4, 0)
        unit = np.array([0.1, 0.2, 0.3])
        assert space.from_natural([], unit).tolist() == unit.tolist()
        assert space.natural_integer.dtype == space.natural_log.dtype == bool

    @given(spaces_with(units_of))
    def test_columns_are_the_decoded_numbers(self, case):
        space, unit = case
        point = space.decode(unit) if space.is_named else {"x": space.decode(unit)}
        numbers = [np.ravel(point[name]) for name, each in space.parameters.items() if each.is_numeric]
        np.testing.assert_array_equal(space.natural(unit), np.hstack([*numbers, np.empty(0)]))
        assert len(space.columns) == len(space.natural_low) == len(space.natural_index)

    @given(spaces_with(units_of), st.integers(0, 2**32 - 1))
    def test_from_natural_sets_what_natural_shows(self, case, seed):
        space, unit = case
        rng = np.random.default_rng(seed)
        other = rng.uniform(-1, 1, space.dim)
        wanted = space.natural(other)
        moved = space.from_natural(wanted, unit)
        np.testing.assert_allclose(space.natural(moved), wanted, rtol=1e-13, atol=1e-9)
        np.testing.assert_array_equal(space.natural(moved)[space.natural_integer], wanted[space.natural_integer])
        kept = np.setdiff1d(np.arange(space.dim), space.natural_index)
        np.testing.assert_array_equal(moved[kept], unit[kept])
        np.testing.assert_array_equal(space.from_natural(np.array([wanted, wanted]), unit), [moved, moved])

    def test_from_natural_clips_and_rounds(self):
        unit = np.zeros(MIXED.dim)
        moved = MIXED.from_natural([5, 2.6, 0.7, -3, 0.25, 1e9, 1.4], unit)
        assert MIXED.natural(moved).tolist() == [1, 3, 1, -1, 0.25, 1000, 1]
        assert np.array_equal(MIXED.snap(moved)[MIXED.natural_index], moved[MIXED.natural_index])
        assert unit.tolist() == [0] * MIXED.dim
        assert MIXED.natural(MIXED.from_natural([np.inf] * 7, unit)).tolist() == MIXED.natural_high.tolist()

    @pytest.mark.parametrize("x", [[0] * 6, [np.nan] * 7, 0, ["a"] * 7])
    def test_wrong_columns(self, x):
        with pytest.raises(SpaceError, match=r"^x must"):
            MIXED.from_natural(x, np.zeros(MIXED.dim))


class TestNames:
    def test_labels(self):
        assert MIXED.labels == (
            "lr", "n", "act=a", "act=b", "act=c", "on", "w[0]", "w[1]", "kind=y", "k[0]", "k[1]",
        )  # fmt: skip
        assert Space({"c": Categorical([1, None, "z"], shape=2)}).labels[3:] == ("c[1]=1", "c[1]=None", "c[1]=z")
        assert Space([(0, 1)] * 2).labels == ("x[0]", "x[1]")

    def test_owner(self):
        assert MIXED.owner.tolist() == [0, 1, 2, 2, 2, 3, 4, 4, 5, 6, 6]

    @given(spaces())
    def test_every_coordinate_has_a_label_and_an_owner(self, space):
        assert len(space.labels) == len(space.owner) == space.dim == len(space.discrete)
        for label, owner in zip(space.labels, space.owner, strict=True):
            assert label.startswith(list(space.parameters)[owner])

    def test_parameters_are_read_only(self):
        assert MIXED.parameters["n"] == Int(1, 100)
        assert tuple(MIXED.parameters) == MIXED.names
        with pytest.raises(TypeError):
            MIXED.parameters["n"] = Bool()

    @pytest.mark.parametrize("name", ["owner", "discrete", "natural_low", "natural_index", "natural_integer"])
    def test_arrays_are_read_only(self, name):
        with pytest.raises(ValueError, match="read-only"):
            getattr(MIXED, name)[0] = 1

    def test_two_components_of_one_name(self):
        with pytest.raises(SpaceError, match=r"Two components would be called 'w\[0\]'; rename a parameter"):
            Space({"w": Float(0, 1, shape=2), "w[0]": Float(0, 1)})
        assert Space({"w": Float(0, 1, shape=2), "w[2]": Float(0, 1)}).columns == ("w[0]", "w[1]", "w[2]")


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
        assert Space([(Fraction(1, 2), 10**30)]).natural_high == 1e30
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

    def test_shorthands(self):
        space = Space({"a": (0, 1), "b": [2, np.float32(3)], "c": ["x", "y"], "d": np.array([0.5, 1.5])})
        full = {"a": Float(0, 1), "b": Float(2, 3), "c": Categorical(["x", "y"]), "d": Float(0.5, 1.5)}
        assert space == Space(full)

    def test_a_vector_may_go_without_a_name(self):
        space = Space(Int(0, 9, shape=3))
        assert same(space.decode(np.ones(3)), np.array([9, 9, 9]))
        assert space.encode([9, 9, 9]).tolist() == pytest.approx([0.9] * 3)
        assert Space(Float(0, 1, shape=2)) == Space([(0, 1)] * 2)
        assert Space.from_manifest(space.to_manifest()) == space

    def test_the_caller_keeps_the_array(self):
        bounds = np.array([(0.0, 1.0), (0.0, 1.0)])
        space = Space(bounds)
        bounds[0, 1] = 99.0
        assert space.natural_high.tolist() == [1.0, 1.0]

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
        (np.zeros((2, 3)), r"one pair \(low, high\) per parameter, got two rows of 3"),
        (np.zeros((3, 3)), r"bounds\[0\] must be a pair"),
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
        ({"a": (1, 0)}, r"Parameter 'a': Float must have low < high, got \(1\.0, 0\.0\); swap"),
        ({"a": (0, 1, 2)}, r"Parameter 'a' must be a boids\.Float\(low, high\), Int\(low, high\), .*; got \(0, 1, 2\)"),
        ({"a": (False, True)}, r"Parameter 'a' must be a boids\.Float"),
        ({"a": ["x", 1]}, r"Parameter 'a' must be a boids\.Float"),
        ({"a": ["x"]}, r"Parameter 'a': choices must be at least two"),
        ({"a": []}, r"Parameter 'a' must be a boids\.Float"),
        ({"a": 3}, r"Parameter 'a' must be a boids\.Float"),
        ({"a": np.array(3)}, r"Parameter 'a' must be a boids\.Float"),
        ({"a": "xy"}, r"Parameter 'a' must be a boids\.Float"),
        ({"a": {"x", "y"}}, r"Parameter 'a' must be a boids\.Float"),
        ({"a": [[0, 1], [2]]}, r"Parameter 'a' must be a boids\.Float"),
        (Float(0, 1), r'needs a name for it; write \{"x": Float\(0\.0, 1\.0\)\}'),
        (Categorical(["a", "b"], shape=3), "needs a name for it"),
        ([Float(0, 1)], r"bounds\[0\] must be a pair \(low, high\), got Float.*need names"),
        ({"a": Float}, "Parameter 'a' must be"),
        ({1: Float(0, 1)}, "name must be a non-empty string, got 1"),
        ({"": Float(0, 1)}, "name must be a non-empty string"),
    ],
)
def test_wrong_definitions_say_what_is_wrong(definition, message):
    with pytest.raises(SpaceError, match=message):
        Space(definition)


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
        {"named": False, "parameters": [{"name": "x", "kind": "bool"}]},
        {"named": True, "parameters": [{"name": "a", "kind": "categorical", "choices": ["x"]}]},
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
