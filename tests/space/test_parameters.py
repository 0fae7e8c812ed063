"""Parameters: what may be written, what values look like, and one clear sentence for whatever is wrong."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from space.strategies import parameters, same, values

from boids import Bool, Categorical, Float, Int, Space, SpaceError
from boids.space.parameters import PARAMETERS


class TestIdentity:
    @given(parameters(extreme=True))
    def test_manifests_survive_json(self, parameter):
        arguments = json.loads(json.dumps(parameter.to_manifest()))
        again = PARAMETERS[parameter.kind](**arguments)
        assert again == parameter
        assert hash(again) == hash(parameter)
        assert again.to_manifest() == parameter.to_manifest()

    @given(parameters())
    def test_copies_are_equal(self, parameter):
        assert copy.deepcopy(parameter) == parameter
        assert pickle.loads(pickle.dumps(parameter)) == parameter

    @given(st.lists(parameters(), min_size=2, max_size=2))
    def test_equal_means_equal_manifests(self, pair):
        a, b = pair
        assert (a == b) == ((a.kind, a.to_manifest()) == (b.kind, b.to_manifest()))

    def test_what_tells_parameters_apart(self):
        different = [
            Float(1, 2), Float(1, 3), Float(1, 2, log=True), Float(1, 2, shape=1), Float(1, 2, shape=2), Float(0, 2),
            Int(1, 2), Int(1, 2, log=True), Int(1, 2, shape=1), Bool(), Bool(shape=1),
            Categorical([1, 2]), Categorical([2, 1]), Categorical([True, 2]), Categorical([1.0, 2]),
            Categorical(["1", 2]), Categorical([1, 2], shape=1), Categorical([1, 2, 3]),
        ]  # fmt: skip
        assert len(set(different)) == len(different)
        assert Float(1, 2) != 3

    def test_forms_of_the_same_vector(self):
        assert Float(0, 1, shape=3) == Float([0, 0, 0], 1) == Float(0, [1, 1, 1]) == Float(0, 1, shape=(3,))
        assert Float(0, 1, shape=np.int64(3)) == Float([0] * 3, [1] * 3, shape=3)
        assert Int(0.0, np.int8(5)) == Int(0, 5)
        assert Float(-0.0, 1) == Float(0.0, 1)
        assert hash(Float(-0.0, 1)) == hash(Float(0.0, 1))
        assert Categorical(np.array(["a", "b"])) == Categorical(("a", "b")) == Categorical(iter("ab"))

    @pytest.mark.parametrize(
        ("parameter", "text"),
        [
            (Float(0, 1), "Float(0.0, 1.0)"),
            (Float(1e-5, 1, log=True), "Float(1e-05, 1.0, log=True)"),
            (Float(0, 1, shape=1000), "Float(0.0, 1.0, shape=1000)"),
            (Float([0, 0], [1, 2]), "Float(<2 lows>, <2 highs>)"),
            (Int(1, 9, log=True, shape=4), "Int(1, 9, log=True, shape=4)"),
            (Bool(), "Bool()"),
            (Bool(shape=2), "Bool(shape=2)"),
            (Categorical(["a", 1, None]), "Categorical(['a', 1, None])"),
            (Categorical(["a", "b"], shape=3), "Categorical(['a', 'b'], shape=3)"),
            (Categorical(range(100)), "Categorical([0, 1, 2, 3, 4, 5, 6, 7 and 92 more])"),
        ],
    )
    def test_repr(self, parameter, text):
        assert repr(parameter) == text

    def test_parameters_are_immutable(self):
        vector = Float([0, 0], [1, 1])
        with pytest.raises(ValueError, match="read-only"):
            vector.low[0] = 5
        for parameter in (vector, Int(0, 1), Bool(), Categorical(["a", "b"])):
            with pytest.raises(AttributeError):
                parameter.shape = 3

    def test_the_caller_keeps_the_arrays(self):
        low = np.zeros(2)
        parameter = Float(low, 1)
        low[0] = 99
        assert parameter.low.tolist() == [0, 0]


class TestValues:
    @given(parameters(extreme=True).flatmap(lambda each: st.tuples(st.just(each), values(each))))
    def test_discrete_values_come_back_exactly_and_floats_to_within_rounding(self, case):
        parameter, value = case
        space = Space({"p": parameter})
        again = space.decode(space.encode({"p": value}))["p"]
        if parameter.kind != "float":
            assert same(again, value)
        elif not parameter.log:
            # Three roundings of u, of half the size of the interval, and three of the sum.
            unit = np.maximum(np.abs(parameter.low), np.abs(parameter.high)) * 2.0**-52 + 5e-324
            assert np.all(np.abs(0.5 * again - 0.5 * value) <= 2 * unit)
        else:
            decades = np.log(parameter.high) - np.log(parameter.low)
            assert np.all(np.abs(again - value) <= 8 * (1 + decades) * 2.0**-53 * value + 5e-324)

    @pytest.mark.parametrize(
        ("parameter", "unit", "expected"),
        [
            (Float(1, 100, log=True), [0], 10.0),
            (Float(0, 1, shape=2), [-1, 0], np.array([0, 0.5])),
            (Int(1, 4), [0], 3),
            (Int(1, 4, shape=2), [-1, 1], np.array([1, 4])),
            (Int(1, 100, log=True), [-1], 1),
            (Bool(), [0], True),
            (Bool(shape=2), [-0.1, 0.1], np.array([False, True])),
            (Categorical(["a", "b"]), [-0.1], "a"),
            (Categorical(["a", None, 2]), [0, 1, 0.5], None),
            (Categorical(["a", "b"], shape=2), [1, -1], ("b", "a")),
            (Categorical([1, 2.5, 3], shape=2), [0, 0, 1, 0, 1, 0], (3, 2.5)),
        ],
    )
    def test_values_are_plain(self, parameter, unit, expected):
        got = Space({"p": parameter}).decode(unit)["p"]
        assert same(got, expected) or got == pytest.approx(expected, rel=1e-15)
        assert type(got) is type(expected)

    def test_choices_keep_their_type(self):
        space = Space({"p": Categorical([np.float64(0.5), np.str_("a"), np.int8(3), np.bool_(False)])})
        values = [space.decode(unit)["p"] for unit in 2 * np.eye(4) - 1]
        assert [type(value) for value in values] == [float, str, int, bool]

    def test_values_that_are_understood(self):
        space = Space({"n": Int(0, 9), "on": Bool(), "c": Categorical([1, "x"]), "v": Categorical(["x", "y"], shape=2)})
        point = {"n": 3.0, "on": 1, "c": 1.0, "v": np.array(["x", "y"])}
        expected = {"n": 3, "on": True, "c": 1, "v": ("x", "y")}
        assert same(space.decode(space.encode(point)), expected)
        point = {"n": np.array(3), "on": np.bool_(True), "c": np.int64(1), "v": ["x", np.str_("y")]}
        assert same(space.decode(space.encode(point)), expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Float(1, 0), r"^Float must have low < high, got \(1\.0, 0\.0\); swap the two\.$"),
        (lambda: Float(1, 1), r"^Float must have low < high, got \(1\.0, 1\.0\); leave out a parameter that is fixed"),
        (lambda: Float(0, np.nan), "Float must have two finite bounds"),
        (lambda: Float("a", 1), "The lower bound must be numeric, got 'a'"),
        (lambda: Float(0, None), "The upper bound must be numeric, got None"),
        (lambda: Float([0, 0], [1, 0]), r"bounds\[1\] must have low < high"),
        (lambda: Float([0], [1, 2]), r"two arrays of the same length, got the shapes \(1,\) and \(2,\)"),
        (lambda: Float([], []), "two numbers or two arrays"),
        (lambda: Float([], 1), "two numbers or two arrays"),
        (lambda: Float([[0]], [[1]]), "two numbers or two arrays"),
        (lambda: Float(["a"], [1]), "The lower bound must hold numbers"),
        (lambda: Float([0, [1]], [1, 2]), "lists of different lengths"),
        (lambda: Float([0, 0], [1, 1], shape=3), "shape=3 does not fit 2 bounds; leave shape out"),
        (lambda: Float(0, 1, shape=0), "shape must be a positive integer"),
        (lambda: Float(0, 1, shape=True), "shape must be a positive integer"),
        (
            lambda: Float(0, 1, shape=2.0),
            r"shape must be a positive integer \(the length of a vector\) or None, got 2.0",
        ),
        (lambda: Float(0, 1, shape=(2, 2)), "shape must be a positive integer"),
        (lambda: Float(0, 1, shape=()), "shape must be a positive integer"),
        (lambda: Float(0, 1, shape=2**40), "shape must be at most 1000000, got 1099511627776"),
        (lambda: Float(0, 1, log=1), "log must be True or False, got 1"),
        (lambda: Float(0, 1, log=True), r"Float must have low > 0 for a log scale, got \(0\.0, 1\.0\); give a small"),
        (lambda: Float([1, -1], 2, log=True), r"bounds\[1\] must have low > 0 for a log scale"),
        (lambda: Float(1e-300, 1e300, log=True), "high / low < 1.8e308 for a log scale"),
        (lambda: Int(1, 1), r"Int must have low < high, got \(1, 1\); leave out a parameter that is fixed"),
        (lambda: Int(2, 1), r"Int must have low < high, got \(2, 1\); swap the two"),
        (lambda: Int(0.5, 2), "The lower bound must be an integer, got 0.5"),
        (lambda: Int(0, np.inf), "The upper bound must be an integer, got inf"),
        (lambda: Int(0, np.nan), "The upper bound must be an integer, got nan"),
        (lambda: Int(False, True), "The lower bound must be an integer, got False"),
        (lambda: Int([0, 0.5], 2), r"The lower bound\[1\] must be an integer, got 0.5"),
        (lambda: Int(["a"], 2), "The lower bound must hold integers"),
        (
            lambda: Int(0, 5, log=True),
            r"Int must have low >= 1 for a log scale, got \(0, 5\); raise it or leave log out",
        ),
        (lambda: Int(1, 2**48 + 1, log=True), r"high <= 2\*\*48 for a log scale"),
        (lambda: Int(0, 2**53 + 1), r"bounds within ±2\*\*53"),
        (lambda: Int(0, 2**53), r"at most 2\*\*53 integers"),
        (lambda: Int(-(10**30), 10**30), r"bounds within ±2\*\*53"),
        (lambda: Int(0, 1e300), r"bounds within ±2\*\*53"),
        (lambda: Int(0, np.array([2**63], dtype=np.uint64)), r"bounds within ±2\*\*53"),
        (lambda: Bool(shape=-1), "shape must be a positive integer"),
        (lambda: Categorical("abc"), "choices must be a list of strings, numbers, bools or None, got 'abc'"),
        (lambda: Categorical({"a", "b"}), "choices must be a list"),
        (lambda: Categorical({"a": 1, "b": 2}), "choices must be a list"),
        (lambda: Categorical(5), "choices must be a list"),
        (lambda: Categorical(np.array(5)), "choices must be a list"),
        (lambda: Categorical(["a"]), r"choices must be at least two, got \['a'\]; leave out"),
        (lambda: Categorical([]), "choices must be at least two"),
        (lambda: Categorical(["a", "b", "a"]), "choices must be distinct, got 'a' twice"),
        (lambda: Categorical([1, True]), "choices must be distinct, got True and 1, which are equal in Python"),
        (lambda: Categorical([1.0, 1]), "choices must be distinct, got 1 and 1.0, which are equal in Python"),
        (lambda: Categorical(["a", ["b"]]), r"A choice must be a string, a finite number, a bool or None, got \['b'\]"),
        (lambda: Categorical(np.zeros((2, 2))), "A choice must be a string"),
        (lambda: Categorical(["a", np.nan]), "A choice must be a string, a finite number"),
        (lambda: Categorical(["a", 1j]), "A choice must be a string, a finite number"),
    ],
)
def test_wrong_parameters_say_what_is_wrong(make, message):
    with pytest.raises(SpaceError, match=message):
        make()


COLOURS = Categorical(["red", "green", "blue", 4])


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (Float(0, 1), [1], r"^'p' must be a number, got the shape \(1,\)\.$"),
        (Float(0, 1), 2, r"^'p' must lie in \[0\.0, 1\.0\], got 2\.0\.$"),
        (Float(0, 1), np.nan, r"'p' must lie in \[0\.0, 1\.0\], got nan"),
        (Float(0, 1), True, "'p' must be numeric, got True"),
        (Float(0, 1), 10**400, "got inf"),
        (Float(0, 1), -(10**400), "got -inf"),
        (Float(0, 1), "x", "'p' must be numeric, got 'x'"),
        (Float(0, 1), None, "'p' must be numeric, got None"),
        (Float(0, 1), {}, "'p' must be numeric"),
        (Float(0, 1, shape=2), 0, r"'p' must be 2 numbers, got the shape \(\)"),
        (Float(0, 1, shape=2), [0, 3], r"'p'\[1\] must lie in \[0\.0, 1\.0\], got 3\.0"),
        (Float(0, 1, shape=2), [0, [1]], "lists of different lengths"),
        (Float(0, 1, shape=2), [0, 1j], "'p' must hold numbers, got an array of complex128"),
        (Int(1, 9), 2.5, r"^'p' must be an integer, got 2\.5\.$"),
        (Int(1, 9), True, "'p' must be an integer, got True"),
        (Int(1, 9), "3", "'p' must be an integer, got '3'"),
        (Int(1, 9), np.nan, "'p' must be an integer, got nan"),
        (Int(1, 9), np.inf, "'p' must be an integer, got inf"),
        (Int(1, 9), 10, r"'p' must lie in \[1, 9\], got 10"),
        (Int(1, 2**53), 2**53 + 1, r"'p' must lie in"),
        (Int(1, 9), 10**100, r"'p' must lie in \[1, 9\]"),
        (Int(1, 9), [3], r"'p' must be an integer, got the shape \(1,\)"),
        (Int(1, 9, shape=2), [3, 2.5], r"'p'\[1\] must be an integer, got 2\.5"),
        (Int(1, 9, shape=2), [3, 0], r"'p'\[1\] must lie in \[1, 9\], got 0"),
        (Int(1, 9, shape=2), [True, False], "'p' must hold integers, got an array of bool"),
        (Int(1, 9, shape=2), [3, 10**100], "'p' must hold integers, got an array of object"),
        (Int(1, 9, shape=2), np.array([3, 2**64 - 1], dtype=np.uint64), r"'p'\[1\] must lie in"),
        (Bool(), "yes", r"^'p' must be True or False, got 'yes'\.$"),
        (Bool(), 2, "'p' must be True or False, got 2"),
        (Bool(), np.nan, "'p' must be True or False, got nan"),
        (Bool(), None, "'p' must be True or False, got None"),
        (Bool(), [True], r"'p' must be a truth value, got the shape \(1,\)"),
        (Bool(shape=2), [True, 3], r"'p' must be True or False throughout, got \[True, 3\]"),
        (Bool(shape=2), True, r"'p' must be 2 truth values, got the shape \(\)"),
        (COLOURS, "gren", r"'p' must be one of 'red', 'green', 'blue', 4, got 'gren'; did you mean 'green'\?"),
        (COLOURS, "xyz", r"'p' must be one of 'red', 'green', 'blue', 4, got 'xyz'\.$"),
        (COLOURS, 5, r"'p' must be one of .*, got 5\.$"),
        (COLOURS, ["red"], r"'p' must be one of .*, got \['red'\]"),
        (COLOURS, np.array(["red"]), "'p' must be one of"),
        (COLOURS, np.nan, "'p' must be one of"),
        (Categorical([0, 1]), True, r"'p' must be one of 0, 1, got True"),
        (Categorical([True, "a"]), 1, r"'p' must be one of True, 'a', got 1"),
        (Categorical(["a", "b"], shape=2), "ab", "'p' must be a list of 2 choices, got 'ab'"),
        (Categorical(["a", "b"], shape=2), ["a"], "'p' must be a list of 2 choices, got 1"),
        (Categorical(["a", "b"], shape=2), ["a", "c"], r"'p'\[1\] must be one of 'a', 'b', got 'c'"),
        (Categorical(["a", "b"], shape=2), 5, "'p' must be a list of 2 choices, got 5"),
    ],
)
def test_wrong_values_say_what_is_wrong(parameter, value, message):
    with pytest.raises(SpaceError, match=message):
        Space({"p": parameter}).encode({"p": value})


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.fractions()
    | st.decimals()
    | st.dates()
    | st.sampled_from([np.float32(1), np.int64(3), np.array(2.0), np.zeros((2, 2)), np.array(["a"]), object(), int]),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


def refusal(function, *args, **kwargs):
    """What a function says if it refuses its arguments, else None; any other exception is a failure of the test."""
    try:
        function(*args, **kwargs)
    except SpaceError as error:
        return str(error)
    return None


@given(parameters(), anything)
def test_whatever_value_is_given_is_taken_or_refused_with_a_sentence(parameter, value):
    space = Space({"p": parameter})
    sentence = refusal(space.encode, {"p": value})
    if sentence is None:
        assert np.all(np.abs(space.encode({"p": value})) <= 1)
    else:
        assert sentence.startswith("'p'")
        assert sentence.endswith((".", "?"))


@given(st.sampled_from([Float, Int]), anything, anything, anything, anything)
def test_whatever_bounds_are_given_are_taken_or_refused(kind, low, high, log, shape):
    assert refusal(kind, low, high, log=log, shape=shape) != ""


@given(anything, anything)
def test_whatever_choices_are_given_are_taken_or_refused(choices, shape):
    assert refusal(Categorical, choices, shape=shape) != ""


@given(anything | st.dictionaries(st.text(max_size=2), anything | parameters(), max_size=3))
def test_whatever_definition_is_given_is_taken_or_refused(definition):
    assert refusal(Space, definition) != ""
