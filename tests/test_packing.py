"""Packed data comes back bit for bit, and whatever else is in the bytes is damage and nothing worse."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from boids import StoreError
from boids.packing import pack, unpack

kinds = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    arrays.complex_number_dtypes(endianness="?", sizes=(64, 128)),
    arrays.byte_string_dtypes(min_len=1, max_len=4),
    arrays.unicode_string_dtypes(endianness="?", min_len=1, max_len=4),
)
contents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def any_arrays(draw):
    shape = draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    array = draw(arrays.arrays(draw(kinds), shape))
    if draw(st.booleans()):
        array = array.T
    if array.ndim and draw(st.booleans()):
        array = array[::2]
    return array


def same(one, other):
    kind = one.dtype.newbyteorder("<")
    assert other.dtype == kind
    assert other.shape == one.shape
    assert other.tobytes() == one.astype(kind).tobytes()


@given(contents, st.lists(any_arrays(), max_size=3))
@example({}, [np.zeros((4, 6), ">f8").T[::2] + np.arange(4)])
@example({}, [np.arange(24.0).reshape(4, 6).astype(">f8").T[::2]])
def test_everything_comes_back(content, given_arrays):
    found, back = unpack(pack(content, given_arrays))
    assert json.dumps(found) == json.dumps(content)
    assert len(back) == len(given_arrays)
    for one, other in zip(given_arrays, back, strict=True):
        same(one, other)
        if one.dtype.isnative and one.flags.forc:
            assert other.flags.fnc == one.flags.fnc  # NumPy's sums depend on it
        assert other.flags.writeable
        assert other.flags.owndata


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.zeros(2, [("a", float)]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "V3"),
    ],
)
def test_only_numbers_and_text_are_kept(array):
    with pytest.raises(StoreError, match="cannot be kept"):
        pack({}, [array])


WHOLE = pack({"a": [1, 2.5, None, "é"]}, [np.arange(6.0).reshape(2, 3), np.array(True), np.zeros((0, 3), "<i4")])


def unpacked(data):
    """The content, or None if it is damage; nothing else may come out."""
    try:
        return unpack(data)
    except StoreError:
        return None


@given(st.binary(max_size=64))
@example(b"")
@example(b"\x00" * 8)
@example((2**64 - 1).to_bytes(8, "little") + b"{}")
def test_any_bytes_are_damage_at_worst(data):
    unpacked(data)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_damage_at_worst(place, byte):
    unpacked(WHOLE[:place] + bytes([byte]) + WHOLE[place + 1 :])


@given(st.integers(0, len(WHOLE) - 1))
def test_a_part_is_damage(length):
    assert unpacked(WHOLE[:length]) is None


def test_more_than_all_is_damage():
    assert unpacked(WHOLE + b"\x00") is None


def headed(header, rest=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rest


@pytest.mark.parametrize(
    "header",
    [
        [],
        {},
        {"content": 1},
        {"content": 1, "arrays": 5},
        {"content": 1, "arrays": [5]},
        {"content": 1, "arrays": [["<f8", [1]]]},
        {"content": 1, "arrays": [["<f8", 1, "C"]]},
        {"content": 1, "arrays": [["<f8", [-1], "C"]]},
        {"content": 1, "arrays": [["<f8", [True], "C"]]},
        {"content": 1, "arrays": [["<f8", [1.0], "C"]]},
        {"content": 1, "arrays": [["|O8", [1], "C"]]},
        {"content": 1, "arrays": [["<M8", [1], "C"]]},
        {"content": 1, "arrays": [["f8,f8", [1], "C"]]},
        {"content": 1, "arrays": [["<f3", [1], "C"]]},
        {"content": 1, "arrays": [["<S0", [1], "C"]]},
        {"content": 1, "arrays": [[8, [1], "C"]]},
        {"content": 1, "arrays": [["<f8", [1], "Z"]]},
        {"content": 1, "arrays": [["<f8", [1], 7]]},
        {"content": 1, "arrays": [["<f8", [10**18], "C"]]},
        {"content": 1, "arrays": [["<f8", [0, 10**40], "C"]]},
        {"content": 1, "arrays": [["<f8", [1] * 100, "C"]]},
        {"content": 1, "arrays": [["<U999999", [10**9], "C"]]},
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"content": 1, "arrays": [["<f8", [1' + b"0" * 5000 + b'], "C"]]}',
    ],
)
def test_headers_that_pack_does_not_write_are_damage(header):
    assert unpacked(headed(header, b"\x00" * 8)) is None


def test_a_large_claim_costs_no_memory():
    data = headed({"content": 1, "arrays": [["<f8", [10**12], "C"]]}, b"\x00" * 8)
    tracemalloc.start()
    try:
        assert unpacked(data) is None
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
