"""Linear constraints: what people may write, who satisfies it, the nearest point that does, random points that do."""

from __future__ import annotations

import contextlib
import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array
from space.strategies import spaces

from boids import Bool, Categorical, Float, Int, Space, SpaceError
from boids.space.linear import LinearConstraints

seeds = st.integers(0, 2**32 - 1)

MIXED = Space(
    {
        "x1": Float(0, 1),
        "x2": Float(0, 2),
        "lr": Float(1e-5, 1, log=True),
        "n": Int(1, 100),
        "m": Int(1, 1000, log=True),
        "act": Categorical(["a", "b", "c"]),
        "on": Bool(),
        "w": Float(-1, 1, shape=4),
    }
)
BOX = Space([(0, 1)] * 5)


def make(space, definition) -> LinearConstraints:
    constraints = LinearConstraints.of(space, definition)
    assert constraints is not None
    return constraints


def dense(constraints):
    """The rows over all natural columns."""
    matrix = np.zeros((len(constraints.lower), len(constraints.space.columns)))
    matrix[:, constraints.columns] = constraints.coefficients
    return matrix


class TestTexts:
    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            ("x1 <= x2", ["x1 - x2 <= 0"]),
            ("x1 < x2", ["x1 - x2 <= 0"]),
            ("x2 > x1", ["-x1 + x2 >= 0"]),
            ("2*x1 - 3*(x2 + 1) >= -5.5", ["2*x1 - 3*x2 >= -2.5"]),
            ("sum(w) == 1", ["sum(w) == 1"]),
            ("-2*sum(w) <= x1", ["-x1 - 2*sum(w) <= 0"]),
            ("sum(w[1:3]) + sum(w[::-3]) <= 0.5", ["w[0] + w[1] + w[2] + w[3] <= 0.5"]),
            ("w[0] - w[-1] <= n/10 - 2", ["-0.1*n + w[0] - w[3] <= -2"]),
            ("0 <= x1 - x2 <= 3", ["0 <= x1 - x2 <= 3"]),
            ("0.5 >= x1 - x2 >= -x2", ["x1 - x2 <= 0.5"]),  # x1 >= 0 says nothing new
            ("x1 <= x2 <= 2*x1", ["x1 - x2 <= 0", "-2*x1 + x2 <= 0"]),
            ("+x1 - -x2 <= 1.5", ["x1 + x2 <= 1.5"]),
            ("n + 10 * on <= 20\n", ["n + 10*on <= 20"]),
            ("x1 + x1 + x2 <= 1", ["2*x1 + x2 <= 1"]),
        ],
    )
    def test_are_read(self, text, rows):
        written = make(MIXED, text).rows
        assert list(written) == [row.replace("w[0] + w[1] + w[2] + w[3]", "sum(w)") for row in rows]

    def test_of_a_plain_box_speak_of_x(self):
        assert make(BOX, ["x[0] <= x[1]", "sum(x) <= 2"]).rows == ("x[0] - x[1] <= 0", "sum(x) <= 2")

    @given(seeds)
    @settings(max_examples=50)
    def test_mean_what_they_say(self, seed):
        """Python itself evaluates the text at a random point; the rows must come to the same."""
        rng = np.random.default_rng(seed)
        a, b, c, d = (float(number) for number in rng.normal(size=4).round(3))
        text = f"{a}*x1 - ({b} - x2/{abs(c) + 1})*2 + sum(w) - w[{rng.integers(4)}] <= {d}*n + (x1 - {c})/3"
        unit = rng.uniform(-1, 1, MIXED.dim)
        params = MIXED.decode(unit)
        left, right = (eval(side, {"sum": sum}, params) for side in text.split("<="))
        try:
            constraints = LinearConstraints.of(MIXED, text)
        except SpaceError:
            assume(False)
        assume(constraints is not None)
        x = MIXED.natural(unit)
        value = (dense(constraints) @ x)[0] - constraints.upper[0]
        assert math.isclose(value, left - right, rel_tol=1e-9, abs_tol=1e-9)

    def test_may_have_a_thousand_terms(self):
        space = Space([(0, 1)] * 1000)
        text = " + ".join(f"{i % 7 + 1}*x[{i}]" for i in range(1000)) + " <= 1500"
        constraints = make(space, text)
        assert constraints.coefficients[0].tolist() == [i % 7 + 1 for i in range(1000)]
        assert constraints.rows == ("x[0] + 2*x[1] + 3*x[2] + 4*x[3] + 5*x[4] + 6*x[5] + … 994 more terms <= 1500",)

    def test_know_the_names_that_python_respells(self):
        space = Space({"µ": Float(0, 1), "b": Float(0, 1)})  # MICRO SIGN, which Python's parser turns into a mu
        assert make(space, "µ <= b").rows == ("µ - b <= 0",)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("x1", "compare two sides"),
            ("x1 * x2 <= 1", "must be linear"),
            ("x1 / x2 <= 1", "must be linear"),
            ("x1**2 <= 1", "must be linear"),
            ("(x1 + 1) * (1 + x2) <= 1", "must be linear"),
            ("foo <= 1", "no 'foo'; it has 'x1', 'x2'"),
            ("X1 <= 1", "did you mean 'x1'"),
            ("wx[0] <= 1", "no 'wx'"),
            ("w1 <= w2", "no 'w1'; 'w' is a vector, its components are w[0] to w[3]"),
            ("act <= 1", "'act' is categorical"),
            ("act[0] <= 1", "'act' is categorical"),
            ("x1 != 2", "compare with"),
            ("x1 in w", "'w' is a vector"),
            ("w <= 1", "write w[0] for a component or sum(w)"),
            ("x1[0] <= 1", "single number"),
            ("sum(x1) <= 1", "single number"),
            ("sum(w, x1) <= 1", "not understood"),
            ("sum(2) <= x1", "sum takes a vector"),
            ("w[4] <= 0", "has 4 components"),
            ("w[0.5] <= 0", "index must be an integer"),
            ("w[x1] <= 0", "index must be an integer"),
            ("w[0:2] <= 0", "not understood"),
            ("sum(w[::0]) <= 0", "step of a slice"),
            ("x1 = 0.5", "two signs, =="),
            ("x 1 <= 0.5", "not a Python expression"),
            ("lambda <= 0.5", 'write it as a table, {"coefficients"'),
            ("", "not a Python expression"),
            ("x1 <= \0", "not a Python expression"),
            ("1 <= 2", "does not depend on any parameter"),
            ("x1 - x1 <= 2", "does not depend on any parameter"),
            ("x1 <= True", "not understood"),
            ("x1 <= 'a'", "not understood"),
            ("x1 <= 2j", "not understood"),
            ("x1 <= 1e999", "too large"),
            (f"x1 <= 1{'0' * 400}", "too large"),
            ("1e300*1e300*x1 <= 1", "too large"),
            ("x1 / 0 <= 1", "divides by zero"),
            ("__import__('os').system('ls') <= x1", "not understood"),
            ("x1.real <= 1", "not understood"),
            ("[x1 for i in w] <= 1", "not understood"),
            ("x1 <= 1 if on else 2", "compare two sides"),
            ("(" * 500 + "x1" + ")" * 500 + " <= 1", "not a Python expression"),
            ("-" * 20_000 + "x1 <= 1", "not a Python expression"),
        ],
    )
    def test_are_refused_with_a_reason(self, text, reason):
        with pytest.raises(SpaceError, match="Linear constraint") as caught:
            LinearConstraints.of(MIXED, text)
        assert reason in str(caught.value)

    @given(st.text(st.sampled_from("x12 wn[]()<>=+-*/.,:!on sum"), max_size=25))
    @settings(max_examples=300)
    def test_never_end_in_another_exception(self, text):
        with contextlib.suppress(SpaceError):
            LinearConstraints.of(MIXED, text)


class TestTables:
    def test_name_parameters_and_components(self):
        table = {"coefficients": {"x1": 1, "w": [1, 0, 0, 2], "n": -0.5}, "upper": -3}
        assert make(MIXED, table).rows == ("x1 - 0.5*n + w[0] + 2*w[3] <= -3",)
        assert make(MIXED, {"coefficients": {"w": 2.0}, "lower": 1, "upper": 1}).rows == ("2*sum(w) == 1",)
        assert make(MIXED, {"coefficients": {"w[3]": 2.0}, "lower": None, "upper": 1}).rows == ("2*w[3] <= 1",)

    def test_may_use_names_that_python_would_not(self):
        space = Space({"learning rate": Float(0, 1), "class": Float(0, 1)})
        table = {"coefficients": {"learning rate": 1, "class": -1}, "upper": 0}
        assert make(space, table).rows == ("learning rate - class <= 0",)

    @pytest.mark.parametrize(
        ("table", "reason"),
        [
            ({}, '"coefficients" must be a table'),
            ({"coefficients": {}}, '"coefficients" must be a table'),
            ({"coefficients": [1, 2], "upper": 1}, '"coefficients" must be a table'),
            ({"coefficients": {"x1": 1}, "uper": 1}, "did you mean 'upper'"),
            ({"coefficients": {"x": 1}, "upper": 1}, "did you mean"),
            ({"coefficients": {3: 1}, "upper": 1}, "no '3'"),
            ({"coefficients": {"act": 1}, "upper": 1}, "categorical"),
            ({"coefficients": {"x1": "1"}, "upper": 1}, "must be numeric"),
            ({"coefficients": {"x1": [1, 2]}, "upper": 1}, "must be a number"),
            ({"coefficients": {"w": [1, 2]}, "upper": 1}, "one number or 4"),
            ({"coefficients": {"w": 1, "w[0]": 2}, "upper": 1}, "two factors"),
            ({"coefficients": {"x1": math.nan}, "upper": 1}, "finite"),
            ({"coefficients": {"x1": 1}, "upper": "a"}, "must be numeric"),
            ({"coefficients": {"x1": 1}, "upper": math.nan}, "a bound must be a number"),
            ({"coefficients": {"x1": 1}, "upper": -math.inf}, "a bound must be a number"),
        ],
    )
    def test_are_refused_with_a_reason(self, table, reason):
        with pytest.raises(SpaceError) as caught:
            LinearConstraints.of(MIXED, table)
        assert reason in str(caught.value)


class TestMatrices:
    def test_stand_for_the_natural_columns(self):
        rows = np.zeros((2, len(MIXED.columns)))
        rows[0, [0, 1]] = 1, -1
        rows[1, MIXED.columns.index("on")] = 10
        rows[1, MIXED.columns.index("n")] = 1
        expected = ("x1 - x2 <= 0", "2 <= n + 10*on <= 20")
        assert make(MIXED, LinearConstraint(rows, [-np.inf, 2], [0, 20])).rows == expected
        assert make(MIXED, LinearConstraint(csr_array(rows), [-np.inf, 2], [0, 20])).rows == expected

    def test_may_have_a_single_row_and_single_bounds(self):
        assert make(BOX, LinearConstraint([1, 0, -1, 0, 0], 0, 0)).rows == ("x[0] - x[2] == 0",)
        assert make(BOX, LinearConstraint(np.eye(5)[:2], 0.5, np.inf)).rows == ("x[0] >= 0.5", "x[1] >= 0.5")

    @pytest.mark.parametrize(
        ("constraint", "reason"),
        [
            (LinearConstraint(np.ones((1, 4)), 0, 1), "5 numbers"),
            (LinearConstraint(np.full((1, 5), np.nan), 0, 1), "finite"),
            (LinearConstraint(np.ones((1, 5)), np.nan, 1), "a bound must be a number"),
            (LinearConstraint(np.ones((1, 5)), 2, 1), "cannot hold together"),
            (np.ones((1, 5)), "Linear constraints must be"),
            (3, "Linear constraints must be"),
        ],
    )
    def test_are_refused_with_a_reason(self, constraint, reason):
        with pytest.raises(SpaceError, match=reason):
            LinearConstraints.of(BOX, constraint)

    def test_bounds_must_fit(self):
        constraint = LinearConstraint(np.eye(5)[:2], 0.5, np.inf)
        constraint.lb = np.zeros(3)
        with pytest.raises(SpaceError, match="one for each of the 2 rows"):
            LinearConstraints.of(BOX, constraint)


class TestSystems:
    @pytest.mark.parametrize("nothing", [None, (), [], [None, ()], "x[0] <= 1", ["x[0] >= 0", "sum(x) <= 5"]])
    def test_without_a_say_are_none(self, nothing):
        assert LinearConstraints.of(BOX, nothing) is None

    def test_may_mix_all_forms(self):
        matrix = LinearConstraint([0, 0, 0, 1, 1], -np.inf, 1)
        table = {"coefficients": {"x[2]": 1}, "upper": 0.5}
        expected = ("x[0] - x[1] <= 0", "x[2] <= 0.5", "x[3] + x[4] <= 1")
        assert make(BOX, ["x[0] <= x[1]", (table, matrix)]).rows == expected

    def test_join_rows_that_say_the_same(self):
        definition = ["x[0] - x[1] <= 0.5", "x[1] - x[0] <= 0.25", "x[0] <= x[1] + 0.75", "sum(x) <= 1", "sum(x) >= 1"]
        assert make(BOX, definition).rows == ("-0.25 <= x[0] - x[1] <= 0.5", "sum(x) == 1")

    @pytest.mark.parametrize(
        ("definition", "reason"),
        [
            ("sum(x) >= 6", "cannot hold: the bounds keep it between 0 and 5"),
            ("sum(x) == -1", "cannot hold"),
            ("0.75 <= x[0] <= 0.5", "nothing between the bounds"),
            (["x[0] <= 0.25", "x[0] >= 0.5"], "'x[0] <= 0.25', 'x[0] >= 0.5' cannot hold together"),
            (
                ["x[4] <= 0.5", "x[0] + x[1] >= 1.5", "x[3] <= x[0]", "x[0] <= 0.25"],
                "'x[0] + x[1] >= 1.5', 'x[0] <= 0.25'",
            ),
            (["x[0] <= x[1]", "x[1] <= x[2]", "x[2] <= x[0] - 0.5"], "cannot hold together"),
        ],
    )
    def test_without_a_point_are_refused_by_name(self, definition, reason):
        with pytest.raises(SpaceError) as caught:
            LinearConstraints.of(BOX, definition)
        assert reason in str(caught.value)
        assert "x[4] <= 0.5" not in str(caught.value)

    def test_know_that_integers_are_whole(self):
        space = Space({"a": Int(0, 5), "b": Int(0, 5), "c": Float(0, 1)})
        assert LinearConstraints.of(space, "2*a + 2*b == 4") is not None
        with pytest.raises(SpaceError, match="with its integers"):
            LinearConstraints.of(space, "2*a + 2*b == 5")
        assert LinearConstraints.of(space, "2*a + 2*b + c == 5") is not None

    def test_are_equal_by_content(self):
        one, same = make(BOX, "x[0] <= x[1]"), make(BOX, LinearConstraint([1, -1, 0, 0, 0], -np.inf, 0))
        assert one == same
        assert hash(one) == hash(same)
        assert one != make(BOX, "x[0] <= 2*x[1]")
        assert one != make(BOX, "x[0] <= x[1] + 0.5")
        assert one != make(Space([(0, 2)] * 5), "x[0] <= x[1]")
        assert one != "x[0] <= x[1]"
        assert LinearConstraints.of(BOX, one) is one
        with pytest.raises(SpaceError, match="another space"):
            LinearConstraints.of(MIXED, one)

    def test_survive_files_bit_for_bit(self):
        definition = ["0.1*x1 <= x2/3 + 1e-17", "sum(w) == 0.30000000000000004", "1 <= n - 0.7*m <= 7"]
        constraints = make(MIXED, definition)
        again = LinearConstraints.from_manifest(MIXED, json.loads(json.dumps(constraints.to_manifest())))
        assert again == constraints
        assert again.rows == constraints.rows
        with pytest.raises(SpaceError):
            LinearConstraints.from_manifest(MIXED, {"rows": 3})

    def test_describe_themselves(self):
        constraints = make(BOX, ["x[0] <= x[1]", "sum(x) == 1"])
        assert constraints.describe() == "x[0] - x[1] <= 0; sum(x) == 1"
        assert "sum(x) == 1" in repr(constraints)
        assert constraints.is_thin
        assert not make(BOX, "sum(x) <= 1").is_thin
        assert not make(MIXED, "n + m == 50").is_thin

    @given(spaces(extreme=True), seeds)
    @settings(max_examples=100)
    def test_never_end_in_another_exception(self, space, seed):
        rng = np.random.default_rng(seed)
        n = len(space.columns)
        rows = rng.choice([0.0, 1.0, -1.0, 1e-5, 1e200, -3.3], (2, n))
        try:
            constraints = LinearConstraints.of(space, LinearConstraint(rows, -np.inf, rng.choice([0.0, 1.0, 1e100])))
        except SpaceError:
            return
        if constraints is not None:
            assert constraints.satisfied(constraints.repair(rng.uniform(-1, 1, space.dim)))
            assert constraints.satisfied(constraints.sample(2, rng)).all()


class TestViolation:
    def test_is_a_share_of_the_range(self):
        space = Space([(0, 10), (-5, 5), (0, 1)])
        constraints = make(space, ["x[0] + x[1] <= 0", "x[2] >= 0.5"])
        units = np.array([space.encode(x) for x in ([10, 5, 1], [0, 0, 1], [4, 0, 0.25], [0, -5, 0])])
        np.testing.assert_allclose(constraints.violation(units), [0.75, 0.0, 0.25, 0.5])
        assert constraints.satisfied(units).tolist() == [False, True, False, False]

    def test_of_a_point_is_a_number(self):
        constraints = make(BOX, "x[0] <= x[1]")
        unit = BOX.encode([0.6, 0.5, 0, 0, 0])
        assert isinstance(constraints.violation(unit), float)
        assert math.isclose(constraints.violation(unit), 0.05)
        assert constraints.satisfied(unit) is False

    def test_forgives_rounding_in_equations_too(self):
        constraints = make(BOX, "sum(x) == 1")
        x = np.full(5, 0.2)
        assert constraints.satisfied(BOX.encode(x))
        x[0] += 4e-9  # of a range of 5
        assert constraints.violation(BOX.encode(x)) == 0.0
        x[0] += 4e-9
        assert constraints.violation(BOX.encode(x)) > 0.0

    def test_counts_integers_and_bools_as_they_snap(self):
        constraints = make(MIXED, "n + 10*on <= 20")
        unit = MIXED.encode({"x1": 0, "x2": 0, "lr": 1, "n": 11, "m": 1, "act": "b", "on": False, "w": [0] * 4})
        at = MIXED.columns.index("on")
        assert constraints.satisfied(unit)
        unit[MIXED.natural_index[at]] = 0.1
        assert math.isclose(constraints.violation(unit), 1 / 109)

    @given(seeds)
    @settings(max_examples=30)
    def test_is_that_of_the_rows(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(3, len(MIXED.columns)))
        middle = rows @ MIXED.natural(np.zeros(MIXED.dim))
        constraints = make(MIXED, LinearConstraint(rows, middle - 1, middle + rng.random(3)))
        units = rng.uniform(-1, 1, (50, MIXED.dim))
        activity = MIXED.natural(units) @ rows.T
        excess = np.maximum(activity - (constraints.upper), constraints.lower - activity)
        expected = np.maximum(excess / (np.abs(rows) @ (MIXED.natural_high - MIXED.natural_low)), 0.0).max(axis=1)
        np.testing.assert_allclose(constraints.violation(units), expected, atol=1e-9)
        single = units.astype(np.float32)
        np.testing.assert_allclose(constraints.violation(single), constraints.violation(single.astype(float)))

    def test_of_many_sparse_rows(self):
        space = Space([(0, 1)] * 200)
        constraints = make(space, [f"x[{i}] <= x[{i + 1}]" for i in range(199)])
        units = np.random.default_rng(0).uniform(-1, 1, (7, 200))
        units[0].sort()
        x = space.decode_many(units)
        expected = np.maximum(x[:, :-1] - x[:, 1:], 0.0).max(axis=1) / 2
        np.testing.assert_allclose(constraints.violation(units), expected, atol=1e-12)
        assert constraints.satisfied(units)[0]

    @pytest.mark.parametrize("units", [np.zeros(4), np.zeros((2, 4)), np.zeros((1, 1, 5)), np.float64(0.0)])
    def test_refuses_other_shapes(self, units):
        constraints = make(BOX, "x[0] <= x[1]")
        with pytest.raises(SpaceError, match="shape"):
            constraints.violation(units)

    def test_nan_satisfies_nothing(self):
        assert not make(BOX, "x[0] <= x[1]").satisfied(np.full(5, np.nan))


def random_space(rng, widest=6):
    """Parameters of all types with moderate bounds, in some units or other."""

    def parameter():
        shape = None if rng.random() < 0.5 else int(rng.integers(1, widest))
        low, size = rng.normal() * 10 ** rng.uniform(-1, 3), 10 ** rng.uniform(-1, 3)
        kinds = [
            lambda: Float(low, low + size, shape=shape),
            lambda: Float(size, size * 10 ** rng.uniform(0.5, 5), log=True, shape=shape),
            lambda: Int(int(low), int(low + size) + 1, shape=shape),
            lambda: Int(1, int(size) + 2, log=True, shape=shape),
            lambda: Bool(shape=shape),
            lambda: Categorical(["a", "b", "c"], shape=shape),
        ]
        return kinds[rng.integers(len(kinds))]()

    return Space({"first": Float(0, 1)} | {f"p{i}": parameter() for i in range(rng.integers(1, 5))})


def random_system(space, rng):
    """Rows that a random point of the space satisfies, some of them just so; those with integers have whole factors."""
    x = space.natural(space.snap(rng.uniform(-1, 1, space.dim)))
    m = int(rng.integers(1, 5))
    rows = rng.normal(size=(m, len(x))) * (rng.random((m, len(x))) < rng.choice([0.3, 1.0]))
    rows = np.where(space.natural_integer, np.rint(2 * rows), rows)
    rows[~rows.any(axis=1), 0] = 1.0
    activity, scale = rows @ x, np.abs(rows) @ (space.natural_high - space.natural_low)
    slack = scale * rng.choice([0.0, 1e-3, 0.1], m) * rng.random(m)
    kind = rng.integers(4, size=m)
    lower = np.where(kind == 0, -np.inf, activity - np.where(kind == 1, 0.0, slack))
    upper = np.where(kind == 2, np.inf, activity + np.where(kind == 1, 0.0, slack))
    return rows, lower, upper, scale


class TestRepair:
    @given(seeds)
    @settings(max_examples=120)
    def test_always_ends_inside(self, seed):
        rng = np.random.default_rng(seed)
        space = random_space(rng)
        rows, lower, upper, scale = random_system(space, rng)
        constraints = LinearConstraints.of(space, LinearConstraint(rows, lower, upper))
        assume(constraints is not None)
        unit = rng.uniform(-1, 1, space.dim)
        unit = np.sign(unit) if rng.random() < 0.2 else unit
        repaired = constraints.repair(unit)
        assert constraints.satisfied(repaired)
        x = space.natural(repaired)
        assert np.max(np.maximum(rows @ x - upper, lower - rows @ x) / scale) < 2e-9
        assert np.abs(repaired).max() <= 1.0
        assert np.array_equal(repaired, space.snap(repaired))
        assert np.array_equal(repaired, constraints.repair(unit))  # always the same
        assert np.array_equal(repaired, constraints.repair(repaired))  # and allowed points stay
        untouched = ~np.isin(np.arange(space.dim), space.natural_index[constraints.columns])
        assert np.array_equal(repaired[untouched], space.snap(unit)[untouched])

    @given(seeds, st.integers(1, 200), st.integers(1, 8))
    @settings(max_examples=40)
    def test_ends_inside_in_many_dimensions(self, seed, dim, m):
        rng = np.random.default_rng(seed)
        space = Space(
            [(low, low + size) for low, size in zip(rng.normal(size=dim), rng.uniform(0.1, 10, dim), strict=True)]
        )
        rows, x = rng.normal(size=(m, dim)), space.decode(rng.uniform(-1, 1, dim))
        is_equation = rng.random(m) < 0.5
        upper = rows @ x + np.where(is_equation, 0.0, rng.choice([0.0, 0.1], m))
        lower = np.where(is_equation, upper, -np.inf)
        constraints = LinearConstraints.of(space, LinearConstraint(rows, lower, upper))
        assume(constraints is not None)
        assert constraints.satisfied(constraints.repair(rng.uniform(-1, 1, dim)))

    @given(seeds)
    @settings(max_examples=40)
    def test_keeps_inequalities_exactly_where_there_is_room(self, seed):
        rng = np.random.default_rng(seed)
        space = Space([(low, low + 1) for low in rng.normal(size=12)])
        rows = rng.normal(size=(4, 12))
        upper = rows @ space.decode(rng.uniform(-1, 1, 12)) + 0.1
        constraints = LinearConstraints.of(space, LinearConstraint(rows, -np.inf, upper))
        assume(constraints is not None)
        repaired = constraints.repair(rng.uniform(-1, 1, 12))
        assert np.all(rows @ space.decode(repaired) <= upper)
        assert constraints.inside(repaired)
        # The outer edge of what counts as satisfied is moved inside as well.
        most = int(np.argmax(rows @ space.decode(repaired) - upper))
        way = rows[most] / (rows[most] @ rows[most])
        x = space.decode(repaired)
        edge = x + way * (upper[most] - rows[most] @ x + 2e-10 * np.abs(rows[most]).sum())
        unit = space.encode(np.clip(edge, space.natural_low, space.natural_high))
        assume(constraints.satisfied(unit) and not constraints.inside(unit))
        moved = constraints.repair(unit)
        assert constraints.inside(moved)
        assert np.all(rows @ space.decode(moved) <= upper)
        assert np.abs(moved - unit).max() < 1e-7

    @given(seeds)
    @settings(max_examples=40)
    def test_keeps_them_exactly_when_bounds_are_large(self, seed):
        """Numbers near 1e5 have steps of 1.5e-11, more than the usual margin."""
        rng = np.random.default_rng(seed)
        space = Space([(1e5, 1e5 + 1)] * 4)
        constraints = make(space, "x[0] - x[1] + x[2] - x[3] <= 0.3")
        x = space.decode(constraints.repair(rng.uniform(-1, 1, 4)))
        assert constraints.coefficients[0] @ x <= 0.3

    def test_is_the_nearest_point(self):
        constraints = make(BOX, "x[0] >= x[1] + 0.2")
        x = BOX.decode(constraints.repair(BOX.encode([0.3, 0.5, 0.1, 0.2, 0.3])))
        np.testing.assert_allclose(x, [0.5, 0.3, 0.1, 0.2, 0.3], atol=1e-9)

    def test_is_nearest_in_the_cube_not_in_the_units(self):
        space = Space([(0, 1000), (0, 1)])
        constraints = make(space, "x[0] + 1000*x[1] <= 1000")
        np.testing.assert_allclose(constraints.repair(np.array([0.5, 0.5])), [0.0, 0.0], atol=1e-9)

    def test_moves_a_log_scaled_parameter_less_where_it_is_small(self):
        space = Space({"a": Float(1e-3, 1, log=True), "b": Float(0, 1)})
        constraints = make(space, "a + b >= 1.05")
        x = space.decode(constraints.repair(space.encode({"a": 0.01, "b": 1.0})))
        assert math.isclose(x["a"] + x["b"], 1.05, abs_tol=1e-9)
        x = space.decode(constraints.repair(space.encode({"a": 0.5, "b": 0.4})))
        # Weights of the squares: (0.999 / (0.5 ln 1000))² for a, 1 for b; the step goes inversely to them.
        weight = (0.999 / (0.5 * math.log(1000))) ** 2
        np.testing.assert_allclose((x["a"] - 0.5) * weight * 0.999, (x["b"] - 0.4) * 0.999, rtol=1e-2)

    def test_gives_exact_zeros_on_a_simplex(self):
        space = Space([(0, 1)] * 200)
        constraints = make(space, "sum(x) == 1")
        x = space.decode(constraints.repair(np.random.default_rng(0).uniform(-1, 1, 200)))
        assert math.isclose(x.sum(), 1.0, abs_tol=1e-12)
        assert np.count_nonzero(x == 0.0) > 150

    def test_leaves_what_has_nothing_to_do_with_it(self):
        rng = np.random.default_rng(0)
        constraints = make(BOX, ["x[0] <= x[1]", "x[2] <= x[3]"])
        unit = np.array([0.3, 0.1, 0.123456789, 0.7, rng.random()])
        assert np.array_equal(constraints.repair(unit)[2:], unit[2:])

    def test_lets_integers_share_a_budget(self):
        space = Space({"n": Int(0, 20, shape=30), "x": Float(0, 1)})
        constraints = make(space, ["sum(n) == 100", "n[0] <= 10*x"])
        rng = np.random.default_rng(0)
        for _ in range(5):
            x = space.decode(constraints.repair(rng.uniform(-1, 1, space.dim)))
            assert x["n"].sum() == 100
            assert x["n"][0] <= 10 * x["x"]

    def test_copes_with_large_bounds_and_small_ranges(self):
        space = Space([(1e6, 1e6 + 1e-3)] * 4)
        constraints = make(space, "x[0] + x[1] >= x[2] + x[3] + 1e-3")
        repaired = constraints.repair(np.array([-0.9, -0.5, 0.5, 0.9]))
        x = space.decode(repaired)
        assert constraints.satisfied(repaired)
        assert x[0] + x[1] - x[2] - x[3] > 1e-3 - 1e-8  # sums of 2e6 have no more digits

    def test_wants_one_point(self):
        with pytest.raises(SpaceError, match="shape"):
            make(BOX, "x[0] <= x[1]").repair(np.zeros((2, 5)))


class TestSample:
    """False alarms: every test on a distribution has a level of 1e-4, and the seeds are fixed."""

    level = 1e-4

    @given(seeds)
    @settings(max_examples=40)
    def test_is_allowed_and_reproducible(self, seed):
        rng = np.random.default_rng(seed)
        space = random_space(rng, widest=4)
        rows, lower, upper, _ = random_system(space, rng)
        constraints = LinearConstraints.of(space, LinearConstraint(rows, lower, upper))
        assume(constraints is not None)
        units = constraints.sample(3, np.random.default_rng(seed))
        assert units.shape == (3, space.dim)
        assert constraints.satisfied(units).all()
        assert np.abs(units).max() <= 1.0
        assert np.array_equal(units, space.snap(units))
        assert np.array_equal(units, constraints.sample(3, np.random.default_rng(seed)))

    def test_is_uniform_where_rejection_is_enough(self):
        constraints = make(BOX, ["x[0] <= x[1]", "x[2] <= x[3]"])
        x = BOX.decode_many(constraints.sample(2000, np.random.default_rng(0)))
        for smaller, larger in ((0, 1), (2, 3)):
            assert stats.kstest(x[:, smaller], stats.beta(1, 2).cdf).pvalue > self.level
            assert stats.kstest(x[:, larger], stats.beta(2, 1).cdf).pvalue > self.level
        assert stats.kstest(x[:, 4], "uniform").pvalue > self.level
        assert len(np.unique(x, axis=0)) == 2000

    def test_is_uniform_on_a_simplex(self):
        space = Space([(0, 2)] * 10)
        x = space.decode_many(make(space, "sum(x) == 2").sample(1000, np.random.default_rng(0)))
        np.testing.assert_allclose(x.sum(axis=1), 2.0, atol=1e-9)
        assert stats.kstest(x[:, 3] / 2, stats.beta(1, 9).cdf).pvalue > self.level
        assert len(np.unique(x, axis=0)) == 1000

    def test_draws_forty_pairs_at_once(self):
        """Jointly, one uniform point in 2^40 would do; pair by pair, every second one."""
        space = Space([(0, 1)] * 80)
        constraints = make(space, [f"x[{2 * i}] <= x[{2 * i + 1}]" for i in range(40)])
        x = space.decode_many(constraints.sample(500, np.random.default_rng(0)))
        assert stats.kstest(x[:, ::2].ravel(), stats.beta(1, 2).cdf).pvalue > self.level

    def test_draws_log_scaled_parameters_as_the_cube_does(self):
        space = Space({"a": Float(1e-4, 1, log=True, shape=2), "b": Float(0, 1)})
        thin = make(space, "a[0] + a[1] + b == 0.5")  # only the walk can do this
        near = make(space, "0.49 <= a[0] + a[1] + b <= 0.51")  # which rejection can do, if it must
        walked = space.decode_many(thin.sample(1000, np.random.default_rng(0)))["a"]
        units = np.random.default_rng(1).uniform(-1, 1, (200_000, 3))
        rejected = space.decode_many(units[near.satisfied(units)])["a"]
        assert stats.ks_2samp(np.log(walked[:, 0]), np.log(rejected[:, 0])).pvalue > self.level

    def test_leaves_other_parameters_uniform(self):
        constraints = make(MIXED, ["sum(w) == 1", "n <= m"])
        params = MIXED.decode_many(constraints.sample(600, np.random.default_rng(0)))
        counts = [params["act"].count(choice) for choice in "abc"]
        assert stats.chisquare(counts).pvalue > self.level
        assert stats.kstest(np.log10(params["lr"]) / 5 + 1, "uniform").pvalue > self.level
        assert (params["n"] <= params["m"]).all()
        assert len(np.unique(params["n"])) > 30

    def test_spreads_integers_that_share_a_budget(self):
        space = Space({"n": Int(0, 10, shape=12)})
        n = space.decode_many(make(space, "sum(n) == 20").sample(30, np.random.default_rng(0)))["n"]
        assert (n.sum(axis=1) == 20).all()
        assert len(np.unique(n, axis=0)) == 30

    def test_may_be_empty(self):
        assert make(BOX, "sum(x) == 1").sample(0, np.random.default_rng(0)).shape == (0, 5)
