"""Random parameters, spaces and points of them, for every test that wants to hold in any space.

Use it from any folder of the tests as ``from space.strategies import parameters, spaces, values_of``.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from boids import Bool, Categorical, Float, Int, Space

#: Lengths of vector parameters; None makes a scalar.
shapes = st.none() | st.integers(1, 4)

LARGEST = float(np.finfo(float).max)
LARGEST_INT = 2**53
LARGEST_LOG_INT = 2**48


def ordered(numbers):
    """Pairs low < high."""
    return st.tuples(numbers, numbers).map(sorted).filter(lambda pair: pair[0] < pair[1])


@st.composite
def _with_bounds(draw, kind, pairs, log):
    """A scalar, a vector with shared bounds, or a vector with bounds of its own."""
    shape = draw(shapes)
    if shape is None or draw(st.booleans()):
        return kind(*draw(pairs), log=log, shape=shape)
    low, high = zip(*draw(st.lists(pairs, min_size=shape, max_size=shape)), strict=True)
    return kind(list(low), list(high), log=log)


def float_parameters(extreme=False):
    """Linear and logarithmic `Float`; extreme ones go as far as floats do."""
    any_float = st.floats(allow_nan=False, allow_infinity=False) if extreme else st.floats(-1e6, 1e6, width=32)
    positive = st.floats(5e-324, LARGEST) if extreme else st.floats(2.0**-20, 2.0**20, width=32)
    log_pairs = ordered(positive).filter(lambda pair: pair[1] / 2 / pair[0] < LARGEST / 2)
    return _with_bounds(Float, ordered(any_float), False) | _with_bounds(Float, log_pairs, True)


def int_parameters(extreme=False):
    """Linear and logarithmic `Int`; extreme ones go as far as the package allows."""
    size = LARGEST_INT if extreme else 20
    linear = ordered(st.integers(-size, size)).filter(lambda pair: pair[1] - pair[0] < LARGEST_INT)
    log = ordered(st.integers(1, LARGEST_LOG_INT if extreme else 1000))
    return _with_bounds(Int, linear, False) | _with_bounds(Int, log, True)


bool_parameters = st.builds(Bool, shape=shapes)

_choices = st.text(max_size=3) | st.integers(-9, 9) | st.floats(-9, 9) | st.booleans() | st.none()
categorical_parameters = st.builds(
    Categorical,
    st.lists(_choices, min_size=2, max_size=5, unique=True),  # unique in Python's sense: 1 and True do not meet
    shape=shapes,
)


def parameters(extreme=False, continuous=True):
    """Any parameter; without `continuous` only those of finite spaces."""
    discrete = int_parameters(extreme) | bool_parameters | categorical_parameters
    return float_parameters(extreme) | discrete if continuous else discrete


# Brackets and equality signs are what names of components are made with.
names = st.text(st.characters(exclude_characters="[]=", codec="utf-8"), min_size=1, max_size=5)


def named_spaces(extreme=False, continuous=True, max_size=5):
    """Spaces whose points are dicts."""
    each = parameters(extreme, continuous)
    return st.dictionaries(names, each, min_size=1, max_size=max_size).map(Space)


def boxes(extreme=False):
    """Plain boxes, whose points are arrays."""
    any_float = st.floats(allow_nan=False, allow_infinity=False) if extreme else st.floats(-1e6, 1e6, width=32)
    return st.lists(ordered(any_float), min_size=1, max_size=5).map(Space)


def spaces(extreme=False):
    """Any space: named parameters of all types, or a plain box."""
    return named_spaces(extreme) | boxes(extreme)


def _component_values(parameter, i):
    if isinstance(parameter, Bool):
        return st.booleans()
    if isinstance(parameter, Categorical):
        return st.sampled_from(parameter.choices)
    low, high = np.atleast_1d(parameter.low)[i].item(), np.atleast_1d(parameter.high)[i].item()
    return st.integers(low, high) if isinstance(parameter, Int) else st.floats(low, high)


def values(parameter):
    """Values of one parameter, in the form in which a space decodes them."""
    if parameter.shape is None:
        return _component_values(parameter, 0)
    components = st.tuples(*(_component_values(parameter, i) for i in range(parameter.shape)))
    return components if isinstance(parameter, Categorical) else components.map(np.array)


def values_of(space):
    """Points of a space in the user's units: dicts, or arrays for a plain box."""
    if not space.is_named:
        return values(space.parameters["x"])
    return st.fixed_dictionaries({name: values(parameter) for name, parameter in space.parameters.items()})


def units_of(space, q=None):
    """Points (D,) or (q, D) of a space's cube, uniform but for a share of special coordinates."""
    shape = (space.dim,) if q is None else (q, space.dim)

    def make(seed):
        rng = np.random.default_rng(seed)
        special = rng.choice([-1.0, -0.5, -0.0, 0.0, 0.5, 1.0], shape)
        return np.where(rng.random(shape) < 0.2, special, rng.uniform(-1, 1, shape))

    return st.integers(0, 2**32 - 1).map(make)


def spaces_with(points, space=None):
    """Pairs of a space and something drawn from ``points(space)``."""
    return (spaces() if space is None else space).flatmap(lambda each: st.tuples(st.just(each), points(each)))


def same(a, b):
    """Whether two points are equal, and of the same types."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b
