"""What people and their libraries hand in by mistake: strategies for odd objects, and what an error must look like."""

from __future__ import annotations

import datetime
import math
import os
import sys
from collections import OrderedDict, UserDict, deque
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import boids
from boids import FAILED, BoidsError, Measurement

#: ``BOIDS_FUZZ=50 pytest tests/test_fuzz.py`` draws fifty times as many examples, and new ones every time.
EFFORT = int(os.environ.get("BOIDS_FUZZ", "1"))

#: The longest message that a person still reads.
LONGEST = 700


def examples(count, **more):
    """Settings for so many examples, or more of them if asked for."""
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(
        max_examples=count * EFFORT, derandomize=EFFORT == 1, deadline=None, suppress_health_check=checks, **more
    )


def check_message(text):
    """A message is some words in one line, neither endless nor cut short."""
    assert 10 <= len(text) <= LONGEST, f"{len(text)} characters: {text[:LONGEST]}"
    assert text.rstrip("\"'`)”").endswith((".", "?", "!", "…")), text
    assert not any(ord(each) < 32 for each in text), repr(text)


def check_error(error):
    """An error of boids is one clear sentence of a kind that people expect."""
    assert isinstance(error, (BoidsError, ValueError)), repr(error)
    check_message(str(error))


class Colour(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


class Tracked:
    """A tensor that keeps its gradient, and refuses to become an array, as PyTorch's do."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __float__(self):
        return 1.5


class OnDevice:
    """A tensor on another device: neither an array nor a float."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.")


class Lazy:
    """A number that is computed when it is looked at, which fails."""

    def __float__(self):
        raise ZeroDivisionError("division by zero")


class Unprintable:
    """An object that nobody can look at."""

    def __repr__(self):
        raise RuntimeError("repr failed")


def endless():
    """A list that contains itself."""
    items = []
    items.append(items)
    return items


def nested(depth):
    """A list in a list in a list …"""
    items = [1.0]
    for _ in range(depth):
        items = [items]
    return items


def masked():
    return np.ma.masked_array([1.0], mask=[True])


def _one_of(items):
    """One of some objects, which are not printed."""
    return st.integers(0, len(items) - 1).map(lambda i: items[i])


#: Single numbers of any type.
scalars = st.one_of(
    st.floats(),
    st.floats(-10, 10),
    st.integers(-(10**6), 10**6),
    st.booleans(),
    st.fractions(),
    st.decimals(allow_nan=False),
    st.sampled_from([Level.LOW, 2**63, -(2**64), np.float32(1e38), np.longdouble(2), np.uint8(255), np.bool_(True)]),
)

#: Numbers as an objective may return them.
numbers = st.one_of(
    scalars,
    hnp.arrays(st.sampled_from([np.float64, np.float32, np.int64, np.bool_]), st.sampled_from([(), (1,), (1, 1)])),
)

#: Numbers that say that an evaluation failed.
failures = st.sampled_from(
    [math.nan, math.inf, -math.inf, FAILED, np.float32(np.nan), np.array([np.inf]), Decimal("NaN"), Decimal("Infinity"),
     10**400, -(10**400), np.ma.masked, masked(), np.longdouble("1e4000")]
)  # fmt: skip

_few = _one_of(
    [
        None, "", "1.0", "nan", "a" * 5000, b"1", bytearray(b"1"), 1j, object(), type, int, len, Ellipsis,
        NotImplemented, (), [], {}, set(), frozenset({1}), range(3), slice(3), deque([1.0]), UserDict(a=1),
        OrderedDict(a=1), Path("x"), datetime.date(2020, 1, 1), datetime.timedelta(1), Colour.RED, Decimal("sNaN"),
        ValueError("no"), Tracked(), OnDevice(), Lazy(), Unprintable(), [Unprintable()], endless(), nested(10),
        nested(100), nested(2000), np.array("a"), np.array(["a", "b"]), np.array([None]), np.array([]), np.zeros((2,
        3)), np.zeros((0, 2)), np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.array([1j]), np.array([[1.0,
        2.0]]), np.ma.masked_array([1.0, 2.0], mask=[True, False]), np.array([(1, 2.0)], dtype=[("a", int), ("b",
        float)]), [1.0, 10**400], [10**400], [1, 2**64], [[1.0], [1.0, 2.0]], ["1", 2], [None], [math.nan],
        "\ud800", "a\nb\x00", sys.float_info.max, 5e-324, 10**30, boids.Float(0, 1), boids.Bool(), boids.Space([(0,
        1)]), Measurement(1.0), Measurement("a"), Measurement(1.0, [0.0]), Measurement(1.0, None),
        Measurement(Measurement(1.0)), Measurement(1.0, [], -1.0), Measurement(1.0, [], "x"), Measurement(math.nan,
        [1.0, 2.0]),
    ]
)  # fmt: skip

_simple = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=3)
    | st.just(FAILED)
)


class Thing:
    """An object in a box, for some objects cannot be printed, and reports of failures print everything."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        try:
            text = repr(self.value)
        except Exception as error:
            text = f"<{type(self.value).__name__}, whose repr raises {type(error).__name__}>"
        return text if len(text) < 200 else f"{text[:200]}…"


#: Anything at all, in boxes: single odd objects, and what lists, tuples and dicts of them give.
anything = st.one_of(
    _few,
    numbers,
    failures,
    hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.int8, np.uint64, np.bool_, np.complex128, "U3", "S3", object]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
        elements=None,
    ),
    st.recursive(
        _simple,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            | inner.map(lambda each: Measurement(each, [each]))
        ),
        max_leaves=6,
    ),
).map(Thing)


def opened(content):
    """A dict, list or tuple with all boxes inside opened; not beyond, for a list may contain itself."""
    if isinstance(content, Thing):
        return content.value
    if isinstance(content, dict):
        return {key: opened(each) for key, each in content.items()}
    if isinstance(content, (list, tuple)):
        return type(content)(map(opened, content))
    return content


def but(*kinds):
    """Anything, in boxes, but for objects of some types."""
    return anything.filter(lambda thing: not isinstance(thing.value, kinds))


#: Texts with every kind of character.
texts = st.text(max_size=30) | st.text(st.characters(), max_size=8) | st.sampled_from(["\ud800", "\x00", "é" * 300])


class Silent(Exception):
    """An exception that cannot be printed."""

    def __str__(self):
        raise RuntimeError("str failed")


#: Whatever an objective may raise, Ctrl-C apart.
exceptions = st.sampled_from(
    [
        ValueError("no"), ValueError(), ZeroDivisionError("division by zero"), KeyError("a"), AssertionError(),
        OSError(2, "x"), StopIteration(3), StopAsyncIteration(), SystemExit(3), SystemExit(), SystemExit("bye"),
        MemoryError(), RecursionError("deep"), ArithmeticError("x\ny"), FloatingPointError("\x00"),
        RuntimeError("é" * 5000), Silent(), ExceptionGroup("g", [ValueError(1)]), boids.BoidsError("b"),
        boids.TellError("t"), boids.SpaceError("s"), boids.BudgetExhausted("e"), boids.SpaceExhausted("e"),
        boids.StoreError("s"), boids.EvaluationError("x."), boids.ProgramError("r", "stderr\x1b[31m", "f"),
        UnicodeError("u"), UnicodeDecodeError("utf8", b"a", 0, 1, "r"), TimeoutError("t"), Warning("w"),
        UserWarning("\ud800"),
    ]
)  # fmt: skip
